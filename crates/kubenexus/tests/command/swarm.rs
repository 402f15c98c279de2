//! `kubenexus simulate --swarm`: what it says when all is well, and how it fails.

use crate::runner::run;

#[test]
fn seeds_that_keep_all_rules_are_summed_up() {
    let ran = run(&["simulate", "--swarm", "--seeds", "3", "--first", "7"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
    for words in ["bindings,", "watches cut", "leaders lost", "3 seeds in"] {
        assert!(ran.out.contains(words), "no {words} in\n{}", ran.out);
    }
}

#[test]
fn one_seed_says_what_it_consists_of_and_a_part_of_it_is_smaller() {
    let whole = run(&["simulate", "--swarm", "--seed", "7"]);
    assert_eq!(whole.code, Some(0), "{}", whole.out);
    assert!(whole.out.contains("node n0: cpu") && whole.out.contains("job j0 at"), "{}", whole.out);
    assert_eq!(run(&["simulate", "--swarm", "--seed", "7"]).out, whole.out, "it repeats itself");
    let part = ["simulate", "--swarm", "--seed", "7", "--only-nodes", "0", "--only-jobs", "none"];
    let part = run(&part);
    assert_eq!(part.code, Some(0), "{}", part.out);
    assert!(part.out.contains("node n0:") && !part.out.contains("node n1:"), "{}", part.out);
    assert!(!part.out.contains("job j0"), "{}", part.out);
}

#[test]
fn a_crash_names_its_seed_and_the_command_that_repeats_it() {
    let ran = run(&["simulate", "--swarm", "--seeds", "1", "--first", "9", "--crash"]);
    assert_eq!(ran.code, Some(20), "{ran:?}");
    assert!(ran.out.contains("seed 9 is crash"), "{}", ran.out);
    let command = "repeat it with: kubenexus simulate --swarm --seed 9\n";
    assert!(ran.out.contains(command), "{}", ran.out);
    assert!(ran.err.contains("this crash was asked for"), "{}", ran.err);
}

#[test]
fn a_wrong_part_is_refused() {
    let table: [(&[&str], i32, &str); 5] = [
        (&["--seeds", "4..9"], 1, "--seeds 4..9: not a number of seeds"),
        (&["--seed", "1", "--only-nodes", "x"], 1, "--only-nodes x: \"x\" is not a number"),
        (&["--seed", "1", "--only-faults", "rain"], 1, "\"rain\" is none of slow, lag,"),
        (&["--only-nodes", "1"], 2, "--seed"),
        (&["--seed", "1", "--seeds", "2"], 2, "cannot be used with"),
    ];
    for (args, code, text) in table {
        let ran = run(&[&["simulate", "--swarm"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}");
        assert!(ran.err.contains(text), "{args:?} without {text:?}:\n{}", ran.err);
    }
}
