//! Objects about gangs: where each kind of them is served, and what is written there.

use model::{PodGroupKey, PodGroupKind};

/// Where a kind of such objects is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupApi {
    pub(crate) kind: PodGroupKind,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
}

const fn api(
    kind: PodGroupKind,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
) -> GroupApi {
    GroupApi { kind, group, version, resource }
}

const NATIVE: &str = "scheduling.k8s.io";

/// All that are known; of a kind the one to be preferred first.
pub(crate) const GROUP_APIS: [GroupApi; 8] = [
    api(PodGroupKind::Native, NATIVE, "v1beta1", "podgroups"),
    api(PodGroupKind::Native, NATIVE, "v1alpha3", "podgroups"),
    api(PodGroupKind::Native, NATIVE, "v1alpha2", "podgroups"),
    api(PodGroupKind::Composite, NATIVE, "v1alpha3", "compositepodgroups"),
    api(PodGroupKind::Workload, NATIVE, "v1alpha1", "workloads"),
    api(PodGroupKind::Coscheduling, "scheduling.x-k8s.io", "v1alpha1", "podgroups"),
    api(PodGroupKind::Volcano, "scheduling.volcano.sh", "v1beta1", "podgroups"),
    api(PodGroupKind::Kai, "scheduling.run.ai", "v2alpha2", "podgroups"),
];

impl GroupApi {
    /// In metrics and logs.
    pub(crate) fn word(self) -> &'static str {
        match self.kind {
            PodGroupKind::Native => "podgroups",
            PodGroupKind::Composite => "compositepodgroups",
            PodGroupKind::Workload => "workloads",
            PodGroupKind::Coscheduling => "podgroups.scheduling.x-k8s.io",
            PodGroupKind::Volcano => "podgroups.scheduling.volcano.sh",
            PodGroupKind::Kai => "podgroups.scheduling.run.ai",
        }
    }

    /// Path of all of them, and the start of the query.
    pub(crate) fn path(self) -> String {
        let Self { group, version, resource, .. } = self;
        format!("/apis/{group}/{version}/{resource}?")
    }

    /// Path of one of them.
    pub(crate) fn path_of(self, key: &PodGroupKey) -> String {
        let Self { group, version, resource, .. } = self;
        let (namespace, name) = (&key.namespace, &key.name);
        format!("/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}")
    }

    /// Group and version.
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// What its objects call themselves.
    pub(crate) fn object_kind(self) -> &'static str {
        match self.kind {
            PodGroupKind::Native
            | PodGroupKind::Coscheduling
            | PodGroupKind::Volcano
            | PodGroupKind::Kai => "PodGroup",
            PodGroupKind::Composite => "CompositePodGroup",
            PodGroupKind::Workload => "Workload",
        }
    }

    /// The condition by which their owners are told, if it is ours to write.
    pub(crate) fn condition(self) -> Option<&'static str> {
        match self.kind {
            PodGroupKind::Native if self.version == "v1alpha2" => Some("PodGroupScheduled"),
            PodGroupKind::Native => Some("PodGroupInitiallyScheduled"),
            PodGroupKind::Composite => Some("CompositePodGroupInitiallyScheduled"),
            PodGroupKind::Workload
            | PodGroupKind::Coscheduling
            | PodGroupKind::Volcano
            | PodGroupKind::Kai => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_to_write_has_a_condition() {
        let words = GROUP_APIS.map(|api| api.condition().unwrap_or("-"));
        let started = "PodGroupInitiallyScheduled";
        let composite = "CompositePodGroupInitiallyScheduled";
        let expected = [started, started, "PodGroupScheduled", composite, "-", "-", "-", "-"];
        assert_eq!(words, expected);
    }
}
