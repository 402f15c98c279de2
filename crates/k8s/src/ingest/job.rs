//! Job objects of Kubernetes to facts. Nothing of a Job matters but that it is complete, so nothing
//! is told of others: not of those that run, and not of those that failed.

use model::{Event, JobFacts};

use super::seen::read_text;
use super::view::JobView;
use super::{IngestError, read};

const KIND: &str = "Job";

/// The event that a Job is there, if it is complete.
///
/// # Errors
/// When the object does not have the shape of a Job.
pub fn job(object: &serde_json::Value) -> Result<Option<Event>, IngestError> {
    Ok(event(read(KIND, object)?))
}

/// Reads the text of a Job: its `resourceVersion`, and that it is there if it is complete.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a Job.
pub fn read_job(text: &[u8]) -> Result<(String, Option<Event>), IngestError> {
    let mut view: JobView = read_text(KIND, text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, event(view)))
}

fn event(view: JobView) -> Option<Event> {
    let JobView { metadata, spec, status } = view;
    let is = |kind: &str| {
        let mut all = status.conditions.iter();
        all.any(|condition| condition.r#type == kind && condition.status == "True")
    };
    // How many pods may run at a time can have been changed since they ran.
    let pods = [spec.parallelism, spec.completions, status.succeeded].into_iter().flatten();
    let pods = pods.max().unwrap_or(1).max(1);
    (is("Complete") && !is("Failed")).then(|| {
        let uid = metadata.uid.into();
        Event::seen(JobFacts { uid, pods: pods.unsigned_abs() })
    })
}
