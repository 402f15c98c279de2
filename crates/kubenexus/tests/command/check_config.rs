//! `kubenexus check-config`: what runs, or where the mistake is.

use crate::runner::{Ran, arg, in_repository, run, scratch};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn check(name: &str, bytes: &[u8]) -> Ran {
    run(&["check-config", arg(&scratch(name, bytes))])
}

fn refused(ran: &Ran) -> &str {
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    assert!(ran.err.starts_with("kubenexus: ") && !ran.err.contains("panicked"), "{}", ran.err);
    &ran.err
}

#[test]
fn the_default_file_is_valid_and_described() {
    let file = in_repository("config/config.yaml");
    let ran = run(&["check-config", arg(&file)]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    for words in ["is valid. It means:", "profile kubenexus-scheduler", "NodeResourcesFit", "lease"]
    {
        assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
}

#[test]
fn every_example_is_valid() {
    let folder = in_repository("examples/config");
    let files = std::fs::read_dir(folder).expect("there are examples");
    let mut count = 0;
    for file in files {
        let path = file.expect("the folder can be read").path();
        let ran = run(&["check-config", arg(&path)]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", path.display());
        assert!(ran.out.contains("profile "), "{}", ran.out);
        count += 1;
    }
    assert!(count >= 2, "{count} examples");
}

#[test]
fn an_unknown_plugin_is_named_with_file_line_path_and_the_nearest_name() {
    let text = "profiles:\n  - schedulerName: a\n    plugins:\n      score:\n        enabled:\n\
                \x20         - name: NodeResourceFit\n";
    let ran = check("unknown-plugin.yaml", format!("{HEAD}{text}").as_bytes());
    let error = refused(&ran);
    let words = [
        "unknown-plugin.yaml:8: profiles[0].plugins.score.enabled[0].name: ",
        "\"NodeResourceFit\"",
        "did you mean \"NodeResourcesFit\"?",
    ];
    for word in words {
        assert!(error.contains(word), "no {word:?} in\n{error}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_cause() {
    let missing = in_repository("no-such-file.yaml");
    let folder = in_repository("examples");
    let table = [
        (run(&["check-config", arg(&missing)]), "no-such-file.yaml", "No such file or directory"),
        (run(&["check-config", arg(&folder)]), "", "Is a directory"),
        (check("empty.yaml", b""), "empty.yaml", "the file is empty"),
        (check("comment.yaml", b"# nothing\n"), "comment.yaml", "the file is empty"),
        (check("binary.yaml", &[0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]), "binary.yaml", "UTF-8"),
        (check("zeros.yaml", &[0; 4096]), "zeros.yaml", "not valid"),
        (check("long.yaml", &vec![b'a'; 3 << 20]), "long.yaml", "too many"),
        (check("tabs.yaml", b"a:\n\t- b\n"), "tabs.yaml:2:", "not valid YAML"),
    ];
    for (ran, file, cause) in &table {
        let error = refused(ran);
        assert!(error.contains(file) && error.contains(cause), "{file}, {cause}:\n{error}");
    }
}

#[test]
fn all_problems_are_named_at_once() {
    let text = "parallelism: 0\npodInitialBackoffSeconds: x\nprofils: []\n";
    let ran = check("three.yaml", format!("{HEAD}{text}").as_bytes());
    let error = refused(&ran);
    assert!(error.contains("3 problems"), "{error}");
    for line in [3, 4, 5] {
        assert!(error.contains(&format!("three.yaml:{line}: ")), "{error}");
    }
}
