//! What is published of machines.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::tree;

/// Runs the agent with `--dry-run` on a tree and without anything else of this machine.
pub(crate) fn dry_run(root: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubenexus-agent"))
        .args(["--dry-run", "--sysfs-root"])
        .arg(root)
        .args(["--node-name=worker", "--nvml=libno-such-library.so"])
        .args(["--kubelet-config=no/such/file", "--kubelet-socket=no/such/socket"])
        .args(more)
        .env_remove("NODE_NAME")
        .output()
        .unwrap()
}

pub(crate) fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Set `UPDATE` to write what is printed over what is expected, then read the difference.
#[test]
fn machines_are_described_as_expected() {
    let names = tree::names();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let root = tree::scratch(&format!("machine-{name}"));
        tree::expand(&name, &root);
        let printed = printed(&dry_run(&root, &[]));
        let file = tree::folder().join(format!("{name}.json"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, &printed).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(printed, expected, "{name}");
    }
}

#[test]
fn this_machine_is_described() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubenexus-agent"))
        .args(["--dry-run", "--node-name=here"])
        .output()
        .unwrap();
    let printed = printed(&output);
    let cpus = std::thread::available_parallelism().unwrap();
    if Path::new("/sys/devices/system/node/node0").exists() {
        assert!(printed.contains("\"numa.kubenexus.io/node-0-cpus\""), "{cpus} CPUs: {printed}");
    }
}

#[test]
fn labels_can_go_to_a_feature_file() {
    let root = tree::scratch("nfd");
    tree::expand("one", &root);
    let printed = printed(&dry_run(&root, &["--publish=nfd"]));
    assert!(printed.contains("\n# numa.kubenexus.io/node-0-cpus=0-1\n"), "{printed}");
    assert!(printed.contains("\"labels\": {},"), "{printed}");
}

#[test]
fn a_topology_is_not_guessed() {
    let root = tree::scratch("guess");
    tree::expand("one", &root);
    let output = dry_run(&root, &["--publish=nrt"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("would have to be guessed: see --kubelet-socket"), "{error}");
}

#[test]
fn a_machine_that_says_nothing_gets_nothing() {
    let root = tree::scratch("nothing");
    let output = dry_run(&root, &[]);
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(error.contains("no NUMA nodes below"), "{error}");
    let printed = printed(&output);
    assert!(printed.contains("\"labels\": {}"), "{printed}");
    assert!(printed.contains("\"annotations\": {}"), "{printed}");
}

#[test]
fn an_agent_that_cannot_start_says_why() {
    for (arguments, text) in [
        (&["--once"][..], "--node-name or NODE_NAME is needed"),
        (&["--once", "--node-name=a"], "give --kubeconfig FILE"),
        (&["--once", "--node-name=a/b"], "expected the name of a node"),
        (&["--once", "--node-name=a", "--kubeconfig=no/such"], "reading kubeconfig no/such"),
        (&["--publish=everywhere"], "possible values: auto, labels, nrt, nfd"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubenexus-agent"))
            .args(arguments)
            .env_clear()
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(text), "{arguments:?}: {error}");
    }
}
