//! Whether a gang would fit if nodes were open that a cordon or a taint closes to its pods.
//!
//! Its pods are taken for pods that tolerate everything; nothing else about them is different.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClassId, GangId, Hold, NodeId, Occupant, Operator, Outlook, PodId, PodSpec, Toleration, Txn,
};

use super::outlook::{Emptied, Shape, WORK_SOME};
use super::sizes::places;
use super::{Arranger, WORK_MAX, stand_in};
use crate::trial::view;
use crate::{Scheduler, profile_of};

/// For gangs of more classes than this it is not found out.
const CLASSES_MAX: usize = 64;
/// How many nodes are named.
const NAMES_MAX: usize = 5;

impl Scheduler {
    /// What would help a gang for which emptying nodes does not: `known` if opening some does not
    /// either. `expected` are its pods that do not exist yet, `kept` the room that is kept for it.
    pub(crate) fn outlook_opened(
        &mut self,
        gang: GangId,
        expected: &[(PodId, Occupant)],
        kept: &[Hold],
        known: Outlook,
    ) -> Outlook {
        let is_closed = |node: &NodeId| {
            let node = self.catalog.node(*node);
            node.is_closed || !node.taints.is_empty()
        };
        let is_hopeless = matches!(known, Outlook::Never | Outlook::NotFound);
        if !is_hopeless || !self.catalog.nodes().iter().any(is_closed) {
            return known;
        }
        let waiting = self.catalog.waiting_in(gang);
        let waiting = waiting.map(|pod| self.catalog.pod(pod).class);
        let classes: BTreeSet<ClassId> =
            waiting.chain(expected.iter().map(|(_, occupant)| occupant.class)).collect();
        if classes.len() > CLASSES_MAX {
            return Outlook::NotFound;
        }
        let any = Toleration {
            key: None,
            value: String::new(),
            operator: Operator::Exists,
            effect: None,
        };
        let mut opened = BTreeMap::new();
        for class in classes {
            let spec = self.catalog.class(class).spec.clone();
            let spec = PodSpec { tolerations: vec![any.clone()], ..spec };
            opened.insert(class, self.catalog.class_of(&spec));
        }
        self.count_crowds();
        let held: Vec<ClassId> = opened.values().copied().collect();
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs);
        kept.iter().for_each(|hold| arranger.txn.release(*hold));
        let expected = expected.iter().map(|(maker, occupant)| {
            (*maker, Occupant { class: opened[&occupant.class], ..*occupant })
        });
        arranger.expected = expected.collect();
        arranger.opened = opened;
        let outlook = arranger.when_open(gang);
        drop(arranger);
        held.into_iter().for_each(|class| self.catalog.release_class(class));
        match (known, outlook) {
            // What one search left open the other did not look at.
            (Outlook::NotFound, Outlook::Never) => Outlook::NotFound,
            (_, outlook) => outlook,
        }
    }
}

impl Arranger<'_> {
    /// What would help a gang whose pods are taken for others that no node is closed to.
    fn when_open(&mut self, gang: GangId) -> Outlook {
        let shapes = self.shapes(gang);
        let Some(mut nodes) = self.candidates(gang, &shapes) else { return Outlook::Never };
        let all = nodes.len();
        let closed = self.closed(&shapes);
        let mut emptied = Emptied { nodes: &mut nodes, below: None };
        let start = self.moment();
        let mut opened = self.fewest_opened(gang, &closed);
        let is_empty = opened.is_none();
        if is_empty {
            self.empty(gang, &mut emptied, 0..all);
            opened = self.fewest_opened(gang, &closed);
        }
        let Some(opened) = opened else {
            let outlook = self.hopeless(&shapes);
            self.back_to(start);
            return outlook;
        };
        self.open(&closed, opened);
        let found = self.arrange(gang, WORK_MAX);
        let used = self.places.iter().map(|(_, node)| *node);
        let used: BTreeSet<NodeId> = used.chain(self.holds.iter().map(|hold| hold.node)).collect();
        self.back_to(start);
        if found.is_err() {
            return Outlook::NotFound;
        }
        let free = if is_empty { self.enough(gang, &mut emptied).unwrap_or(all) } else { 0 };
        let catalog = self.txn.catalog();
        let names = closed.iter().filter(|node| used.contains(node));
        let mut names: Vec<Box<str>> = names.map(|node| catalog.node_name(*node).into()).collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(NAMES_MAX);
        names.truncate(NAMES_MAX);
        Outlook::WhenOpen { nodes: names.into(), more, free }
    }

    /// Nodes that are closed to pods of a gang and would have room for some if they were open and
    /// empty, those with the fewest pods first.
    fn closed(&mut self, shapes: &BTreeMap<ClassId, Shape>) -> Vec<NodeId> {
        let catalog = self.txn.catalog();
        let mut closed = BTreeSet::new();
        for (own, class) in &self.opened {
            let Some(shape) = shapes.get(class) else { continue };
            let pod = stand_in(catalog.pod(shape.of), Occupant { class: *own, ..shape.occupant });
            let profile = profile_of(self.profiles, catalog, *class);
            let board = self.boards.of(*own, profile, catalog, self.txn.usage());
            board.refresh(view(&self.txn, &pod));
            let is_shut = |node: &&NodeId| !board.is_allowed(**node);
            let shut: Vec<NodeId> = catalog.nodes().iter().filter(is_shut).copied().collect();
            let board = self.boards.of(*class, profile, catalog, self.txn.usage());
            let is_helpful =
                |node: &NodeId| board.is_allowed(*node) && places(catalog, *class, *node) > 0;
            closed.extend(shut.into_iter().filter(is_helpful));
        }
        let mut closed: Vec<NodeId> = closed.into_iter().collect();
        closed.sort_by_key(|node| (self.txn.usage().load(*node).pods, *node));
        closed
    }

    /// How many of the nodes have to be opened, in order, for a gang to fit as things are; nothing
    /// if all are not enough.
    fn fewest_opened(&mut self, gang: GangId, closed: &[NodeId]) -> Option<usize> {
        let (mut too_few, mut enough) = (0, closed.len().min(1));
        loop {
            self.open(closed, enough);
            let is_all = enough == closed.len();
            self.is_thorough = is_all;
            let fits = self.fits(gang, WORK_SOME) || is_all && self.fits(gang, WORK_MAX);
            self.is_thorough = false;
            if fits {
                break;
            }
            if is_all {
                return None;
            }
            (too_few, enough) = (enough, (enough * 2).min(closed.len()));
        }
        while too_few + 1 < enough {
            let middle = too_few.midpoint(enough);
            self.open(closed, middle);
            if self.fits(gang, WORK_SOME) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Some(enough)
    }

    /// Leaves all but the first nodes closed.
    fn open(&mut self, closed: &[NodeId], count: usize) {
        let mut avoided = closed[count..].to_vec();
        avoided.sort_unstable();
        self.within.avoided = avoided;
    }
}
