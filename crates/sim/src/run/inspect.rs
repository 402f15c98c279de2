//! Looks at everything that schedulers keep, after every step, if that is wanted.

use framework::{Args, FabricArgs, Point, ProfileSettings};
use k8s::config::Settings;

use super::Run;
use crate::checkers::{Inspector, Kept, Networked, Violation, check_gpus};

/// The filter that asks what kubelets do with pods.
const NUMA: &str = "NUMATopology";

/// The one that asks what GPUs are.
const VRAM: &str = "VRAMScheduler";

/// The one that knows the network.
const FABRIC: &str = "NetworkFabric";

/// The profiles that ask what kubelets do with pods.
pub(super) fn aligning(settings: &Settings) -> Vec<String> {
    with_filter(settings, NUMA)
}

/// The profiles that ask what GPUs are.
pub(super) fn picky(settings: &Settings) -> Vec<String> {
    with_filter(settings, VRAM)
}

/// The profiles that spread services, with the weights that they have by default.
pub(super) fn spreading(settings: &Settings) -> Vec<String> {
    let weight = |profile: &ProfileSettings, name: &str| {
        let choice = profile.at(Point::Score).iter().find(|choice| choice.name == name);
        choice.map_or(0, |choice| choice.weight)
    };
    let is_usual = |profile: &&ProfileSettings| {
        let others = ["WorkloadAware", "ImageLocality"].map(|name| weight(profile, name));
        weight(profile, "TopologySpread") == 6
            && others == [5, 1]
            && profile.args_of("TopologySpread").is_none()
            && !avoids_accelerators(profile)
    };
    let all = settings.profiles.iter().filter(is_usual);
    all.map(|profile| profile.scheduler.clone()).collect()
}

/// Whether pods without accelerators are kept off nodes with some by more than the usual score.
fn avoids_accelerators(profile: &ProfileSettings) -> bool {
    match profile.args_of("TenantHardware") {
        Some(Args::TenantHardware(args)) => args.cpu_pod_weight > 1,
        Some(_) | None => false,
    }
}

/// The profiles that know the network, with its levels.
pub(super) fn networked(settings: &Settings) -> Vec<Networked> {
    let is_it = |profile: &&ProfileSettings| {
        let mut choices = profile.at(Point::Filter).iter().chain(profile.at(Point::PreFilter));
        choices.any(|choice| choice.name == FABRIC)
    };
    let levels = |profile: &ProfileSettings| match profile.args_of(FABRIC) {
        Some(Args::Fabric(args)) => args.levels.clone(),
        Some(_) | None => FabricArgs::default().levels,
    };
    let profiles = settings.profiles.iter().filter(is_it);
    profiles.map(|profile| (profile.scheduler.clone(), levels(profile))).collect()
}

fn with_filter(settings: &Settings, name: &str) -> Vec<String> {
    let asks = |profile: &&ProfileSettings| {
        profile.at(Point::Filter).iter().any(|choice| choice.name == name)
    };
    settings.profiles.iter().filter(asks).map(|profile| profile.scheduler.clone()).collect()
}

impl Run {
    /// Holds the scheduler to placing pods of these profiles only where kubelets admit them.
    #[cfg(test)]
    pub(crate) fn expect_alignment(&mut self) {
        self.aligning = super::names(&self.settings);
    }

    /// Takes note of what the leader knows that sends a pod to a node, if it is to be judged by it.
    pub(super) fn note_alignment(&mut self, uid: &str, node: &str) {
        if self.inspector.is_none() || self.aligning.is_empty() {
            return;
        }
        let Some(leader) = self.leader() else { return };
        let facts = leader.ledger.pod(uid).map(|known| known.facts());
        let is_ours = facts.is_some_and(|facts| self.aligning.contains(&facts.spec.scheduler));
        if is_ours {
            let mut alignment = std::mem::take(&mut self.alignment);
            if let Some(leader) = self.leader() {
                alignment.note(&leader.ledger, &leader.scheduler, uid, node);
            }
            self.alignment = alignment;
        }
    }

    /// Judges the pods that kubelets refused.
    pub(super) fn check_refusals(&mut self) -> Result<(), Violation> {
        for (pod, node) in self.world.take_refusals() {
            let Some(kubelet) = self.world.kubelet(node) else { continue };
            let (uid, facts) = (&self.world.pod(pod).key.uid, &self.world.node(node).facts);
            self.alignment.check(uid, facts, (kubelet.machine(), kubelet.state()))?;
        }
        Ok(())
    }

    /// Looks at everything that the leader keeps, at how every replica serves whom, and at what
    /// events cost every replica.
    pub(super) fn inspect(&mut self) -> Result<(), Violation> {
        if let Some(violation) = self.overworked.take() {
            return Err(violation);
        }
        let Some((id, mut inspector)) = self.inspector.take() else { return Ok(()) };
        for replica in &mut self.replicas {
            replica.tiers.check(&replica.ledger, &replica.scheduler)?;
            check_gpus(&replica.ledger, &replica.scheduler)?;
        }
        // Also across leaders, whose ledgers know nothing of each other.
        if let Some((pod, node)) = self.world.overfull() {
            let pod = self.world.pod(pod).key.name.to_string();
            let node = self.world.node(node).facts.name.clone();
            return Err(Violation::Overfull { pod, node });
        }
        let Some(leader) = self.leader() else {
            self.inspector = Some((id, inspector));
            return Ok(());
        };
        if leader.id != id {
            inspector = Inspector::default();
        }
        let now = self.world.now();
        let is_idle = leader.scheduler.next_wakeup().is_none_or(|at| at > now);
        #[cfg_attr(not(test), expect(unused_mut, reason = "only saboteurs change it"))]
        let mut kept = Kept::of(&leader.scheduler);
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.kept(&mut kept);
        }
        let leader = self.leader().expect("somebody leads");
        inspector.inspect(&leader.ledger, (&leader.scheduler, &kept), (now, is_idle))?;
        self.inspector = Some((leader.id, inspector));
        Ok(())
    }
}
