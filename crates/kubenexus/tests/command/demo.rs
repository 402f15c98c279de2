//! `kubenexus demo`: the same seed gives the same result.

use serde_json::Value;

use crate::runner::{Ran, run};

fn demo(seed: &str) -> Ran {
    let args = ["demo", "--json", "--no-pace", "--nodes", "20", "--minutes", "3", "--seed", seed];
    let ran = run(&args);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    ran
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let (one, other) = (demo("7"), demo("7"));
    assert_eq!(one.out, other.out);
    let report: Value = serde_json::from_str(&one.out).expect("the result is JSON");
    assert!(report.is_object(), "{report}");
    assert_ne!(demo("8").out, one.out, "the seed decides");
}

#[test]
fn tables_are_printed_without_a_terminal_too() {
    let ran = run(&["demo", "--no-pace", "--nodes", "20", "--minutes", "3"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains('\u{1b}'), "no colours in a pipe: {:?}", ran.out);
    for word in ["placed", "waiting"] {
        assert!(ran.out.to_lowercase().contains(word), "no {word} in\n{}", ran.out);
    }
}
