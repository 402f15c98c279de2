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
    assert!(report["pods"]["placed"].is_u64(), "{report}");
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

#[test]
fn the_same_hour_is_shown_in_both_profiles() {
    let args = ["demo", "--no-pace", "--nodes", "50", "--minutes", "10"];
    let text = run(&args).out;
    assert!(text.contains("kube-scheduler's profile and in ours"), "{text}");
    let json = run(&[&args[..], &["--json"]].concat()).out;
    let report: Value = serde_json::from_str(&json).expect("the result is JSON");
    let (_, table) = text.split_once("The same arrivals").expect("a table at the end");
    let profiles = ["default-scheduler", "kubenexus-scheduler"];
    let [theirs, ours] = profiles.map(|profile| &report["islands"][profile]);
    for key in ["islands", "jobs"] {
        assert!(theirs[key] == ours[key] && ours[key].as_u64() > Some(0), "{key} of {report}");
    }
    for (profile, found) in profiles.into_iter().zip([theirs, ours]) {
        let row = table.lines().find(|line| line.contains(profile)).expect("a row of each");
        for (part, whole) in [("whole", "islands"), ("started", "jobs")] {
            let cell = format!(" {} of {} ", found[part], found[whole]);
            assert!(row.contains(&cell), "no {cell:?} in {row:?}");
        }
    }
}
