//! Who is woken that waits for GPUs.

use model::GpuFault;
use testkit::own_profile;

use crate::wake::Case;

/// Every fault, and what is tried for it.
pub(crate) fn cases() -> Vec<(GpuFault, Case)> {
    let own = |(fault, case): (GpuFault, Case)| (fault, case.with(own_profile()));
    of_facts().into_iter().chain(of_load()).map(own).collect()
}

/// Those that follow from what pods ask for and what nodes tell.
fn of_facts() -> Vec<(GpuFault, Case)> {
    vec![
        (
            GpuFault::InvalidMemory("x".into()),
            Case::new(
                "node a nvidia.com/gpu=1 vram=40Gi; pod r on=a; \
                 pod p nvidia.com/gpu=1 vram-broken=x",
                &["pod p nvidia.com/gpu=1"],
                &["node b nvidia.com/gpu=1", "gone pod r", "node a nvidia.com/gpu=1 vram=80Gi"],
            ),
        ),
        (
            GpuFault::InvalidShare("x".into()),
            Case::new(
                "node a nvidia.com/gpu=1; pod r on=a; pod p nvidia.com/gpu=1 share-broken=x",
                &["pod p nvidia.com/gpu=1"],
                &["node b nvidia.com/gpu=1", "gone pod r", "node a nvidia.com/gpu=1 vram=80Gi"],
            ),
        ),
        (
            GpuFault::NoSharing,
            Case::new(
                "node a nvidia.com/gpu=2 vram=16Gi; pod r on=a; pod q on=a nvidia.com/gpu=1; \
                 pod p nvidia.com/gpu=1 fraction=0.5",
                &[
                    "node a nvidia.com/gpu=2 vram=16Gi replicas=2",
                    "node b nvidia.com/gpu=4 vram=16Gi replicas=2",
                ],
                &[
                    "gone pod r",
                    "gone pod q",
                    "node a nvidia.com/gpu=3 vram=16Gi",
                    "node b nvidia.com/gpu=4 vram=16Gi",
                ],
            ),
        ),
        (
            GpuFault::MemoryUnknown,
            Case::new(
                "node a nvidia.com/gpu=2; pod r on=a; pod q on=a nvidia.com/gpu=1; \
                 pod p nvidia.com/gpu=1 vram=10Gi",
                &["node a nvidia.com/gpu=2 vram=16Gi", "node b nvidia.com/gpu=1 vram=16Gi"],
                &["gone pod r", "gone pod q", "node a nvidia.com/gpu=3", "node b nvidia.com/gpu=1"],
            ),
        ),
        (
            GpuFault::MemoryTooSmall,
            Case::new(
                "node a nvidia.com/gpu=2 vram=16Gi; pod r on=a; pod q on=a nvidia.com/gpu=1; \
                 pod p nvidia.com/gpu=1 vram=40Gi",
                &["node a nvidia.com/gpu=2 vram=40Gi", "node b nvidia.com/gpu=1 vram=80Gi"],
                &[
                    "gone pod r",
                    "gone pod q",
                    "node a nvidia.com/gpu=2 vram=24Gi",
                    "node b nvidia.com/gpu=1 vram=16Gi",
                ],
            ),
        ),
    ]
}

/// Those that follow from what others take.
fn of_load() -> Vec<(GpuFault, Case)> {
    vec![
        (
            GpuFault::NoneFree,
            Case::new(
                "node a nvidia.com/gpu=8 vram=16Gi replicas=4; pod r on=a; \
                 pod q on=a nvidia.com/gpu=1 fraction=0.2 had-gpus=0; \
                 pod s on=a nvidia.com/gpu=1 fraction=0.2 had-gpus=1; \
                 pod p nvidia.com/gpu=1 fraction=1",
                &[
                    "gone pod q",
                    "gone pod s",
                    "node a nvidia.com/gpu=12 vram=16Gi replicas=4",
                    "node b nvidia.com/gpu=1",
                ],
                &["gone pod r", "node a nvidia.com/gpu=8 vram=24Gi replicas=4"],
            ),
        ),
        (
            GpuFault::ShareFull,
            Case::new(
                "node a nvidia.com/gpu=4 vram=16Gi replicas=4; pod r on=a; \
                 pod q on=a nvidia.com/gpu=1 fraction=0.3; \
                 pod s on=a nvidia.com/gpu=1 fraction=0.4; \
                 pod p nvidia.com/gpu=1 fraction=0.5",
                &[
                    "gone pod q",
                    "gone pod s",
                    "pod s on=a nvidia.com/gpu=1 fraction=0.1",
                    "node a nvidia.com/gpu=8 vram=16Gi replicas=4",
                    "node b nvidia.com/gpu=4 vram=16Gi replicas=4",
                ],
                &["gone pod r", "node a nvidia.com/gpu=4 vram=24Gi replicas=4"],
            ),
        ),
    ]
}

/// What is tried for a fault.
pub(crate) fn case(fault: &GpuFault) -> Case {
    let mut cases = cases().into_iter().filter(|(other, _)| other == fault);
    cases.next().unwrap_or_else(|| panic!("no case for {fault:?}")).1
}
