//! Every fault of volumes, of zones and of GPUs, with what users read for it.

use model::{FabricFault, GpuFault, KubeletCause, NumaFault, NumaPolicy, TierFault, VolumeFault};

/// Every fault of volumes, what users read for it, and whether evicting pods may help.
pub(crate) fn volume_faults() -> Vec<(VolumeFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    vec![
        (VolumeFault::NoClaim("data".into()), "persistentvolumeclaim \"data\" not found", never),
        (VolumeFault::Nameless, "PersistentVolumeClaim had no name", never),
        (
            VolumeFault::NotMade("web-data".into()),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \
             \"web-data\"",
            never,
        ),
        (
            VolumeFault::Uncounted("team/data".into()),
            "looking up PVC team/data: persistentvolumeclaim \"data\" not found",
            never,
        ),
        (
            VolumeFault::Lost { claim: "data".into(), volume: "pv".into() },
            "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\"",
            never,
        ),
        (
            VolumeFault::Deleted("data".into()),
            "persistentvolumeclaim \"data\" is being deleted",
            never,
        ),
        (
            VolumeFault::NotOwned { claim: "team/data".into(), pod: "team/web".into() },
            "PVC team/data was not created for pod team/web (pod is not owner)",
            never,
        ),
        (VolumeFault::Unbound, "pod has unbound immediate PersistentVolumeClaims", never),
        (
            VolumeFault::NoClassNamed,
            "PersistentVolumeClaim had no pv name and storageClass name",
            never,
        ),
        (VolumeFault::NoVolumeNamed, "PersistentVolume had no name", never),
        (
            VolumeFault::NoClass("fast".into()),
            "storageclass.storage.k8s.io \"fast\" not found",
            never,
        ),
        (
            VolumeFault::NoMode("fast".into()),
            "VolumeBindingMode not set for StorageClass \"fast\"",
            never,
        ),
        (
            VolumeFault::BrokenClass("fast".into()),
            "VolumeBindingMode not set for StorageClass \"fast\"",
            "Error",
        ),
        (VolumeFault::NoVolume("pv".into()), "persistentvolume \"pv\" not found", never),
    ]
    .into_iter()
    .chain(node_faults())
    .collect()
}

/// The same of those that nodes give.
fn node_faults() -> Vec<(VolumeFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    vec![
        (
            VolumeFault::VolumeGone,
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            never,
        ),
        (
            VolumeFault::Uncountable("PersistentVolumeClaim had no name".into()),
            "PersistentVolumeClaim had no name",
            "Error",
        ),
        (
            VolumeFault::BrokenSelector("team/data".into()),
            "the selector of persistentvolumeclaim \"team/data\" is invalid",
            "Error",
        ),
        (
            VolumeFault::Untranslatable("pv".into()),
            "could not translate persistentvolume \"pv\" for its CSI driver",
            "Error",
        ),
        (VolumeFault::NodeConflict, "node(s) didn't match PersistentVolume's node affinity", never),
        (VolumeFault::NoMatch, "node(s) didn't find available persistent volumes to bind", never),
        (VolumeFault::NoSpace, "node(s) did not have enough free storage", never),
        (VolumeFault::DiskInUse, "node(s) had no available disk", "Unschedulable"),
        (
            VolumeFault::ClaimInUse,
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
             already in-use by another pod",
            "Unschedulable",
        ),
        (VolumeFault::TooMany, "node(s) exceed max volume count", "Unschedulable"),
        (
            VolumeFault::NoDriver("ebs".into()),
            "ebs CSI driver is not installed on the node",
            "Unschedulable",
        ),
        (VolumeFault::OtherZone, "node(s) had no available volume zone", never),
    ]
}

/// Every fault of zones, what users read for it, and whether evicting pods may help.
pub(crate) fn numa_faults() -> Vec<(NumaFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    let helps = "Unschedulable";
    let asked = NumaPolicy::SingleNuma;
    let refused = |cause, is_estimated| NumaFault::Refused { cause, is_estimated };
    vec![
        (
            NumaFault::Invalid("annotation x is \"y\": expected z".into()),
            "NUMA request: annotation x is \"y\": expected z",
            never,
        ),
        (
            NumaFault::Unknown(asked),
            "node(s) had unknown NUMA topology, and the pod asks for single-numa",
            never,
        ),
        (
            NumaFault::Weaker { asked },
            "node(s) had a kubelet whose topologyManagerPolicy does not guarantee single-numa",
            never,
        ),
        (
            refused(KubeletCause::Topology, false),
            "node(s) had a kubelet that would reject the pod with TopologyAffinityError",
            helps,
        ),
        (
            refused(KubeletCause::Cores, false),
            "node(s) had a kubelet that would reject the pod with SMTAlignmentError",
            helps,
        ),
        (
            refused(KubeletCause::Admission, true),
            "node(s) had a kubelet that would reject the pod with UnexpectedAdmissionError \
             (estimated)",
            helps,
        ),
        (
            NumaFault::NoZones { asked, is_estimated: true },
            "node(s) had no NUMA nodes free that satisfy single-numa (estimated)",
            helps,
        ),
        (NumaFault::Avoided, "node(s) had room in NUMA nodes only that the pod avoids", helps),
        (NumaFault::Kept, "node(s) had room only in NUMA nodes of isolated pods", helps),
    ]
}

/// Every fault of GPUs, what users read for it, and whether evicting pods may help.
pub(crate) fn gpu_faults() -> Vec<(GpuFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    let helps = "Unschedulable";
    let words = "annotation x is \"y\": expected z";
    vec![
        (
            GpuFault::InvalidMemory(words.into()),
            "GPU memory request: annotation x is \"y\": expected z",
            never,
        ),
        (
            GpuFault::InvalidShare(words.into()),
            "GPU share request: annotation x is \"y\": expected z",
            never,
        ),
        (GpuFault::NoSharing, "node(s) had nothing that lets pods share a GPU", never),
        (GpuFault::MemoryUnknown, "node(s) had GPUs of unknown memory", never),
        (GpuFault::MemoryTooSmall, "node(s) had too few GPUs with the requested memory", never),
        (GpuFault::NoneFree, "node(s) had too few suitable GPUs free", helps),
        (GpuFault::ShareFull, "node(s) had too little left of their shared GPUs", helps),
    ]
}

/// Every fault about networks, as it is told.
pub(crate) fn fabric_faults() -> Vec<(FabricFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    let words = "annotation x is \"y\": expected z";
    vec![
        (
            FabricFault::Invalid(words.into()),
            "network request: annotation x is \"y\": expected z",
            never,
        ),
        (FabricFault::TooSlow, "node(s) had a network that is too slow or unknown", never),
    ]
}

/// Every fault of tiers, what users read for it, and whether evicting pods may help.
pub(crate) fn tier_faults() -> Vec<(TierFault, &'static str, &'static str)> {
    let never = "UnschedulableAndUnresolvable";
    vec![
        (
            TierFault::NotAllowed,
            "node(s) were of a hardware tier that the tenant may not use",
            never,
        ),
        (TierFault::Reserved, "node(s) were reserved for another tenant tier", never),
        (
            TierFault::Accelerators,
            "node(s) had accelerators, which are reserved for pods that ask for some",
            never,
        ),
    ]
}
