//! Devices of nodes: what ResourceSlices and ResourceClaims tell of them, and what all sources
//! together say, which every plugin about hardware reads.

mod facts;
mod merged;
mod products;

pub use facts::{
    ClaimedDevice, PciAddress, ResourceClaimFacts, ResourceSliceFacts, SLICE_DEVICES_MAX,
    SliceDevice,
};
pub use merged::{Device, NodeDevices, ResourceDevices, Sharing};
pub use products::{Product, product_by_name, product_by_pci};
