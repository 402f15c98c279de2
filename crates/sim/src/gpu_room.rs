//! How many jobs that want several GPUs would fit at the end of a run, as the scheduler knows it.

use engine::Scheduler;
use model::{GpuRoom, ROOM_SIZES};
use serde::Serialize;

/// How many jobs of each size would fit, one beside the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoomReport {
    /// The sizes.
    pub sizes: [u32; ROOM_SIZES.len()],
    /// Pods of so many GPUs that reach each other well.
    pub gpus: [u64; ROOM_SIZES.len()],
    /// Jobs of so many nodes whose GPUs are all free.
    pub nodes: [u64; ROOM_SIZES.len()],
    /// The same with all nodes in one rack.
    pub nodes_of_rack: [u64; ROOM_SIZES.len()],
}

/// The room that there is; nothing if no node has GPUs.
pub(crate) fn of(scheduler: &Scheduler) -> Option<RoomReport> {
    let catalog = scheduler.catalog();
    catalog.has_gpus().then(|| {
        let GpuRoom { gpus, nodes, nodes_of_rack } = GpuRoom::new(catalog, scheduler.usage());
        RoomReport { sizes: ROOM_SIZES, gpus, nodes, nodes_of_rack }
    })
}
