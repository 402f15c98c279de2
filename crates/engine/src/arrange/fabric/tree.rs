//! The nodes that take pods of a gang, as a tree of the domains they are in.

use std::cmp::Reverse;
use std::sync::Arc;

use framework::{Network, Profile};
use model::{ClassId, Fabric, NodeId, PodId};

use super::solve::{Branch, Leaf, sort};
use super::{Candidate, Members};
use crate::arrange::Arranger;
use crate::cycle::Within;
use crate::profile_of;
use crate::trial::view;

impl Arranger<'_> {
    /// The nodes of a set that take pods of a gang, by the domains they are in.
    pub(super) fn tree(
        &mut self,
        network: &Arc<dyn Network>,
        members: &Members,
        base: &Within,
    ) -> Branch {
        let mut leaves: Vec<Leaf> = Vec::new();
        for class in members.classes.keys() {
            leaves.extend(self.leaves(network, members.pods[0], *class, base));
        }
        if members.classes.len() > 1 {
            // Of unlike pods it counts how many there is room for of the smallest.
            leaves.sort_by_key(|leaf| (leaf.node, Reverse(leaf.room)));
            leaves.dedup_by_key(|leaf| leaf.node);
        }
        tree(self.txn.catalog().fabric(network.fabric()), leaves)
    }

    /// The nodes of a set that take pods of a class, with how many and what that costs.
    fn leaves(
        &mut self,
        network: &Arc<dyn Network>,
        pod: PodId,
        class: ClassId,
        base: &Within,
    ) -> Vec<Leaf> {
        let catalog = self.txn.catalog();
        let profile = profile_of(self.profiles, catalog, class);
        let board = self.boards.of(class, profile, catalog, self.txn.usage());
        let nodes = base.nodes.as_deref().unwrap_or(catalog.nodes());
        let weight = network_weight(profile, &**network, board.per_point);
        let scores = network.scores(catalog, catalog.class(class));
        let view = view(&self.txn, catalog.pod(pod));
        let leaf = |(node, room, total): (NodeId, u32, i32)| {
            let liked = scores.as_ref().map_or(0, |score| i64::from(score(node)) * weight);
            Leaf { node, room, cost: -i64::from(total) - liked }
        };
        let rooms = board.rooms(view, nodes).into_iter();
        rooms.filter(|(node, ..)| base.avoided.binary_search(node).is_err()).map(leaf).collect()
    }
}

/// What a point of the network's score counts for in a profile, in units of totals.
fn network_weight(profile: &Profile, network: &dyn Network, per_point: i32) -> i64 {
    let ranking = profile.rankings.iter().find(|it| it.plugin.name() == network.name());
    ranking.map_or(0, |ranking| i64::from(ranking.weight) * i64::from(per_point))
}

/// Nodes by the domains they are in.
fn tree(fabric: &Fabric, leaves: Vec<Leaf>) -> Branch {
    let top = u32::try_from(fabric.levels().len() + 1).unwrap_or(u32::MAX);
    let mut root = Branch { level: top, ..Branch::default() };
    // Where each domain is in the one around it.
    let mut places: Vec<Option<usize>> = vec![None; fabric.places()];
    for leaf in leaves {
        let mut branch = &mut root;
        branch.room += u64::from(leaf.room);
        for id in fabric.path(leaf.node).iter().rev().flatten() {
            let at = *places[id.index()].get_or_insert(branch.inside.len());
            if at == branch.inside.len() {
                let domain = fabric.domain(*id);
                branch.inside.push(Branch {
                    level: u32::try_from(domain.level + 1).unwrap_or(u32::MAX),
                    domain: Some(*id),
                    name: Some(domain.value),
                    ..Branch::default()
                });
            }
            branch = &mut branch.inside[at];
            branch.room += u64::from(leaf.room);
        }
        branch.leaves.push(leaf);
    }
    sort(&mut root);
    root
}

/// The domains of a level inside a domain.
pub(super) fn at_level<'a>(
    branch: &'a Branch,
    level: u32,
    base: &'a Within,
    found: &mut Vec<Candidate<'a>>,
) {
    for inside in &branch.inside {
        if inside.level == level {
            found.push(Candidate { branch: inside, base });
        } else if inside.level > level {
            at_level(inside, level, base, found);
        }
    }
}

pub(super) fn collect(branch: &Branch, nodes: &mut Vec<NodeId>) {
    nodes.extend(branch.leaves.iter().map(|leaf| leaf.node));
    branch.inside.iter().for_each(|inside| collect(inside, nodes));
}
