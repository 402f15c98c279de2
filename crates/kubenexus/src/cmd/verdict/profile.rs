//! What a pod is, as a verdict shows it.

use k8s::render::{ignored_text, source_text};
use model::{Known, WorkloadProfile};
use serde::Serialize;

/// What a pod is, each with where that is known from.
#[derive(Serialize)]
pub(super) struct ProfileAnswer {
    tenant: Answer<Box<str>>,
    tier: Answer<&'static str>,
    workload: Answer<&'static str>,
    hardware: Answer<&'static str>,
    preemptible: Answer<bool>,
    ignored: Vec<String>,
}

#[derive(Serialize)]
struct Answer<T> {
    value: T,
    source: String,
}

fn answer<T, U>(known: &Known<T>, value: impl Fn(&T) -> U) -> Answer<U> {
    Answer { value: value(&known.value), source: source_text(&known.source) }
}

impl ProfileAnswer {
    pub(super) fn of(profile: &WorkloadProfile) -> Self {
        Self {
            tenant: answer(&profile.tenant, Clone::clone),
            tier: answer(&profile.tier, |tier| tier.word()),
            workload: answer(&profile.workload, |workload| workload.word()),
            hardware: answer(&profile.hardware, |hardware| hardware.word()),
            preemptible: answer(&profile.is_preemptible, |is_preemptible| *is_preemptible),
            ignored: profile.ignored.iter().map(ignored_text).collect(),
        }
    }
}
