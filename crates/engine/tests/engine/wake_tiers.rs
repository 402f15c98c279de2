//! Who is woken that is kept off nodes by the tier of its tenant.

use framework::{Args, TenantHardwareArgs};
use model::TierFault;
use testkit::{own_profile, with_args};

use crate::wake::Case;

/// Every fault, and what is tried for it.
pub(crate) fn cases() -> Vec<(TierFault, Case)> {
    let mut args = TenantHardwareArgs { reserves_accelerators: true, ..Default::default() };
    args.rules.bronze.overflows = false;
    let profile = || with_args(own_profile(), "TenantHardware", Args::TenantHardware(args.clone()));
    let own = |(fault, case): (TierFault, Case)| (fault, case.with(profile()));
    [not_allowed(), reserved(), accelerators()].map(own).into()
}

fn not_allowed() -> (TierFault, Case) {
    let case = Case::new(
        "namespace default tenant.kubenexus.io/tier:bronze; \
         node a nvidia.com/gpu=2 hardware=premium; pod r on=a; pod q on=a nvidia.com/gpu=1; \
         pod p nvidia.com/gpu=1",
        &[
            "node a nvidia.com/gpu=2 hardware=economy",
            "node a nvidia.com/gpu=2 model=Tesla-T4",
            "node a nvidia.com/gpu=2",
            "node b nvidia.com/gpu=1 hardware=economy",
            "namespace default tenant.kubenexus.io/tier:gold",
            // Nobody has a tier any more.
            "namespace default team:a",
            "gone namespace default",
        ],
        &[
            "gone pod r",
            "gone pod q",
            "node a nvidia.com/gpu=4 hardware=premium",
            "node a nvidia.com/gpu=2 hardware=standard",
            "node a nvidia.com/gpu=2 model=NVIDIA-H100-PCIe",
            "node b nvidia.com/gpu=1 hardware=premium",
            "namespace other tenant.kubenexus.io/tier:gold",
        ],
    );
    (TierFault::NotAllowed, case)
}

fn reserved() -> (TierFault, Case) {
    let case = Case::new(
        "namespace default tenant.kubenexus.io/tier:bronze; node a reserved=gold; pod r on=a; \
         pod p",
        &[
            "node a",
            "node a reserved=bronze",
            "node b",
            "namespace default tenant.kubenexus.io/tier:gold",
            "gone namespace default",
        ],
        &[
            "gone pod r",
            "node a reserved=gold cpu=8",
            "node a reserved=system",
            "node b reserved=silver",
        ],
    );
    (TierFault::Reserved, case)
}

fn accelerators() -> (TierFault, Case) {
    let case = Case::new(
        "node a nvidia.com/gpu=1; pod r on=a; pod p",
        &["node a", "node a nvidia.com/gpu=0", "node b"],
        &["gone pod r", "node a nvidia.com/gpu=2", "node b nvidia.com/gpu=1"],
    );
    (TierFault::Accelerators, case)
}

/// What is tried for a fault.
pub(crate) fn case(fault: TierFault) -> Case {
    let mut cases = cases().into_iter().filter(|(other, _)| *other == fault);
    cases.next().unwrap_or_else(|| panic!("no case for {fault:?}")).1
}
