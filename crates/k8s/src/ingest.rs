//! Objects as the API server serves them, turned into facts. What scheduling does not need is
//! skipped while it is parsed and never kept.

mod node;
mod pod;
mod quantity;
mod requests;
mod terms;
mod view;

pub use node::node;
pub use pod::{pod, pod_to_judge};

use serde::de::DeserializeOwned;

/// An object that does not have the shape its kind promises.
#[derive(Debug, thiserror::Error)]
#[error("{kind}: {path}: {message}")]
pub struct IngestError {
    kind: &'static str,
    path: String,
    message: String,
}

/// Reads an object; a fault names the path of the value.
fn read<T: DeserializeOwned>(
    kind: &'static str,
    object: &serde_json::Value,
) -> Result<T, IngestError> {
    serde_path_to_error::deserialize(object).map_err(|error| IngestError {
        kind,
        path: error.path().to_string(),
        message: error.inner().to_string(),
    })
}
