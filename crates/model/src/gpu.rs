//! GPUs: what pods ask of them, how those of a node are laid out, which sets are good, and what a
//! placement costs the pods that are yet to come.

mod ask;
mod cutting;
mod demand;
mod derive;
mod layout;
mod prices;
mod room;
mod sets;
mod super_islands;
mod wish;

pub use ask::GpuAsk;
pub use demand::{ANY_MODEL, GpuDemand, GpuShape};
pub(crate) use derive::{FreeNode, derive};
pub(crate) use layout::places;
pub use layout::{GpuLayout, GpuModel};
pub use prices::{GpuPrices, LeftBeside, Taking};
pub use room::{GpuRoom, ROOM_SIZES};
pub use sets::Nearness;
pub(crate) use super_islands::SuperIslands;
pub use wish::{GpuFault, GpuShare, GpuWish, WHOLE_MILLI};

/// Whether a resource is GPUs, parts of them, or accelerators that are used like them.
#[must_use]
pub fn is_gpu(resource: &str) -> bool {
    const OTHERS: [&str; 6] = [
        "nvidia.com/gpu.shared",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
        "google.com/tpu",
        "aws.amazon.com/neuron",
    ];
    let is_named_gpu = resource.split_once('/').is_some_and(|(_, name)| name == "gpu");
    is_named_gpu || resource.starts_with("nvidia.com/mig-") || OTHERS.contains(&resource)
}
