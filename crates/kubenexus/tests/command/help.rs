//! Help says what there is, and a wrong command says what is right.

use crate::runner::run;

#[test]
fn help_names_what_people_look_for() {
    // (arguments, words)
    let table: [(&[&str], &[&str]); 6] = [
        (&["--help"], &["demo", "verdict", "check-config", "--version"]),
        (
            &["verdict", "--help"],
            &["JSON lines", "\"objects\"", "\"pod\"", "\"config\"", "[FILE]", "standard input"],
        ),
        (
            &["demo", "--help"],
            &["--seed", "--nodes", "--minutes", "--json", "--no-pace", "[default: 42]"],
        ),
        (&["check-config", "--help"], &["<FILE>", "KubeSchedulerConfiguration"]),
        (&["replay", "--help"], &["<FOLDER>", "--config", "--list", "2 if not"]),
        (&["snapshot", "--help"], &["--kubeconfig", "--output", "--anonymise", "simulate"]),
    ];
    for (args, words) in table {
        let ran = run(args);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{args:?}");
        for word in words {
            assert!(ran.out.contains(word), "{args:?} without {word}:\n{}", ran.out);
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = format!("kubenexus {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]).out, expected);
}

#[test]
fn a_wrong_command_is_refused_with_usage() {
    let table: [(&[&str], &str); 5] = [
        (&[], "Usage: kubenexus <COMMAND>"),
        (&["judge"], "unrecognized subcommand 'judge'"),
        (&["verdcit"], "a similar subcommand exists: 'verdict'"),
        (&["check-config"], "<FILE>"),
        (&["demo", "--nodes", "0"], "0 is not in 1..=5000"),
    ];
    for (args, text) in table {
        let ran = run(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert_eq!(ran.out, "", "{args:?}");
        assert!(ran.err.contains(text), "{args:?} without {text:?}:\n{}", ran.err);
    }
}
