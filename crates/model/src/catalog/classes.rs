//! Classes: what is worked out once for all pods with the same spec.

use std::sync::Arc;

use crate::amounts::Requests;
use crate::catalog::compile_preferences;
use crate::gpu::GpuAsk;
use crate::ids::{ClassId, CrowdId, KeyId, ResourceId};
use crate::map::{Table, hash_of};
use crate::need::Need;
use crate::numa::Alignment;
use crate::resources::Resources;
use crate::selector::{Selector, WeightedTerm};
use crate::spec::{HostPort, PodSpec};
use crate::symbol::{Holder, Symbol, Symbols};
use crate::taint::Toleration;
use crate::topology::{Needs, PodAsk};

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
    /// What decides which zones of a node its pods get; nothing if they take any.
    pub alignment: Option<Arc<Alignment>>,
    /// What its pods ask of GPUs; nothing if they ask for none.
    pub gpus: Option<Arc<GpuAsk>>,
    /// What its rules about other pods are about.
    pub company: Company,
    /// Every string above, as often as it is held.
    held: Box<[Symbol]>,
    hash: u64,
    holds: u32,
    /// Told apart from an earlier class of the same id.
    generation: u32,
}

impl Class {
    /// Whether its pods have volumes that limit where they can run.
    #[must_use]
    pub fn has_volumes(&self) -> bool {
        self.spec.needs.contains(&Need::Volumes)
    }

    fn new(spec: &PodSpec, hash: u64, symbols: &mut Symbols, resources: &mut Resources) -> Self {
        let symbols = &mut Holder::new(symbols);
        let toleration = |symbols: &mut Holder<'_>, toleration: &Toleration<String>| Toleration {
            key: toleration.key.as_ref().map(|key| symbols.hold(key)),
            value: symbols.hold(&toleration.value),
            operator: toleration.operator,
            effect: toleration.effect,
        };
        let port = |symbols: &mut Holder<'_>, port: &HostPort<String>| HostPort {
            address: port.address.as_ref().map(|address| symbols.hold(address)),
            protocol: port.protocol.clone(),
            port: port.port,
        };
        let pair = |symbols: &mut Holder<'_>, (key, value): &(String, String)| {
            (symbols.hold(key), symbols.hold(value))
        };
        let ask = spec.ask.as_ref().map(|ask| ask.renamed(|name| resources.hold(name)));
        let alignment = ask.map(|ask| Arc::new(alignment(spec, ask, resources)));
        let class = Self {
            spec: spec.clone(),
            target: spec.target.as_ref().map(|name| symbols.hold(name)),
            namespace: symbols.hold(&spec.namespace),
            requests: spec.requests.renamed(|name| resources.hold(name)),
            node_selector: spec.node_selector.iter().map(|label| pair(symbols, label)).collect(),
            required: spec.required.as_ref().map(|terms| Selector::compile(terms, symbols)),
            preferred: compile_preferences(&spec.preferred, symbols),
            tolerations: spec.tolerations.iter().map(|t| toleration(symbols, t)).collect(),
            ports: spec.ports.iter().map(|p| port(symbols, p)).collect(),
            images: spec.images.iter().map(|image| symbols.hold(image)).collect(),
            alignment,
            gpus: GpuAsk::new(spec, resources).map(Arc::new),
            company: Company::default(),
            held: Box::default(),
            hash,
            holds: 0,
            generation: 0,
        };
        Self { held: symbols.take(), ..class }
    }

    /// Gives up the strings and names of a class that is gone.
    pub(super) fn release(&self, symbols: &mut Symbols, resources: &mut Resources) {
        symbols.release_all(self.held.iter().copied());
        let Requests { fit, charge, fullness } = &self.requests;
        [fit, &charge.amounts, fullness].iter().for_each(|amounts| resources.release_all(amounts));
        let asked = self.alignment.iter().flat_map(|alignment| alignment.ask.resources());
        asked.for_each(|resource| resources.release(resource));
    }

    /// Differs between classes that had the same id one after the other.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

fn alignment(spec: &PodSpec, ask: PodAsk, resources: &Resources) -> Alignment {
    let wish = spec.numa.as_deref().cloned().unwrap_or_default();
    let needs = Needs::new(&ask, |resource| {
        let is_it = |name: &String| resources.find(name) == Some(resource);
        wish.resources.as_ref().is_none_or(|listed| listed.iter().any(is_it))
    });
    Alignment { ask, needs, wish }
}

/// The rules of a class about other pods, with the crowds they speak of.
#[derive(Clone, Debug, Default)]
pub struct Company {
    /// How evenly pods are spread.
    pub spread: Box<[Spread]>,
    /// The pods that all of the terms mean, of which one must be near; and the keys of the terms.
    pub near: Option<(CrowdId, Box<[KeyId]>)>,
    /// Pods that must be far, each by the key of its term.
    pub far: Box<[(CrowdId, KeyId)]>,
    /// Pods that are preferred, or not.
    pub prefers: Box<[(i32, CrowdId, KeyId)]>,
    /// The crowds a pod of the class belongs to because of its rules.
    pub holds: Box<[CrowdId]>,
    /// Whether a selector of a term about other pods makes no sense. The list it is in is left out.
    pub is_term_broken: bool,
}

/// How evenly pods are spread over the domains of a key.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The key.
    pub key: KeyId,
    /// The pods that are counted; no pods if there is none.
    pub crowd: Option<CrowdId>,
    /// Whether every pod counts itself, though nobody else counts.
    pub is_about_all: bool,
    /// Whether its selector makes no sense.
    pub is_broken: bool,
    /// How far a domain may be above the emptiest.
    pub max_skew: i32,
    /// With fewer domains than this, the emptiest counts as empty.
    pub min_domains: i32,
    /// Whether a node that breaks it is ruled out, or only worse.
    pub is_required: bool,
    /// Whether nodes that the pod's selector and affinity exclude do not count.
    pub honours_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate do not count.
    pub honours_taints: bool,
}

impl Company {
    /// The keys of the terms about other pods: those of near, of far, then the preferred ones.
    pub(super) fn term_keys(&self) -> impl Iterator<Item = KeyId> {
        let near = self.near.iter().flat_map(|(_, keys)| keys.iter());
        let far = self.far.iter().map(|(_, key)| key);
        near.chain(far).chain(self.prefers.iter().map(|(_, _, key)| key)).copied()
    }

    /// Every key that the rules speak of, as often as they do.
    pub(super) fn keys(&self) -> impl Iterator<Item = KeyId> {
        self.spread.iter().map(|spread| spread.key).chain(self.term_keys())
    }

    /// Every crowd that the rules speak of, and those that hold them.
    pub fn crowds(&self) -> impl Iterator<Item = CrowdId> {
        let spread = self.spread.iter().filter_map(|spread| spread.crowd);
        let near = self.near.iter().map(|(crowd, _)| *crowd);
        let far = self.far.iter().map(|(crowd, _)| *crowd);
        let prefers = self.prefers.iter().map(|(_, crowd, _)| *crowd);
        spread.chain(near).chain(far).chain(prefers).chain(self.holds.iter().copied())
    }
}

impl super::Catalog {
    /// A class, if it has pods or is held.
    #[must_use]
    pub fn find_class(&self, class: ClassId) -> Option<&Class> {
        self.classes.rows.get(class.index()).and_then(|row| row.as_deref())
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

    /// The class of a spec, held once more, and whether it was just made.
    pub(super) fn hold(
        &mut self,
        spec: &PodSpec,
        symbols: &mut Symbols,
        resources: &mut Resources,
    ) -> (ClassId, bool) {
        let hash = hash_of(spec);
        let rows = &self.rows;
        let row = |id: &ClassId| rows[id.index()].as_deref().expect("a listed class is there");
        let found = self.by_spec.find(hash, |id| row(id).hash == hash && row(id).spec == *spec);
        let (id, is_made) = match found {
            Some(id) => (*id, false),
            None => (self.add(Class::new(spec, hash, symbols, resources)), true),
        };
        self.rows[id.index()].as_mut().expect("a class in use is there").holds += 1;
        (id, is_made)
    }

    pub(super) fn set_company(&mut self, id: ClassId, company: Company) {
        self.rows[id.index()].as_mut().expect("a class in use is there").company = company;
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

    /// Gives up one hold, and gives the class back with the last.
    pub(super) fn release(&mut self, id: ClassId) -> Option<Box<Class>> {
        let class = self.rows[id.index()].as_mut().expect("a class in use is there");
        class.holds -= 1;
        if class.holds > 0 {
            return None;
        }
        let hash = class.hash;
        let class = self.rows[id.index()].take();
        let entry = self.by_spec.find_entry(hash, |other| *other == id);
        entry.expect("a class in use is listed").remove();
        self.free.push(id);
        class
    }
}
