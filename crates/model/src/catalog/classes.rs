//! Classes: what is worked out once for all pods with the same spec.

use crate::amounts::Requests;
use crate::catalog::compile_preferences;
use crate::ids::{ClassId, ResourceId};
use crate::map::{Table, hash_of};
use crate::resources::Resources;
use crate::selector::{Selector, WeightedTerm};
use crate::spec::{HostPort, PodSpec};
use crate::symbol::{Symbol, Symbols};
use crate::taint::Toleration;

/// A spec and everything that follows from it.
pub struct Class {
    /// The spec itself.
    pub spec: PodSpec,
    /// The one node it must go to.
    pub target: Option<Symbol>,
    /// Its namespace.
    pub namespace: Symbol,
    /// Resources by number.
    pub requests: Requests<ResourceId>,
    /// Labels its node must have.
    pub node_selector: Box<[(Symbol, Symbol)]>,
    /// Terms of which its node must match one.
    pub required: Option<Selector>,
    /// Terms that make a node better.
    pub preferred: Box<[WeightedTerm]>,
    /// Taints that do not keep it away.
    pub tolerations: Box<[Toleration<Symbol>]>,
    /// Ports of the host it occupies.
    pub ports: Box<[HostPort<Symbol>]>,
    /// Images it starts, each as often as it is named.
    pub images: Box<[Symbol]>,
    hash: u64,
    holds: u32,
    /// Told apart from an earlier class of the same id.
    generation: u32,
}

impl Class {
    fn new(spec: &PodSpec, hash: u64, symbols: &mut Symbols, resources: &mut Resources) -> Self {
        let toleration = |symbols: &mut Symbols, toleration: &Toleration<String>| Toleration {
            key: toleration.key.as_ref().map(|key| symbols.intern(key)),
            value: symbols.intern(&toleration.value),
            operator: toleration.operator,
            effect: toleration.effect,
        };
        let port = |symbols: &mut Symbols, port: &HostPort<String>| HostPort {
            address: port.address.as_ref().map(|address| symbols.intern(address)),
            protocol: port.protocol.clone(),
            port: port.port,
        };
        let pair = |symbols: &mut Symbols, (key, value): &(String, String)| {
            (symbols.intern(key), symbols.intern(value))
        };
        Self {
            spec: spec.clone(),
            target: spec.target.as_ref().map(|name| symbols.intern(name)),
            namespace: symbols.intern(&spec.namespace),
            requests: spec.requests.renamed(|name| resources.id(name)),
            node_selector: spec.node_selector.iter().map(|label| pair(symbols, label)).collect(),
            required: spec.required.as_ref().map(|terms| Selector::compile(terms, symbols)),
            preferred: compile_preferences(&spec.preferred, symbols),
            tolerations: spec.tolerations.iter().map(|t| toleration(symbols, t)).collect(),
            ports: spec.ports.iter().map(|p| port(symbols, p)).collect(),
            images: spec.images.iter().map(|image| symbols.intern(image)).collect(),
            hash,
            holds: 0,
            generation: 0,
        }
    }

    /// Differs between classes that had the same id one after the other.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

/// All classes in use, and the places of those that are not.
#[derive(Default)]
pub(super) struct Classes {
    rows: Vec<Option<Box<Class>>>,
    free: Vec<ClassId>,
    by_spec: Table<ClassId>,
    generation: u32,
}

impl Classes {
    pub(super) fn get(&self, id: ClassId) -> &Class {
        self.rows[id.index()].as_deref().expect("a class in use is there")
    }

    pub(super) fn hold(
        &mut self,
        spec: &PodSpec,
        symbols: &mut Symbols,
        resources: &mut Resources,
    ) -> ClassId {
        let hash = hash_of(spec);
        let rows = &self.rows;
        let row = |id: &ClassId| rows[id.index()].as_deref().expect("a listed class is there");
        let found = self.by_spec.find(hash, |id| row(id).hash == hash && row(id).spec == *spec);
        let id = match found {
            Some(id) => *id,
            None => self.add(Class::new(spec, hash, symbols, resources)),
        };
        self.rows[id.index()].as_mut().expect("a class in use is there").holds += 1;
        id
    }

    fn add(&mut self, mut class: Class) -> ClassId {
        self.generation = self.generation.wrapping_add(1);
        class.generation = self.generation;
        let hash = class.hash;
        let id = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            ClassId::at(self.rows.len() - 1)
        });
        self.rows[id.index()] = Some(Box::new(class));
        let rows = &self.rows;
        let rehash = |id: &ClassId| rows[id.index()].as_deref().map_or(0, |class| class.hash);
        self.by_spec.insert_unique(hash, id, rehash);
        id
    }

    pub(super) fn release(&mut self, id: ClassId) {
        let class = self.rows[id.index()].as_mut().expect("a class in use is there");
        class.holds -= 1;
        if class.holds > 0 {
            return;
        }
        let hash = class.hash;
        self.rows[id.index()] = None;
        let entry = self.by_spec.find_entry(hash, |other| *other == id);
        entry.expect("a class in use is listed").remove();
        self.free.push(id);
    }
}
