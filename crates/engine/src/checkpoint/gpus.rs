//! What is taken of GPUs, in a checkpoint.

use model::{GpuGuest, Map, NodeId, PodId, PodSpec};
use serde::{Deserialize, Serialize};

use super::resume::fault;
use super::{InsideEntry, ResumeError};
use crate::Scheduler;

/// What is taken of the GPUs that a node offers as one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpusEntry {
    /// The node, by name.
    pub node: Box<str>,
    /// The resource, by name.
    pub resource: Box<str>,
    /// Who takes some, in the order in which they came.
    pub guests: Vec<GpuGuestEntry>,
}

/// What a pod, or room that is kept for one, takes of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuGuestEntry {
    /// Which of the pods; none if it does not exist yet.
    pub pod: Option<usize>,
    /// The spec, if it does not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<PodSpec>,
    /// Which it has, bit 0 being the first.
    pub devices: u128,
    /// How much of each, in thousandths.
    pub milli: u16,
}

impl Scheduler {
    /// What is taken of GPUs.
    pub(super) fn gpu_entries(&self, pods: &Map<PodId, usize>) -> Vec<GpusEntry> {
        let catalog = &self.catalog;
        let of_node = |node: NodeId| self.usage.gpus(node).iter().map(move |pool| (node, pool));
        let pools = catalog.nodes().iter().copied().flat_map(of_node);
        let taken = pools.filter(|(_, pool)| !pool.guests().is_empty());
        let entry = taken.map(|(node, pool)| {
            let guest = |guest: &GpuGuest| GpuGuestEntry {
                pod: guest.pod.map(|pod| pods[&pod]),
                spec: guest.pod.is_none().then(|| catalog.class(guest.class).spec.clone()),
                devices: guest.devices,
                milli: guest.milli,
            };
            GpusEntry {
                node: catalog.node_name(node).into(),
                resource: catalog.resource_name(pool.layout().resource).into(),
                guests: pool.guests().iter().map(guest).collect(),
            }
        });
        entry.collect()
    }

    /// Puts back what pods take inside nodes, and of GPUs.
    pub(super) fn resume_taken(
        &mut self,
        insides: Vec<InsideEntry>,
        gpus: Vec<GpusEntry>,
        pods: &[Option<PodId>],
    ) -> Result<(), ResumeError> {
        for entry in insides {
            self.resume_inside(entry, pods)?;
        }
        gpus.into_iter().try_for_each(|entry| self.resume_gpus(entry, pods))
    }

    /// Puts back what pods take of GPUs of a node. What nobody schedules any more is not there.
    fn resume_gpus(
        &mut self,
        GpusEntry { node, resource, guests }: GpusEntry,
        pods: &[Option<PodId>],
    ) -> Result<(), ResumeError> {
        let found = self.catalog.find_node(&node).zip(self.catalog.find_resource(&resource));
        let Some((node, resource)) = found else {
            return fault("GPUs are taken of a node that is not there or has none");
        };
        let mut known = Vec::with_capacity(guests.len());
        for GpuGuestEntry { pod, spec, devices, milli } in guests {
            let (pod, class) = match (pod, spec) {
                (Some(pod), None) => {
                    let Some(pod) = pods.get(pod) else {
                        return fault("a pod has GPUs and is not listed");
                    };
                    let Some(pod) = pod else { return Ok(()) };
                    (Some(*pod), self.catalog.pod(*pod).class)
                }
                (None, Some(spec)) => {
                    let class = self.catalog.class_of(&spec);
                    self.catalog.release_class(class);
                    (None, class)
                }
                (None, None) | (Some(_), Some(_)) => {
                    return fault("whoever has GPUs is a pod, or has a spec");
                }
            };
            known.push(GpuGuest { pod, class, devices, milli });
        }
        match self.usage.restore_gpus(node, resource, &known) {
            true => Ok(()),
            false => fault("other pods have GPUs of a node than those that are told"),
        }
    }
}
