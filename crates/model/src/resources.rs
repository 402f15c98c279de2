//! Resource names, and which of them count when a pod is fitted onto a node.

use crate::amounts::Amounts;
use crate::ids::ResourceId;
use crate::map::{Map, Table, hash_of};
use crate::names::is_qualified_name;

/// Numbers for resource names. A name stays for as long as somebody holds it, and until the next
/// event, since decisions speak of it. No number is given twice: whoever still has the number of a
/// name that is gone never means another one.
#[derive(Default)]
pub struct Resources {
    /// Without the fixed ones, which nobody needs to hold.
    rows: Map<ResourceId, Row>,
    by_name: Table<ResourceId>,
    given: usize,
    /// Names that nobody held at some time since they were last looked through.
    unheld: Vec<ResourceId>,
}

struct Row {
    name: Box<str>,
    holds: u32,
}

/// The names with fixed numbers.
const FIXED: [(&str, ResourceId); 3] = [
    ("cpu", ResourceId::CPU),
    ("memory", ResourceId::MEMORY),
    ("ephemeral-storage", ResourceId::EPHEMERAL),
];

impl Resources {
    /// The number of a resource name, held until [`Resources::release`].
    pub fn hold(&mut self, name: &str) -> ResourceId {
        let id = self.find(name).unwrap_or_else(|| self.add(name));
        if let Some(row) = self.rows.get_mut(&id) {
            row.holds += 1;
        }
        id
    }

    fn add(&mut self, name: &str) -> ResourceId {
        let id = ResourceId::at(FIXED.len() + self.given);
        self.given += 1;
        self.rows.insert(id, Row { name: name.into(), holds: 0 });
        let rows = &self.rows;
        let rehash = |id: &ResourceId| rows.get(id).map_or(0, |row| hash_of(&*row.name));
        self.by_name.insert_unique(hash_of(name), id, rehash);
        id
    }

    /// Gives up one hold.
    pub fn release(&mut self, id: ResourceId) {
        let Some(row) = self.rows.get_mut(&id) else { return };
        row.holds -= 1;
        if row.holds == 0 {
            self.unheld.push(id);
        }
    }

    /// Forgets the names that nobody holds.
    pub(crate) fn forget_unheld(&mut self) {
        for id in self.unheld.drain(..) {
            let Some(row) = self.rows.get(&id).filter(|row| row.holds == 0) else { continue };
            let entry = self.by_name.find_entry(hash_of(&*row.name), |other| *other == id);
            entry.expect("a name that has a number is listed").remove();
            self.rows.remove(&id);
        }
    }

    /// Gives up one hold of each name of `amounts`.
    pub(crate) fn release_all(&mut self, amounts: &Amounts<ResourceId>) {
        amounts.scalars.iter().for_each(|(resource, _)| self.release(*resource));
    }

    /// The number of a resource name, if it has one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ResourceId> {
        let is_fixed = |(fixed, _): &&(&str, ResourceId)| *fixed == name;
        let fixed = FIXED.iter().find(is_fixed).map(|(_, id)| *id);
        let is_it = |id: &ResourceId| self.rows.get(id).is_some_and(|row| &*row.name == name);
        fixed.or_else(|| self.by_name.find(hash_of(name), is_it).copied())
    }

    /// How many names are kept, the fixed ones not counted.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The name behind a number; none if it is forgotten.
    #[must_use]
    pub fn name(&self, id: ResourceId) -> Option<&str> {
        let fixed = FIXED.iter().find(|(_, fixed)| *fixed == id).map(|(name, _)| *name);
        fixed.or_else(|| self.rows.get(&id).map(|row| &*row.name))
    }
}

/// True for names that are counted one by one per node: extended resources, huge pages, resources
/// of a `kubernetes.io/` domain and attachable volumes. Other names, such as `pods`, are not.
#[must_use]
pub fn is_scalar_resource(name: &str) -> bool {
    is_extended_resource(name)
        || is_huge_page(name)
        || name.contains("kubernetes.io/")
        || name.starts_with("attachable-volumes-")
}

/// True for `hugepages-<size>`.
#[must_use]
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// True for names outside Kubernetes' own domain, such as `nvidia.com/gpu`.
#[must_use]
pub fn is_extended_resource(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    // A quota must be able to name it so.
    !is_native && !name.starts_with("requests.") && is_qualified_name(&format!("requests.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_names() {
        for name in
            ["nvidia.com/gpu", "hugepages-2Mi", "kubernetes.io/batch-cpu", "a.kubernetes.io/b"]
        {
            assert!(is_scalar_resource(name), "{name}");
        }
        for name in
            ["pods", "storage", "foo", "requests.example.com/a", "Upper.com/x", "a.com/", "/x"]
        {
            assert!(!is_scalar_resource(name), "{name}");
        }
        assert!(is_scalar_resource("attachable-volumes-aws-ebs"));
        assert!(!is_extended_resource("hugepages-2Mi"));
    }

    #[test]
    fn numbers_lead_back_to_names() {
        let mut resources = Resources::default();
        let gpu = resources.hold("nvidia.com/gpu");
        assert_eq!(resources.hold("nvidia.com/gpu"), gpu);
        assert_eq!(resources.name(gpu), Some("nvidia.com/gpu"));
        assert_eq!(resources.find("memory"), Some(ResourceId::MEMORY));
        assert_eq!(resources.hold("cpu"), ResourceId::CPU);
        assert_eq!(resources.find("other"), None);
    }

    #[test]
    fn a_name_that_nobody_holds_is_forgotten_and_its_number_is_not_given_again() {
        let mut resources = Resources::default();
        let gpu = resources.hold("nvidia.com/gpu");
        resources.hold("nvidia.com/gpu");
        resources.release(gpu);
        resources.forget_unheld();
        assert_eq!(resources.find("nvidia.com/gpu"), Some(gpu));
        resources.release(gpu);
        assert_eq!(resources.name(gpu), Some("nvidia.com/gpu"), "decisions speak of it");
        assert_eq!(resources.hold("nvidia.com/gpu"), gpu);
        resources.release(gpu);
        resources.forget_unheld();
        assert_eq!((resources.find("nvidia.com/gpu"), resources.name(gpu)), (None, None));
        assert_ne!(resources.hold("nvidia.com/gpu"), gpu);
        assert_eq!(resources.count(), 1);
        resources.release(ResourceId::CPU);
        assert_eq!(resources.name(ResourceId::CPU), Some("cpu"));
    }
}
