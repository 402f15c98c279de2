//! What is written to objects about gangs.

use model::{Kind, PodGroupKind};

use super::Watched;

impl Watched {
    /// The condition by which the owners of gangs are told, if it is ours to write.
    pub(crate) fn condition(&self) -> Option<&'static str> {
        let Kind::PodGroup(sort) = self.kind else { return None };
        match sort {
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
    use super::super::OPTIONAL;

    #[test]
    fn only_what_is_ours_to_write_has_a_condition() {
        let words = OPTIONAL.each_ref().map(|each| each.condition().unwrap_or("-"));
        let started = "PodGroupInitiallyScheduled";
        let composite = "CompositePodGroupInitiallyScheduled";
        assert_eq!(words[..4], [started, started, "PodGroupScheduled", composite]);
        assert_eq!(words[4..], ["-"; 11]);
    }
}
