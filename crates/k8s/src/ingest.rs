//! Objects as the API server serves them, turned into facts. What scheduling does not need is
//! skipped while it is parsed and never kept.

mod annotations;
mod asks;
mod budget;
mod cluster_queue;
mod company;
mod device;
mod fabric;
mod gang;
mod gpu;
mod grouping;
mod hardware;
mod hints;
mod job;
mod local_queue;
mod node;
mod node_resource_topology;
mod numa;
mod pod;
mod pod_group;
mod quantity;
mod requests;
mod seen;
mod slim;
mod terms;
mod timestamp;
mod view;
mod volume;
mod words;
mod workers;

pub(crate) use annotations::own_keys;
pub use budget::{budget, read_budget};
pub use cluster_queue::{cluster_queue, read_cluster_queue};
pub use company::namespace;
pub use device::{read_resource_claim, read_resource_slice, resource_claim, resource_slice};
pub(crate) use gang::{AFTER, ANNOTATIONS, MEMBERS, SPARK_ROLE, TIMEOUT};
pub use grouping::{grouping, read_grouping};
pub(crate) use hardware::is_hardware_key;
pub(crate) use hints::{is_known_controller, is_word};
pub use job::{job, read_job};
pub use local_queue::{local_queue, read_local_queue};
pub use node::node;
pub use node_resource_topology::{node_resource_topology, read_node_resource_topology};
pub(crate) use pod::with_tag;
pub use pod::{pod, pod_to_judge};
pub use pod_group::{
    GroupStanding, SeenPodGroup, pod_group, pod_group_facts, pod_group_kind, read_pod_group,
};
pub use seen::{
    SeenNode, SeenPod, Standing, read_namespace, read_node, read_pod, read_succeeded,
    waits_for_gangs,
};
pub use slim::{slim, slim_node, slim_pod};
pub use volume::{read_storage, storage, storage_facts, storage_kind};
pub(crate) use words::setting;

use serde::de::DeserializeOwned;

/// An object that does not have the shape its kind promises.
#[derive(Debug, thiserror::Error)]
#[error("{kind}: {path}{message}")]
pub struct IngestError {
    kind: &'static str,
    /// With a colon behind it; empty when it is the object as a whole.
    path: String,
    message: String,
}

impl IngestError {
    /// The path of the value in the object; empty when it is the object as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.strip_suffix(": ").unwrap_or(&self.path)
    }

    /// What is wrong with the value.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Reads an object; a fault names the path of the value.
fn read<T: DeserializeOwned>(
    kind: &'static str,
    object: &serde_json::Value,
) -> Result<T, IngestError> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { format!("{}: ", cut(&path, SHOWN_MAX)) };
        IngestError { kind, path, message: message(&error.inner().to_string()) }
    })
}

/// `expected X, found Y`, which is how a configuration's problems are told as well.
fn message(text: &str) -> String {
    let Some((found, expected)) = text.rsplit_once(", expected ") else {
        return cut(text, SHOWN_MAX);
    };
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|p| found.strip_prefix(p));
    let Some(found) = found else { return cut(text, SHOWN_MAX) };
    let expected = match expected {
        "i32" => "an integer of 32 bits",
        "i64" => "an integer of 64 bits",
        "a sequence" => "a list",
        "a map" => "an object",
        _ => expected,
    };
    let found = match found {
        "sequence" => "a list".into(),
        "map" => "an object".into(),
        _ => cut(found, SHOWN_MAX),
    };
    format!("expected {expected}, found {found}")
}

/// The longest value that is worth repeating to its author.
const SHOWN_MAX: usize = 200;

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}
