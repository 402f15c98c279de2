//! Which pod is which: the kubelet's answers name pods, the scheduler knows them by uid.
//!
//! The kubelet makes a folder `NAMESPACE_NAME_UID` for the logs of every pod it runs. Reading the
//! names of these folders needs no right on the API server, where a right to read pods would be a
//! right to read those of all nodes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// More folders than this are not looked at.
const FOLDERS_MAX: usize = 16_384;
/// Longer parts are no names of Kubernetes.
const NAME_MAX: usize = 253;

/// Uids of pods, by namespace and name.
pub type Uids = BTreeMap<(String, String), String>;

/// Reads the folder with the logs of pods. A pod that was made anew under its old name may have
/// two folders for a while; the one that was made last is its own.
pub fn uids(folder: &Path) -> Uids {
    let Ok(entries) = fs::read_dir(folder) else { return Uids::new() };
    let mut newest: BTreeMap<(String, String), (SystemTime, String)> = BTreeMap::new();
    for entry in entries.flatten().take(FOLDERS_MAX) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some((pod, uid)) = parse(&name) else { continue };
        let Ok(changed) = entry.metadata().and_then(|about| about.modified()) else { continue };
        let found = (changed, uid);
        let kept = newest.entry(pod).or_insert_with(|| found.clone());
        if *kept < found {
            *kept = found;
        }
    }
    newest.into_iter().map(|(pod, (_, uid))| (pod, uid)).collect()
}

/// Neither names nor namespaces of Kubernetes have an underscore in them.
fn parse(folder: &str) -> Option<((String, String), String)> {
    let parts: Vec<&str> = folder.split('_').collect();
    let [namespace, name, uid] = parts[..] else { return None };
    let is_name = |text: &str| {
        !text.is_empty()
            && text.len() <= NAME_MAX
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
    };
    [namespace, name, uid]
        .into_iter()
        .all(is_name)
        .then(|| ((namespace.to_owned(), name.to_owned()), uid.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_namespace_pod_and_uid() {
        let pod = ("team-a".to_owned(), "train-0".to_owned());
        assert_eq!(parse("team-a_train-0_1b4e-28ba"), Some((pod, "1b4e-28ba".to_owned())));
        for name in ["", "a_b", "a_b_c_d", "a__c", "a_b_../c"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
