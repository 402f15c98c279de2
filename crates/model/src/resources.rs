//! Resource names, and which of them count when a pod is fitted onto a node.

use crate::ids::ResourceId;
use crate::names::is_qualified_name;
use crate::symbol::{Symbol, Symbols};

/// Numbers for resource names. The first three are fixed, see [`ResourceId`].
pub struct Resources {
    names: Symbols,
    count: usize,
}

impl Default for Resources {
    fn default() -> Self {
        let mut resources = Self { names: Symbols::default(), count: 0 };
        for (name, id) in [
            ("cpu", ResourceId::CPU),
            ("memory", ResourceId::MEMORY),
            ("ephemeral-storage", ResourceId::EPHEMERAL),
        ] {
            assert_eq!(resources.id(name), id, "the fixed resources come first");
        }
        resources
    }
}

impl Resources {
    /// The number of a resource name, made if it is new.
    pub fn id(&mut self, name: &str) -> ResourceId {
        if let Some(id) = self.find(name) {
            return id;
        }
        self.names.intern(name);
        self.count += 1;
        ResourceId::at(self.count - 1)
    }

    /// The number of a resource name, if it was seen before.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ResourceId> {
        self.names.find(name).map(|symbol| ResourceId::at(symbol.index()))
    }

    /// All names, by number.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        (0..self.count).map(|at| self.name(ResourceId::at(at)))
    }

    /// The name behind a number.
    #[must_use]
    pub fn name(&self, id: ResourceId) -> &str {
        self.names.text(Symbol::at(id.index()))
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
        let gpu = resources.id("nvidia.com/gpu");
        assert_eq!(resources.id("nvidia.com/gpu"), gpu);
        assert_eq!(resources.name(gpu), "nvidia.com/gpu");
        assert_eq!(resources.find("memory"), Some(ResourceId::MEMORY));
        assert_eq!(resources.find("other"), None);
    }
}
