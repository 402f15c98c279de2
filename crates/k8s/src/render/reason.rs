//! Reasons in kube-scheduler's words, which users, dashboards and alerts already know.

use model::{
    Catalog, Code, FabricFault, GpuFault, Need, NumaFault, Reason, TierFault, VolumeFault,
    is_huge_page,
};

/// The text of a reason.
#[must_use]
pub fn reason_text(reason: &Reason, catalog: &Catalog) -> String {
    match reason {
        Reason::NoNodes => "no nodes available to schedule pods".into(),
        Reason::Gated(gates) => format!("waiting for scheduling gates: [{}]", gates.join(" ")),
        Reason::OtherNode => "node(s) didn't match the requested node name".into(),
        Reason::Closed => "node(s) were unschedulable".into(),
        Reason::UntoleratedTaint => "node(s) had untolerated taint(s)".into(),
        Reason::NodeAffinity => "node(s) didn't match Pod's node affinity/selector".into(),
        Reason::AddedAffinity => "node(s) didn't match scheduler-enforced node affinity".into(),
        Reason::AffinityConflict => "pod affinity terms conflict".into(),
        Reason::NotNamed(plugins) => {
            format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "))
        }
        Reason::NoneNamed(plugins) => match &**plugins {
            [plugin] => format!("node(s) didn't satisfy plugin {plugin}"),
            _ => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", plugins.join(" ")),
        },
        Reason::HostPort => "node(s) didn't have free ports for the requested pod ports".into(),
        Reason::TooManyPods => "Too many pods".into(),
        Reason::Insufficient { resource, .. } => {
            format!("Insufficient {}", catalog.resource_name(*resource))
        }
        Reason::MissingFeature => "node(s) didn't match Pod's required features".into(),
        Reason::SpreadLabel => {
            "node(s) didn't match pod topology spread constraints (missing required label)".into()
        }
        Reason::SpreadSkew => "node(s) didn't match pod topology spread constraints".into(),
        Reason::NotNear => "node(s) didn't match pod affinity rules".into(),
        Reason::NotFar => "node(s) didn't match pod anti-affinity rules".into(),
        Reason::Unwelcome => "node(s) didn't satisfy existing pods anti-affinity rules".into(),
        Reason::BrokenSpread => "the label selector of a spread constraint is invalid".into(),
        Reason::BrokenTerm => "a label selector of a pod affinity term is invalid".into(),
        Reason::NotSupported(need) => format!("{} not supported yet", need_text(*need)),
        Reason::BrokenPreference => {
            "a preferred node affinity term is invalid, so nodes cannot be ranked".into()
        }
        Reason::GangFault(fault) => format!("gang: {fault}"),
        Reason::NoPodGroup(name) => format!("waiting for PodGroup {name:?}, which is not there"),
        Reason::GangIncomplete { there, min } => {
            format!("waiting for the gang: {there} of at least {min} are there")
        }
        Reason::MemberGated(pod) => format!("waiting for the scheduling gates of {pod:?}"),
        Reason::After(gang) => format!("waiting for gang {gang:?} to succeed"),
        Reason::AfterCycle(gangs) => format!("gangs wait for each other: {}", gangs.join(" -> ")),
        Reason::Volume(fault) => volume_text(fault),
        Reason::Numa(fault) => numa_text(fault),
        Reason::Gpu(fault) => gpu_text(fault),
        Reason::Fabric(fault) => fabric_text(fault),
        Reason::Tier(fault) => tier_text(*fault).into(),
        Reason::OtherDomain => "node(s) were outside the topology domain of the gang".into(),
        Reason::ClusterShort { resource, asked, free, offered } => {
            let text = |amount: i64| amount_text(resource, amount);
            let wanted = format!("{} {resource} are asked for", text(*asked));
            let short = format!(
                "waiting for minResources of the gang: {wanted}, {} are free on all nodes",
                text(*free)
            );
            if asked <= offered {
                return short;
            }
            format!("{short}, which have {}. It can never fit this cluster.", text(*offered))
        }
    }
}

fn numa_text(fault: &NumaFault) -> String {
    let estimated = |is_estimated: bool| if is_estimated { " (estimated)" } else { "" };
    match fault {
        NumaFault::Invalid(fault) => format!("NUMA request: {fault}"),
        NumaFault::Unknown(asked) => {
            let asked = asked.word();
            format!("node(s) had unknown NUMA topology, and the pod asks for {asked}")
        }
        NumaFault::Weaker { asked } => format!(
            "node(s) had a kubelet whose topologyManagerPolicy does not guarantee {}",
            asked.word()
        ),
        NumaFault::Refused { cause, is_estimated } => {
            let (cause, estimated) = (cause.word(), estimated(*is_estimated));
            format!("node(s) had a kubelet that would reject the pod with {cause}{estimated}")
        }
        NumaFault::NoZones { asked, is_estimated } => {
            let (asked, estimated) = (asked.word(), estimated(*is_estimated));
            format!("node(s) had no NUMA nodes free that satisfy {asked}{estimated}")
        }
        NumaFault::Avoided => "node(s) had room in NUMA nodes only that the pod avoids".into(),
        NumaFault::Kept => "node(s) had room only in NUMA nodes of isolated pods".into(),
    }
}

fn fabric_text(fault: &FabricFault) -> String {
    match fault {
        FabricFault::Invalid(fault) => format!("network request: {fault}"),
        FabricFault::TooSlow => "node(s) had a network that is too slow or unknown".into(),
    }
}

fn gpu_text(fault: &GpuFault) -> String {
    match fault {
        GpuFault::InvalidMemory(fault) => format!("GPU memory request: {fault}"),
        GpuFault::InvalidShare(fault) => format!("GPU share request: {fault}"),
        GpuFault::NoSharing => "node(s) had nothing that lets pods share a GPU".into(),
        GpuFault::MemoryUnknown => "node(s) had GPUs of unknown memory".into(),
        GpuFault::MemoryTooSmall => "node(s) had too few GPUs with the requested memory".into(),
        GpuFault::NoneFree => "node(s) had too few suitable GPUs free".into(),
        GpuFault::ShareFull => "node(s) had too little left of their shared GPUs".into(),
    }
}

fn tier_text(fault: TierFault) -> &'static str {
    match fault {
        TierFault::NotAllowed => "node(s) were of a hardware tier that the tenant may not use",
        TierFault::Reserved => "node(s) were reserved for another tenant tier",
        TierFault::Accelerators => {
            "node(s) had accelerators, which are reserved for pods that ask for some"
        }
    }
}

fn volume_text(fault: &VolumeFault) -> String {
    match fault {
        VolumeFault::NoClaim(claim) => format!("persistentvolumeclaim {claim:?} not found"),
        VolumeFault::Nameless => "PersistentVolumeClaim had no name".into(),
        VolumeFault::NotMade(claim) => format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim {claim:?}"
        ),
        VolumeFault::Lost { claim, volume } => format!(
            "persistentvolumeclaim {claim:?} bound to non-existent persistentvolume {volume:?}"
        ),
        VolumeFault::Deleted(claim) => format!("persistentvolumeclaim {claim:?} is being deleted"),
        VolumeFault::NotOwned { claim, pod } => {
            format!("PVC {claim} was not created for pod {pod} (pod is not owner)")
        }
        VolumeFault::Unbound => "pod has unbound immediate PersistentVolumeClaims".into(),
        VolumeFault::NoClassNamed => {
            "PersistentVolumeClaim had no pv name and storageClass name".into()
        }
        VolumeFault::NoClass(class) => format!("storageclass.storage.k8s.io {class:?} not found"),
        VolumeFault::NoMode(class) | VolumeFault::BrokenClass(class) => {
            format!("VolumeBindingMode not set for StorageClass {class:?}")
        }
        VolumeFault::NoVolumeNamed => "PersistentVolume had no name".into(),
        VolumeFault::NoVolume(volume) => format!("persistentvolume {volume:?} not found"),
        VolumeFault::Uncounted(key) => {
            let name = key.rsplit('/').next().unwrap_or(key);
            format!("looking up PVC {key}: persistentvolumeclaim {name:?} not found")
        }
        VolumeFault::Uncountable(why) => why.to_string(),
        VolumeFault::BrokenSelector(claim) => {
            format!("the selector of persistentvolumeclaim {claim:?} is invalid")
        }
        VolumeFault::Untranslatable(volume) => {
            format!("could not translate persistentvolume {volume:?} for its CSI driver")
        }
        VolumeFault::NodeConflict => "node(s) didn't match PersistentVolume's node affinity".into(),
        VolumeFault::NoMatch => "node(s) didn't find available persistent volumes to bind".into(),
        VolumeFault::NoSpace => "node(s) did not have enough free storage".into(),
        VolumeFault::VolumeGone => {
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)".into()
        }
        VolumeFault::DiskInUse => "node(s) had no available disk".into(),
        VolumeFault::ClaimInUse => "node(s) unavailable due to PersistentVolumeClaim with \
                                    ReadWriteOncePod access mode already in-use by another pod"
            .into(),
        VolumeFault::TooMany => "node(s) exceed max volume count".into(),
        VolumeFault::NoDriver(driver) => {
            format!("{driver} CSI driver is not installed on the node")
        }
        VolumeFault::OtherZone => "node(s) had no available volume zone".into(),
    }
}

fn need_text(need: Need) -> &'static str {
    match need {
        Need::Volumes => "volumes that tie a pod to nodes (claims and disks) are",
        Need::ResourceClaims => "resource claims (DRA) are",
    }
}

/// An amount as people write it: thousandths of CPUs, and bytes in the largest unit that is exact.
fn amount_text(resource: &str, amount: i64) -> String {
    if resource == "cpu" {
        return if amount % 1000 == 0 { (amount / 1000).to_string() } else { format!("{amount}m") };
    }
    let is_bytes = matches!(resource, "memory" | "ephemeral-storage") || is_huge_page(resource);
    let units = [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];
    let fits = |(bits, _): &(i32, &str)| amount != 0 && amount % (1_i64 << bits) == 0;
    match units.into_iter().find(fits).filter(|_| is_bytes) {
        Some((bits, unit)) => format!("{}{unit}", amount >> bits),
        None => amount.to_string(),
    }
}

/// The word for a code.
#[must_use]
pub fn code_word(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
        Code::Error => "Error",
    }
}
