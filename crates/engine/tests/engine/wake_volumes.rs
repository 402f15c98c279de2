//! Who is woken that waits for volumes.

use model::VolumeFault;

use crate::wake::Case;

/// Faults that a change of another object can end, and what is tried for each.
pub(crate) fn cases() -> Vec<(VolumeFault, Case)> {
    vec![
        (
            VolumeFault::NoClaim("c".into()),
            Case::new(
                "node a; pod r on=a; pod p claim=c",
                &["pvc c"],
                &["pvc d", "node b", "gone pod r", "pv v size=1Gi", "pvc c namespace=other"],
            ),
        ),
        (
            VolumeFault::Unbound,
            Case::new(
                "node a; pod r on=a; pvc c class=s; pod p claim=c",
                &["pv v taken; pvc c volume=v bound", "storageclass s"],
                &["node b", "gone pod r", "pvc d volume=v bound", "pv v size=1Gi"],
            ),
        ),
        (
            VolumeFault::NoMatch,
            Case::new(
                "node a x=y; storageclass s; pvc c class=s size=2Gi; pod p claim=c",
                &["pv v class=s size=2Gi", "storageclass s by=disk", "node b"],
                &["pvc d class=s", "csidriver e", "pod r on=a; gone pod r", "node a x=y cpu=9"],
            ),
        ),
        (
            VolumeFault::NodeConflict,
            Case::new(
                "node a host=a; pv v on=b claim=default/c/own; \
             pvc c volume=v bound; pod p claim=c",
                &["node b host=b", "node a host=b"],
                &["pvc d", "pod r on=a; gone pod r", "pv w size=1Gi"],
            ),
        ),
        (
            VolumeFault::NoSpace,
            Case::new(
                "node a; csidriver disk tells; storageclass s by=disk; pvc c class=s size=2Gi; \
             pod p claim=c",
                &["capacity x class=s size=2Gi", "csidriver disk", "node b"],
                &["pvc d", "pod r on=a; gone pod r"],
            ),
        ),
    ]
    .into_iter()
    .chain(of_mounts())
    .collect()
}

/// The same of those that volumes on nodes are the cause of.
fn of_mounts() -> Vec<(VolumeFault, Case)> {
    vec![
        (
            VolumeFault::ClaimInUse,
            Case::new(
                "node a; pv v claim=default/c/own; pvc c volume=v bound mode=ReadWriteOncePod; \
             pod q on=a claim=c; pod r on=a; pod p claim=c",
                &["gone pod q", "pod q on=a claim=c finished"],
                &["gone pod r", "node b", "pvc d"],
            ),
        ),
        (
            VolumeFault::DiskInUse,
            Case::new(
                "node a; pod q on=a disk=x; pod r on=a; pod p disk=x",
                &["gone pod q", "node b"],
                &["gone pod r", "pvc d"],
            ),
        ),
        (
            VolumeFault::TooMany,
            Case::new(
                "node a; csinode a driver=d:2; pv v driver=d handle=1 claim=default/c/own; \
             pv w driver=d handle=2 claim=default/e/own; pvc c volume=v bound; \
             pvc e volume=w bound; pod q on=a claim=e; pod r on=a; pod p claim=c; \
             pv x driver=d handle=3; attachment t node=a by=d volume=x",
                &[
                    "gone pod q",
                    "csinode a driver=d:3",
                    "gone csinode a",
                    "node b",
                    "gone attachment t",
                    // What is gone is not counted.
                    "gone pvc default/e",
                    "gone pv x",
                ],
                &["gone pod r", "pvc d", "pv x driver=d handle=3 size=1Gi"],
            ),
        ),
        (
            VolumeFault::NoDriver("d".into()),
            Case::new(
                "node a; csidriver d required; pv v driver=d handle=1 claim=default/c/own; \
             pvc c volume=v bound; pod r on=a; pod p claim=c",
                &["csinode a driver=d", "csidriver d", "csinode b driver=d; node b"],
                &["gone pod r", "pvc d"],
            ),
        ),
        (
            VolumeFault::OtherZone,
            Case::new(
                "node a label=topology.kubernetes.io/zone:x; \
             pv v label=topology.kubernetes.io/zone:y claim=default/c/own; pvc c volume=v bound; \
             pod r on=a; pod p claim=c",
                &[
                    "node a label=topology.kubernetes.io/zone:y",
                    "node b label=topology.kubernetes.io/zone:y",
                ],
                &["gone pod r", "pvc d"],
            ),
        ),
    ]
}

/// What is tried for a fault.
pub(crate) fn case(fault: &VolumeFault) -> Case {
    let found = cases().into_iter().find(|(it, _)| it == fault);
    found.expect("a fault with a case").1
}
