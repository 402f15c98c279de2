//! Kubelets that align pods with zones, where it is told what is inside their nodes.
//!
//! Each keeps what its pods hold, by the rules of [`model::topology`] and the truth of this world:
//! it knows nothing of what schedulers foresee. Where those rules leave it open which devices a pod
//! gets, chance decides. A pod that they refuse fails, and an agent tells schedulers later what the
//! others hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::hardware::{CpuRanges, HeldByPod, HeldDevices, HeldFacts, HeldMemory};
use model::topology::{
    DeviceOrder, DevicesTaken, Machine, PodAsk, Rejection, RejectionCause, State, Taken, predict,
};
use model::{Catalog, Millis, NodeFacts, Time};

use super::records::{JobAt, NodeAt, PodAt};
use crate::dice::{Dice, Stream};
use crate::plan::{AgentPlan, Job};

/// The shortest time between two reports about a node.
const REPORTS_EVERY: Millis = Millis::seconds(5);
/// What an agent calls CPUs and memory that it leaves out.
const CPUS: &str = "cpus";
const MEMORY: &str = "memory";

/// All kubelets of nodes of which enough is told.
pub(super) struct Kubelets {
    dice: Dice,
    /// Reads machines out of what nodes tell.
    catalog: Catalog,
    nodes: BTreeMap<NodeAt, Kubelet>,
    /// What pods of jobs ask for.
    asks: BTreeMap<JobAt, PodAsk>,
    /// How many pods were refused, by the reason that is written into their status.
    refused: BTreeMap<&'static str, u64>,
}

/// The kubelet of a node, and the agent beside it.
pub(crate) struct Kubelet {
    machine: Arc<Machine>,
    state: State,
    /// In the order in which they were admitted.
    pods: Vec<(PodAt, Taken)>,
    /// When the agent reported last, and whether it is about to.
    reported: Option<Time>,
    is_reporting: bool,
}

impl Kubelets {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed, Stream::Kubelets),
            catalog: Catalog::default(),
            nodes: BTreeMap::new(),
            asks: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, node: NodeAt) -> Option<&Kubelet> {
        self.nodes.get(&node)
    }

    pub(super) fn refused(&self) -> &BTreeMap<&'static str, u64> {
        &self.refused
    }

    pub(super) fn draw(&mut self, (low, high): (Millis, Millis)) -> Millis {
        Millis(self.dice.between(low.0, high.0))
    }

    /// Takes in what a node tells of itself. Whoever holds something there keeps what is left of
    /// it. Returns whether the node has a kubelet that it did not have before.
    pub(super) fn renew(&mut self, node: NodeAt, facts: &NodeFacts) -> bool {
        let (id, _) = self.catalog.apply_node(facts);
        // Where nobody tells how the kubelet is configured, nobody knows what it does.
        let machine = self.catalog.machine(id).filter(|machine| !machine.is_kubelet_unknown());
        let Some(machine) = machine.cloned() else {
            self.nodes.remove(&node);
            return false;
        };
        if let Some(kubelet) = self.nodes.get_mut(&node) {
            if !Arc::ptr_eq(&kubelet.machine, &machine) {
                kubelet.becomes(machine);
            }
            return false;
        }
        let state = State::new(&machine);
        let (pods, reported, is_reporting) = (Vec::new(), None, false);
        self.nodes.insert(node, Kubelet { machine, state, pods, reported, is_reporting });
        true
    }

    /// Whether a pod of a job is anything to the kubelet of a node.
    pub(super) fn is_about(&self, node: NodeAt, job: &Job) -> bool {
        let ask = job.spec.ask.as_ref().filter(|ask| !ask.is_plain());
        ask.is_some() && self.nodes.contains_key(&node)
    }

    /// Admits a pod to a node, if that is what the kubelet does.
    pub(super) fn admit(
        &mut self,
        node: NodeAt,
        pod: PodAt,
        (at, job): (JobAt, &Job),
    ) -> Result<(), Rejection> {
        let Some(ask) = job.spec.ask.as_ref() else { return Ok(()) };
        let Self { dice, catalog, nodes, asks, .. } = self;
        let Some(kubelet) = nodes.get_mut(&node).filter(|kubelet| !kubelet.has(pod)) else {
            return Ok(());
        };
        let ask = asks.entry(at).or_insert_with(|| ask.renamed(|name| catalog.resource(name)));
        kubelet.admit(dice, pod, ask)
    }

    /// Counts a pod that is refused for a reason.
    pub(super) fn count_refused(&mut self, cause: RejectionCause) {
        *self.refused.entry(cause.reason()).or_default() += 1;
    }

    /// A pod leaves a node. Returns whether it held anything.
    pub(super) fn leave(&mut self, node: NodeAt, pod: PodAt) -> bool {
        self.nodes.get_mut(&node).is_some_and(|kubelet| kubelet.leave(pod))
    }

    /// When the agent of a node reports next, if it is not about to anyway.
    pub(super) fn next_report(
        &mut self,
        node: NodeAt,
        agent: &AgentPlan,
        now: Time,
    ) -> Option<Time> {
        let kubelet = self.nodes.get_mut(&node).filter(|kubelet| !kubelet.is_reporting)?;
        kubelet.is_reporting = true;
        let earliest = kubelet.reported.map_or(now, |at| at + REPORTS_EVERY);
        let lag = self.draw(agent.lag);
        Some((now + lag).max(earliest))
    }

    /// What the agent of a node has to say, `uid` being how it names pods.
    pub(super) fn report<'a>(
        &mut self,
        node: NodeAt,
        agent: &AgentPlan,
        now: Time,
        uid: impl Fn(PodAt) -> &'a str,
    ) -> Option<HeldFacts> {
        let kubelet = self.nodes.get_mut(&node)?;
        (kubelet.is_reporting, kubelet.reported) = (false, Some(now));
        let is_told = |name: &str| !agent.leaves_out.iter().any(|out| **out == *name);
        let pods = kubelet.pods.iter().filter(|(_, taken)| !taken.is_empty());
        let held =
            pods.map(|(pod, taken)| kubelet.held(&self.catalog, uid(*pod).into(), taken, &is_told));
        let mut pods: Vec<HeldByPod> = held.collect();
        pods.sort_by(|one, other| one.uid.cmp(&other.uid));
        Some(HeldFacts { pods: pods.into(), left_out: agent.leaves_out.clone() })
    }
}

impl Kubelet {
    /// What the node is.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What is taken of it.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// What every pod holds, in the order in which they came.
    pub(crate) fn pods(&self) -> &[(PodAt, Taken)] {
        &self.pods
    }

    fn has(&self, pod: PodAt) -> bool {
        self.pods.iter().any(|(other, _)| *other == pod)
    }

    fn admit(&mut self, dice: &mut Dice, pod: PodAt, ask: &PodAsk) -> Result<(), Rejection> {
        let resources: Vec<_> = self.machine.device_resources().collect();
        let is_asked = |(_, resource): &(usize, &_)| ask.resources().any(|of| of == **resource);
        let asked = resources.iter().enumerate().filter(is_asked).map(|(at, _)| at);
        let orders: Vec<_> =
            asked.map(|at| (at, shuffled(dice, self.machine.device_count(at)))).collect();
        let (mut machine, mut state) = (self.machine.clone(), self.state.clone());
        for (at, order) in &orders {
            machine = Arc::new(machine.renumbered(*at, order));
            state.set_devices(*at, order.renumber(state.taken_devices(*at)));
        }
        let mut taken = predict(&machine, &state, ask)?;
        taken.guess = None;
        for of in &mut taken.devices {
            if let Some((_, order)) = orders.iter().find(|(at, _)| *at == of.resource) {
                of.devices = order.restore(of.devices);
            }
        }
        self.state.apply(&taken);
        self.pods.push((pod, taken));
        Ok(())
    }

    fn leave(&mut self, pod: PodAt) -> bool {
        let at = self.pods.iter().position(|(other, _)| *other == pod);
        let Some((_, taken)) = at.map(|at| self.pods.remove(at)) else { return false };
        self.state.release(&self.machine, &taken);
        !taken.is_empty()
    }

    /// The machine is another one from now on. Pods keep the CPUs and devices that are still there;
    /// of memory the kubelet starts to count anew.
    fn becomes(&mut self, machine: Arc<Machine>) {
        let before = std::mem::replace(&mut self.machine, machine);
        let resources: Vec<_> = before.device_resources().collect();
        let now: Vec<_> = self.machine.device_resources().collect();
        self.state = State::new(&self.machine);
        for (_, taken) in &mut self.pods {
            let mut kept = Taken::default();
            kept.cpus = taken.cpus.common(self.state.free_cpus());
            for DevicesTaken { resource, devices } in &taken.devices {
                let place = now.iter().position(|of| *of == resources[*resource]);
                let Some(resource) = place else { continue };
                let devices = devices & self.state.free_devices(&self.machine, resource);
                if devices != 0 {
                    kept.devices.push(DevicesTaken { resource, devices });
                }
            }
            self.state.apply(&kept);
            *taken = kept;
        }
    }

    fn held(
        &self,
        catalog: &Catalog,
        uid: Box<str>,
        taken: &Taken,
        is_told: &impl Fn(&str) -> bool,
    ) -> HeldByPod {
        let resources: Vec<_> = self.machine.device_resources().collect();
        let devices = taken.devices.iter().filter_map(|of| {
            let resource = catalog.resource_name(resources[of.resource]);
            let indices = bits(of.devices).map(Some).collect();
            is_told(resource).then(|| HeldDevices { resource: resource.into(), indices })
        });
        let memory = taken.blocks.iter().filter(|block| !block.is_init && is_told(MEMORY));
        let memory = memory.map(|block| HeldMemory {
            resource: catalog.resource_name(self.machine.memory_kinds()[block.kind]).into(),
            zones: block.zones.places().map(|at| self.machine.zone_ids()[at]).collect(),
            bytes: block.amount,
        });
        let cpus = taken.cpus.iter().filter(|_| is_told(CPUS)).map(|cpu| (cpu, cpu));
        HeldByPod {
            uid,
            devices: devices.collect(),
            cpus: CpuRanges::new(cpus.collect()).unwrap_or_default(),
            memory: memory.collect(),
        }
    }
}

/// The places of the bits that are set, lowest first.
pub(crate) fn bits(set: u128) -> impl Iterator<Item = u32> {
    (0..u128::BITS).filter(move |bit| set >> bit & 1 == 1)
}

/// Devices in a random order.
fn shuffled(dice: &mut Dice, count: u32) -> DeviceOrder {
    let count = u8::try_from(count).expect("a resource has at most 128 devices");
    let mut order: Vec<u8> = (0..count).collect();
    for last in (1..order.len()).rev() {
        // At most `last`, so it fits.
        order.swap(last, dice.between(0, last as u64) as usize);
    }
    DeviceOrder::new(order).expect("every number is there once")
}
