//! Who holds the keys that an apply would change.

use serde::Deserialize;

/// The keys of an apply that was refused, with their holders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conflicts(Vec<(String, String)>);

impl Conflicts {
    /// Reads the server's answer. A conflict that is not about keys leaves this empty.
    pub(super) fn read(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Status {
            details: Details,
        }
        #[derive(Deserialize)]
        struct Details {
            #[serde(default)]
            causes: Vec<Cause>,
        }
        #[derive(Deserialize)]
        struct Cause {
            #[serde(default)]
            reason: String,
            #[serde(default)]
            message: String,
            #[serde(default)]
            field: String,
        }
        let Ok(status) = serde_json::from_slice::<Status>(body) else { return Self::default() };
        let causes = status.details.causes.into_iter();
        let of_keys = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        Self(
            of_keys
                .filter_map(|cause| {
                    let prefixes = [".metadata.labels.", ".metadata.annotations."];
                    let mut keys =
                        prefixes.iter().filter_map(|prefix| cause.field.strip_prefix(prefix));
                    Some((keys.next()?.to_owned(), holder(&cause.message)))
                })
                .collect(),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that somebody else holds than this one.
    pub(super) fn not_of(&self, holder: &str) -> Vec<String> {
        self.0.iter().filter(|(_, by)| by != holder).map(|(key, _)| key.clone()).collect()
    }
}

/// The name between quotes: `conflict with "kubectl-label" using v1`.
fn holder(message: &str) -> String {
    message.split('"').nth(1).unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_holders_are_read() {
        let body = r#"{"kind":"Status","reason":"Conflict","details":{"causes":[
            {"reason":"FieldManagerConflict","message":"conflict with \"kubectl-label\" using v1",
             "field":".metadata.labels.network.kubenexus.io/fabric"},
            {"reason":"FieldManagerConflict","message":"conflict with \"kubenexus-label-node\"",
             "field":".metadata.annotations.numa.kubenexus.io/node-0-cpus"}]}}"#;
        let conflicts = Conflicts::read(body.as_bytes());
        let expected = ["network.kubenexus.io/fabric".to_owned()];
        assert_eq!(conflicts.not_of("kubenexus-label-node"), expected);
        assert_eq!(conflicts.not_of("nobody").len(), 2);
    }

    #[test]
    fn another_conflict_is_about_no_keys() {
        for body in ["", "{}", r#"{"details":{"name":"a"}}"#, r#"{"details":{"causes":[{}]}}"#] {
            assert!(Conflicts::read(body.as_bytes()).is_empty(), "{body}");
        }
    }
}
