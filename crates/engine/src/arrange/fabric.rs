//! A gang as close together in the network as can be.
//!
//! From the tightest level on it is asked which domains can hold the gang; the first level that
//! has one is it. Of several domains that one is taken in which the pods would be closest to each
//! other, then cheapest, then the one that is left with least. For pods that are alike both are
//! worked out from how many of them each node has room for (see `solve`), and then all of them are
//! placed. Other gangs are placed in one domain after the other until one holds them, each filled
//! from its tightest parts on.

mod closer;
pub(crate) mod solve;
mod tree;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use framework::{Closeness, Network};
use model::{ClassId, FabricDomainId, FabricId, GangId, NodeId, PodId, PodState};

use super::{Arranger, Choice, DEEP_MAX};
use crate::cycle::Within;
use crate::profile_of;
use crate::trial::view;
use solve::{Branch, Division, Leaf, STEPS_MAX, divide};
use tree::{at_level, collect};

/// Gangs of more classes than this are placed wherever they fit, and no more are asked how close
/// they must be where one pod is added.
const CLASSES_MAX: usize = 64;
/// In how many domains of a level a gang is tried.
const TRIES_MAX: usize = 16;

/// The waiting pods of a gang.
struct Members {
    /// In the order of their ranks.
    pods: Vec<PodId>,
    /// How many there are of each class, those counted in that are yet to be made.
    classes: BTreeMap<ClassId, usize>,
    /// How many of all have to be placed.
    needed: usize,
    /// Whether they are alike, and no rule about other pods is about them.
    are_alike: bool,
    /// The network that they are placed by.
    fabric: FabricId,
}

impl Members {
    fn all(&self) -> usize {
        self.classes.values().sum()
    }
}

/// A domain that might hold a gang.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    branch: &'a Branch,
    /// The set of nodes that it is a part of.
    base: &'a Within,
}

impl Candidate<'_> {
    /// The nodes of the domain that take pods.
    fn within(&self) -> Within {
        let mut nodes = Vec::new();
        collect(self.branch, &mut nodes);
        nodes.sort_unstable();
        Within { nodes: Some(nodes.into()), avoided: self.base.avoided.clone() }
    }
}

impl Arranger<'_> {
    /// The network that a gang is planned by, and how close its pods must be.
    pub(super) fn network(&self, gang: GangId) -> Option<(Arc<dyn Network>, Closeness)> {
        let catalog = self.txn.catalog();
        let mut found: Option<(Arc<dyn Network>, Closeness)> = None;
        let all = catalog.parts_of(gang).flat_map(|part| part.classes.keys());
        let asked = if self.is_one_by_one { CLASSES_MAX } else { usize::MAX };
        for class in all.take(asked).map(|class| catalog.class(*class)) {
            let scheduler = &class.spec.scheduler;
            let ours = self.profiles.iter().find(|profile| profile.scheduler == *scheduler);
            // Pods of other schedulers say nothing to us.
            let Some(profile) = ours else { continue };
            let network = profile.network.as_ref()?;
            let closeness = network.closeness(catalog, class);
            // Those who insist on most are heard.
            let least = found.as_ref().map_or(closeness, |(_, other)| closeness.min(*other));
            found = Some((network.clone(), least));
        }
        found
    }

    /// Places a gang in one of several sets of nodes, as close together as can be; nothing if the
    /// network has no say in it, or no domain holds the gang.
    pub(super) fn in_network(
        &mut self,
        gang: GangId,
        bases: &[Within],
        limit: usize,
    ) -> Option<()> {
        let (network, closeness) = self.network(gang)?;
        let catalog = self.txn.catalog();
        if closeness == Closeness::Any || catalog.fabric(network.fabric()).is_empty() {
            return None;
        }
        let members = self.waiting_members(gang, &*network);
        let is_alone = members.all() + self.placed_in(gang) < 2;
        if is_alone || members.pods.is_empty() || members.classes.len() > CLASSES_MAX {
            return None;
        }
        let (start, work) = (self.moment(), self.work);
        let mut trees = Vec::new();
        for base in bases {
            trees.push((self.tree(&network, &members, base), base));
        }
        let most = self.most_of(gang, network.fabric());
        let levels = self.txn.catalog().fabric(network.fabric()).levels().len();
        for level in 1..=u32::try_from(levels).unwrap_or(u32::MAX) {
            let mut found = Vec::new();
            for (tree, base) in &trees {
                at_level(tree, level, base, &mut found);
            }
            if let Some(most) = &most {
                let own = most[level as usize - 1];
                found.retain(|candidate| own.is_some() && candidate.branch.domain == own);
            }
            if self.in_best(gang, &members, found, limit) {
                return Some(());
            }
            self.back_to(start);
        }
        let roots = trees.iter().map(|(branch, base)| Candidate { branch, base }).collect();
        if most.is_none() && self.in_best(gang, &members, roots, limit) {
            return Some(());
        }
        // Whoever tries without the network has as much work left as if this had not been tried.
        self.back_to(start);
        self.work = work;
        None
    }

    /// Places a gang in the best of some domains that can hold it.
    fn in_best(
        &mut self,
        gang: GangId,
        members: &Members,
        mut found: Vec<Candidate<'_>>,
        limit: usize,
    ) -> bool {
        let start = self.moment();
        found.retain(|candidate| candidate.branch.room >= members.needed as u64);
        if !members.are_alike {
            return self.in_tightest(gang, members, found, limit);
        }
        for (division, candidate) in self.ranked(members, found).into_iter().take(TRIES_MAX) {
            if self.divided(members, &division, candidate.base) {
                return true;
            }
            self.back_to(start);
            // Nodes may have less room than was counted.
            if self.members(gang, &candidate.within(), limit).is_ok() {
                return true;
            }
            self.back_to(start);
            if self.work > limit {
                break;
            }
        }
        false
    }

    /// Places a gang of unlike pods, or of gangs, in the tightest of some domains that can hold it.
    fn in_tightest(
        &mut self,
        gang: GangId,
        members: &Members,
        mut found: Vec<Candidate<'_>>,
        limit: usize,
    ) -> bool {
        let start = self.moment();
        found.sort_by_key(|candidate| candidate.branch.room);
        let mut tries = 0;
        let mut best: Option<(closer::Best, Within)> = None;
        for candidate in found {
            let within = candidate.within();
            if !self.may_hold(members, &within) {
                continue;
            }
            tries += 1;
            if tries > TRIES_MAX || self.work > limit {
                self.is_cut |= best.is_none();
                break;
            }
            if self.fill(gang, members, candidate, &within, limit) {
                // Of many pods it is not worked out: that they are in one domain is enough.
                let is_small = members.pods.len() <= DEEP_MAX;
                if !is_small {
                    self.home = Some(within);
                    return true;
                }
                let spread = self.spread(members.fabric, start.places);
                let is_better = best.as_ref().is_none_or(|((least, _), _)| spread < *least);
                if is_better {
                    best = Some(((spread, self.places[start.places..].to_vec()), within));
                }
            }
            self.back_to(start);
        }
        let Some(((_, places), within)) = best else { return false };
        places.into_iter().for_each(|(pod, node)| self.take(pod, node));
        self.home = Some(within);
        true
    }

    /// Domains that can hold alike pods, with how these are divided: those first that hold most
    /// of them, then those where they are closest to each other, then the cheapest, then those
    /// that are left with least.
    fn ranked<'a>(
        &self,
        members: &Members,
        found: Vec<Candidate<'a>>,
    ) -> Vec<(Division, Candidate<'a>)> {
        let pods = members.pods.len() as u64;
        let mut steps = STEPS_MAX;
        let divided = found.into_iter().filter_map(|candidate| {
            let count = u32::try_from(candidate.branch.room.min(pods)).unwrap_or(u32::MAX);
            Some((divide(candidate.branch, count, &mut steps)?, candidate))
        });
        let mut divided: Vec<(Division, Candidate<'_>)> = divided.collect();
        let symbols = self.txn.catalog().symbols();
        let key = |(division, candidate): &(Division, Candidate<'_>)| {
            let held = candidate.branch.room.min(pods);
            (Reverse((held, division.worth)), candidate.branch.room)
        };
        let name = |(_, candidate): &(Division, Candidate<'_>)| {
            candidate.branch.name.map(|name| symbols.text(name))
        };
        divided.sort_by(|one, other| {
            key(one).cmp(&key(other)).then_with(|| name(one).cmp(&name(other)))
        });
        divided
    }

    /// Places pods as they were divided, neighbours in rank close to each other; those for which
    /// there was no room anywhere in the set of nodes that the domain is a part of.
    fn divided(&mut self, members: &Members, division: &Division, base: &Within) -> bool {
        let mut pods = members.pods.iter();
        for (node, count) in &division.nodes {
            let here = Within { nodes: Some([*node].into()), avoided: base.avoided.clone() };
            for pod in pods.by_ref().take(*count as usize) {
                if self.seek(*pod, &here, Choice::Best).is_none() {
                    return false;
                }
                self.take(*pod, *node);
            }
        }
        let others = pods.as_slice();
        let _ = self.in_order(others, others.len(), base, Choice::Best, false);
        true
    }

    /// Places a gang of unlike pods, or of gangs, in a domain.
    fn fill(
        &mut self,
        gang: GangId,
        members: &Members,
        candidate: Candidate<'_>,
        within: &Within,
        limit: usize,
    ) -> bool {
        let start = self.moment();
        let is_composite = self.txn.catalog().gang(gang).is_composite();
        let is_placed = if is_composite {
            self.groups(gang, within, limit).is_ok()
        } else if self.packed(members, candidate, within) {
            true
        } else {
            self.back_to(start);
            let is_placed = self.members(gang, within, limit).is_ok();
            if is_placed {
                self.bring_closer(members.fabric, start.places, within);
            }
            is_placed
        };
        is_placed && self.has_room_for_expected(gang, within)
    }

    /// Places unlike pods in a domain, from its tightest parts on, if enough of them fit.
    fn packed(&mut self, members: &Members, candidate: Candidate<'_>, within: &Within) -> bool {
        let before = self.places.len();
        let catalog = self.txn.catalog();
        let mut pods = members.pods.clone();
        let size = |pod: &PodId| self.sizes.get(&self.class(catalog.pod(*pod).class)).copied();
        pods.sort_by_cached_key(|pod| Reverse(size(pod)));
        let left = self.pack(candidate.branch, pods, &candidate.base.avoided);
        let catalog = self.txn.catalog();
        let makes_others = |pod: &PodId| catalog.pod(*pod).makes_others();
        if left.len() > members.all() - members.needed || left.iter().any(makes_others) {
            return false;
        }
        self.bring_closer(members.fabric, before, within);
        let _ = self.in_order(&left, left.len(), candidate.base, Choice::Best, false);
        true
    }

    /// Places pods in the parts of a domain: in the tightest part that holds all that are left, or
    /// else in the largest. Gives back those that found no place.
    fn pack(&mut self, branch: &Branch, mut pods: Vec<PodId>, avoided: &[NodeId]) -> Vec<PodId> {
        let own: u64 = branch.leaves.iter().map(|leaf| u64::from(leaf.room)).sum();
        let inside = branch.inside.iter().map(|inside| (inside.room, Some(inside)));
        let mut parts: Vec<(u64, Option<&Branch>)> =
            inside.chain((own > 0).then_some((own, None))).collect();
        parts.sort_by_key(|(room, _)| *room);
        while !pods.is_empty() && !parts.is_empty() {
            let holds = parts.partition_point(|(room, _)| *room < pods.len() as u64);
            let (_, part) = parts.remove(holds.min(parts.len() - 1));
            pods = match part {
                Some(inside) => self.pack(inside, pods, avoided),
                None => self.pack_nodes(&branch.leaves, pods, avoided),
            };
        }
        pods
    }

    /// The same with nodes that are in no tighter domain.
    fn pack_nodes(&mut self, on: &[Leaf], mut pods: Vec<PodId>, avoided: &[NodeId]) -> Vec<PodId> {
        let mut nodes: Vec<NodeId> = on.iter().map(|leaf| leaf.node).collect();
        nodes.sort_unstable();
        let here = Within { nodes: Some(nodes.into()), avoided: avoided.into() };
        let before = self.places.len();
        let _ = self.in_order(&pods, pods.len(), &here, Choice::Best, true);
        let placed: BTreeSet<PodId> = self.places[before..].iter().map(|(pod, _)| *pod).collect();
        pods.retain(|pod| !placed.contains(pod));
        pods
    }

    /// Whether pods that do not exist yet have room in a domain, with what was placed.
    fn has_room_for_expected(&mut self, gang: GangId, within: &Within) -> bool {
        let is_part = self.txn.catalog().gang(gang).parent.is_some();
        if self.expected.is_empty() || is_part {
            return true;
        }
        let start = self.moment();
        let has_room = self.expect(gang, within).is_ok();
        self.back_to(start);
        has_room
    }

    /// Where pods may go that a running pod of a gang makes: near the others, if all have room.
    pub(super) fn within_of_placed(&mut self, gang: GangId) -> Within {
        let base = self.domains(gang, &self.within).pop().unwrap_or_default();
        let Some((network, closeness)) = self.network(gang) else { return base };
        if closeness == Closeness::Any {
            return base;
        }
        let start = self.moment();
        let most = self.most_of(gang, network.fabric()).unwrap_or_default();
        for (level, domain) in most.into_iter().enumerate().filter(|(_, domain)| domain.is_some()) {
            let catalog = self.txn.catalog();
            let fabric = catalog.fabric(network.fabric());
            let nodes = base.nodes.as_deref().unwrap_or(catalog.nodes()).iter().copied();
            let is_in = |node: &NodeId| fabric.path(*node).get(level) == Some(&domain);
            let nodes: Vec<NodeId> = nodes.filter(is_in).collect();
            let within = Within { nodes: Some(nodes.into()), avoided: base.avoided.clone() };
            let _ = self.expect(gang, &within);
            let has_all = self.holds.len() - start.holds == self.expected.len();
            self.back_to(start);
            if has_all {
                return within;
            }
        }
        base
    }

    /// The waiting pods of a gang, and of the gangs that are its parts.
    fn waiting_members(&mut self, gang: GangId, network: &dyn Network) -> Members {
        let catalog = self.txn.catalog();
        let is_waiting = |pod: &PodId| catalog.pod(*pod).state == PodState::Waiting;
        let mut pods: Vec<PodId> = catalog.waiting_in(gang).filter(is_waiting).collect();
        let rank = |pod: &PodId| {
            let labels = &catalog.tags(catalog.pod(*pod).tags).labels;
            let of = |key: &str| {
                let (_, value) = labels.iter().find(|(known, _)| **known == *key)?;
                value.parse::<u64>().ok()
            };
            let ranks: Vec<Option<u64>> = network.ranks().iter().map(|key| of(key)).collect();
            (ranks, natural(&catalog.pod(*pod).key.name))
        };
        pods.sort_by_cached_key(rank);
        let mut classes: BTreeMap<ClassId, usize> = BTreeMap::new();
        for pod in &pods {
            *classes.entry(self.class(catalog.pod(*pod).class)).or_default() += 1;
        }
        for (_, occupant) in &self.expected {
            *classes.entry(occupant.class).or_default() += 1;
        }
        let needed = self.needed(gang);
        for class in classes.keys().filter(|_| classes.len() > 1).copied().collect::<Vec<_>>() {
            if !self.sizes.contains_key(&class) {
                let size = self.size(class);
                self.sizes.insert(class, size);
            }
        }
        let row = self.txn.catalog().gang(gang);
        let is_one = classes.len() == 1 && self.expected.is_empty() && !row.is_composite();
        let makes_others = row.makers > row.makers_placed;
        let has_rules = |pod: &PodId| self.has_rules(*pod);
        let are_alike = is_one && !makes_others && !pods.first().is_some_and(has_rules);
        Members { pods, classes, needed, are_alike, fabric: network.fabric() }
    }

    /// Whether rules about other pods decide where a pod can go.
    fn has_rules(&mut self, id: PodId) -> bool {
        let catalog = self.txn.catalog();
        let pod = catalog.pod(id);
        let class = self.class(pod.class);
        let profile = profile_of(self.profiles, catalog, class);
        self.boards.prepared(class, profile, catalog).is_filtered_around(view(&self.txn, pod))
    }

    /// How many pods of a gang, and of its parts, are on nodes.
    fn placed_in(&self, gang: GangId) -> usize {
        self.txn.catalog().parts_of(gang).map(|part| part.placed as usize).sum()
    }

    /// Where most pods of a gang are that runs, for each level from the tightest on.
    fn most_of(&self, gang: GangId, fabric: FabricId) -> Option<Vec<Option<FabricDomainId>>> {
        let is_begun = self.placed_in(gang) > 0;
        is_begun.then(|| self.txn.catalog().most_of_gang(fabric, gang, super::WORK_MAX))
    }

    /// Whether a set of nodes has room for as many pods of each class as have to be there.
    fn may_hold(&mut self, members: &Members, within: &Within) -> bool {
        let spare = members.all() - members.needed;
        members.classes.iter().all(|(class, count)| {
            self.room(*class, within.nodes.as_deref()) >= count.saturating_sub(spare) as u64
        })
    }
}

/// A name with its numbers in the order of numbers.
fn natural(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[letters.len()..];
    (letters.to_owned(), number.parse().unwrap_or(0))
}
