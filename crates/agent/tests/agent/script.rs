//! `deploy/label-node.sh` says the same of a machine as the agent does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{machines, tree};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/label-node.sh")
}

type Keys = BTreeMap<String, String>;

/// Labels and annotations that the script would write.
fn by_script(root: &Path) -> (Keys, Keys) {
    let output =
        Command::new("sh").arg(script()).arg("--sysfs-root").arg(root).arg("worker").output();
    let output = output.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let (mut labels, mut annotations) = (Keys::new(), Keys::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<_> = line.split(' ').collect();
        let expected = ["node", "worker", "--overwrite", "--field-manager=kubenexus-label-node"];
        assert_eq!((words[0], &words[2..6]), ("kubectl", &expected[..]), "{line}");
        let into = if words[1] == "label" { &mut labels } else { &mut annotations };
        into.extend(words[6..].iter().map(|word| {
            let (key, value) = word.split_once('=').unwrap();
            (key.to_owned(), value.to_owned())
        }));
    }
    (labels, annotations)
}

/// What the agent would write, as far as the script writes such keys.
fn by_agent(root: &Path) -> (Keys, Keys) {
    let printed = machines::printed(&machines::dry_run(root, &[]));
    let node: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let keys =
        |part: &str| -> Keys { serde_json::from_value(node["metadata"][part].clone()).unwrap() };
    let is_shared = |key: &String| {
        key.ends_with("-numa")
            || key.starts_with("numa.kubenexus.io/node-") && !key.ends_with("-socket")
    };
    let shared = |mut keys: Keys| {
        keys.retain(|key, _| is_shared(key));
        keys
    };
    (shared(keys("labels")), shared(keys("annotations")))
}

#[test]
fn the_script_and_the_agent_agree_on_every_machine() {
    for name in tree::names() {
        let root = tree::scratch(&format!("script-{name}"));
        tree::expand(&name, &root);
        assert_eq!(by_script(&root), by_agent(&root), "{name}");
    }
}

#[test]
fn the_script_and_the_agent_agree_on_this_machine() {
    let root = Path::new("/sys");
    if root.join("devices/system/node/node0").exists() {
        assert_eq!(by_script(root), by_agent(root));
    }
}

#[test]
fn the_script_says_what_is_wrong() {
    let empty = tree::scratch("script-nothing");
    let empty = empty.to_str().unwrap();
    for (arguments, text) in [
        (&["--sysfs-root", empty][..], "is this Linux with NUMA support?"),
        (&["a/b"], "is no name of a node"),
        (&["--help"], "deploy/label-node.sh --apply NODE"),
        (&["a", "b"], "deploy/label-node.sh --apply NODE"),
    ] {
        let output = Command::new("sh").arg(script()).args(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(text), "{arguments:?}: {error}");
    }
}
