//! Who is woken that waits for NUMA zones.

use model::{KubeletCause, NumaFault, NumaPolicy};
use testkit::own_profile;

use crate::wake::Case;

/// Every fault, and what is tried for it.
pub(crate) fn cases() -> Vec<(NumaFault, Case)> {
    let own = |(fault, case): (NumaFault, Case)| (fault, case.with(own_profile()));
    of_facts().into_iter().chain(of_load()).map(own).collect()
}

/// Those that follow from what pods ask for and what nodes are.
fn of_facts() -> Vec<(NumaFault, Case)> {
    let asked = NumaPolicy::SingleNuma;
    vec![
        (
            NumaFault::Invalid("x".into()),
            Case::new(
                "node a cpu=8; pod r on=a; pod p cpu=1 numa-broken=x",
                &["pod p cpu=1"],
                &["node b", "gone pod r", "node a cpu=8 zones=1x8"],
            ),
        ),
        (
            NumaFault::Unknown(asked),
            Case::new(
                "node a cpu=8; pod r on=a; pod p cpu=1 numa=single-numa",
                &["node a cpu=8 zones=2x4", "node b cpu=8 zones=1x8"],
                &["gone pod r", "node a cpu=9", "node b"],
            ),
        ),
        (
            NumaFault::Weaker { asked },
            Case::new(
                "node a cpu=8 zones=2x4 policy=restricted; pod r on=a; \
                 pod p cpu=1 exclusive numa=single-numa",
                &["node a cpu=8 zones=2x4 policy=single-numa-node", "node a cpu=8 zones=1x8"],
                &["gone pod r", "node a cpu=8 zones=4x2 policy=restricted"],
            ),
        ),
    ]
}

/// Those that follow from what others take.
fn of_load() -> Vec<(NumaFault, Case)> {
    let asked = NumaPolicy::SingleNuma;
    vec![
        (
            NumaFault::Refused { cause: KubeletCause::Topology, is_estimated: false },
            Case::new(
                "node a cpu=8 zones=2x4 policy=single-numa-node; pod r on=a; \
                 pod q on=a cpu=3 exclusive; pod s on=a cpu=3 exclusive; pod p cpu=2 exclusive",
                &[
                    "gone pod q",
                    "gone pod s",
                    "node a cpu=8 zones=2x4 policy=best-effort",
                    "node b cpu=2",
                ],
                &["gone pod r"],
            ),
        ),
        (
            NumaFault::NoZones { asked, is_estimated: true },
            Case::new(
                "node a cpu=8 zones=2x4; pod r on=a; pod q on=a cpu=3 exclusive; \
                 pod s on=a cpu=3 exclusive; pod p cpu=2 exclusive numa=single-numa",
                &["gone pod q", "gone pod s", "node a cpu=8 zones=2x8"],
                &["gone pod r"],
            ),
        ),
        (
            NumaFault::Avoided,
            Case::new(
                "node a cpu=8 zones=2x4; pod r on=a; pod q on=a cpu=4 exclusive placed=1; \
                 pod p cpu=2 exclusive numa=single-numa numa-avoids=0",
                &["gone pod q", "node a cpu=8 zones=4x4", "node b cpu=8 zones=2x4"],
                &["gone pod r"],
            ),
        ),
        (
            NumaFault::Kept,
            Case::new(
                "node a cpu=8 zones=2x4 policy=single-numa-node; pod r on=a; \
                 pod q on=a cpu=2 exclusive numa=isolated; pod s on=a cpu=4 exclusive; \
                 pod p cpu=2 exclusive",
                &["gone pod q", "node b cpu=4"],
                // Its kubelet would still choose the lower zone.
                &["gone pod r", "gone pod s"],
            ),
        ),
    ]
}

/// What is tried for a fault.
pub(crate) fn case(fault: &NumaFault) -> Case {
    let mut cases = cases().into_iter().filter(|(other, _)| other == fault);
    cases.next().unwrap_or_else(|| panic!("no case for {fault:?}")).1
}
