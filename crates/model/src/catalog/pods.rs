//! The table of pods.
//!
//! ```text
//!            place             the watch says so
//! Waiting ────────▶ Assumed ────────────────────▶ Bound ───▶ (gone)
//!    ▲                 │                            ▲
//!    └─────────────────┘                            │
//!      the bind was refused          Waiting ───────┘  somebody else placed it
//! ```
//!
//! An assumed pod takes its place on the node at once and keeps it until the API says otherwise;
//! it never expires by time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::decision::Attempt;
use crate::event::{Eligible, PodFacts, PodKey, PodRest};
use crate::gang::GangClaim;
use crate::ids::{ClassId, GangId, NodeId, PodId, TagsId};
use crate::map::{Table, hash_of};
use crate::symbol::Symbol;

/// Where a pod is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// On no node.
    Waiting,
    /// We sent it to a node and have not heard back.
    Assumed(NodeId, Attempt),
    /// The API says it is on a node.
    Bound(NodeId),
}

impl PodState {
    /// The node it takes room on.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Waiting => None,
            Self::Assumed(node, _) | Self::Bound(node) => Some(node),
        }
    }
}

/// One pod.
#[derive(Debug)]
pub struct Pod {
    /// Its names.
    pub key: PodKey,
    /// What decides where it may go.
    pub class: ClassId,
    /// What rules of other pods know it by.
    pub tags: TagsId,
    /// The node that is proposed for it, by name.
    pub nominated: Option<Symbol>,
    /// What the API said last about that. It may be behind.
    pub nominated_by_api: Option<Symbol>,
    /// Whether we want it to go, and the API has not said yet that it goes.
    pub is_evicted: bool,
    /// What is its own, as the API has it.
    pub rest: PodRest,
    /// What it says of its gang.
    pub claim: Option<Arc<GangClaim>>,
    /// Its gang, unless it is being deleted.
    pub gang: Option<GangId>,
    /// Where it is on its way.
    pub state: PodState,
    /// Its place among the pods on nodes with the same tags, while it is on one.
    pub among_like: u32,
}

/// What a pod is to its node and to other pods, or room that is kept for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The pod; none if it does not exist yet.
    pub pod: Option<PodId>,
    /// What it takes, and its rules about others.
    pub class: ClassId,
    /// What rules of others know it by.
    pub tags: TagsId,
    /// Whether it is being deleted.
    pub is_leaving: bool,
    /// Whether it is a hold for a pod that does not exist yet: it takes room, and rules about
    /// others do not mean it.
    pub is_hold: bool,
}

impl Pod {
    /// Since when it can be placed, in seconds since 1970, if that is known.
    #[must_use]
    pub fn eligible_since(&self) -> Option<i64> {
        match self.rest.eligible {
            Eligible::Created => Some(self.rest.created).filter(|created| *created > 0),
            Eligible::Ungated => None,
            Eligible::Since(seconds) => Some(i64::from(seconds)),
        }
    }

    /// Whether it makes others of its gang when it runs.
    #[must_use]
    pub fn makes_others(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.makes_others())
    }

    /// What it is, or would be, on a node; `id` is its own.
    #[must_use]
    pub fn occupant(&self, id: PodId) -> Occupant {
        let (class, tags, is_leaving) = (self.class, self.tags, self.rest.is_terminating);
        Occupant { pod: Some(id), class, tags, is_leaving, is_hold: false }
    }
}

/// All pods that are not finished.
#[derive(Default)]
pub(super) struct Pods {
    rows: Vec<Option<Pod>>,
    free: Vec<PodId>,
    by_uid: Table<PodId>,
    /// How many pods on nodes have which priority.
    placed: BTreeMap<i32, usize>,
    /// The pods on each node, in no order.
    on_node: Vec<Vec<PodId>>,
    /// The pods on nodes by their tags, in no order.
    by_tags: Vec<Vec<PodId>>,
    /// Waiting pods by the name of the node that is proposed for them.
    nominations: BTreeMap<Symbol, Vec<PodId>>,
    /// Pods for which another node may be proposed than before, or which may be others to it.
    reproposed: Vec<PodId>,
    /// How often others were to be evicted for whom, where that was so.
    plans: BTreeMap<PodId, u32>,
    /// For whom they were more than once.
    vain: BTreeSet<PodId>,
}

impl Pods {
    pub(super) fn find(&self, uid: &str) -> Option<PodId> {
        self.by_uid.find(hash_of(uid), |id| &*self.get(*id).key.uid == uid).copied()
    }

    pub(super) fn get(&self, id: PodId) -> &Pod {
        self.rows[id.index()].as_ref().expect("a pod that is named is there")
    }

    pub(super) fn count(&self) -> usize {
        self.by_uid.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = PodId> {
        let is_there = |at: &usize| self.rows[*at].is_some();
        (0..self.rows.len()).filter(is_there).map(PodId::at)
    }

    pub(super) fn on_node(&self, node: NodeId) -> &[PodId] {
        self.on_node.get(node.index()).map_or(&[], |pods| pods)
    }

    pub(super) fn nominated_to(&self, node: Symbol) -> &[PodId] {
        self.nominations.get(&node).map_or(&[], |pods| pods)
    }

    /// Notes that a node came, or went.
    pub(super) fn note_node(&mut self, node: Symbol) {
        self.reproposed.extend(self.nominations.get(&node).into_iter().flatten());
    }

    pub(super) fn take_reproposed(&mut self) -> Vec<PodId> {
        std::mem::take(&mut self.reproposed)
    }

    pub(super) fn add(
        &mut self,
        facts: &PodFacts,
        class: ClassId,
        tags: TagsId,
        nominated: Option<Symbol>,
    ) -> PodId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            PodId::at(self.rows.len() - 1)
        });
        self.rows[id.index()] = Some(Pod {
            key: facts.key.clone(),
            class,
            tags,
            rest: facts.rest.clone(),
            nominated,
            nominated_by_api: nominated,
            is_evicted: false,
            claim: None,
            gang: None,
            state: PodState::Waiting,
            among_like: 0,
        });
        self.list_nomination(id);
        let rows = &self.rows;
        let rehash = |id: &PodId| rows[id.index()].as_ref().map_or(0, |pod| hash_of(&*pod.key.uid));
        self.by_uid.insert_unique(hash_of(&*facts.key.uid), id, rehash);
        id
    }

    /// Takes in what changed and returns the class and the tags the pod had before.
    pub(super) fn update(
        &mut self,
        id: PodId,
        facts: &PodFacts,
        (class, tags): (ClassId, TagsId),
    ) -> (ClassId, TagsId) {
        let pod = self.row(id);
        let priority = pod.rest.priority;
        let is_placed = pod.state.node().is_some();
        if pod.key != facts.key {
            pod.key = facts.key.clone();
        }
        pod.rest.clone_from(&facts.rest);
        pod.is_evicted &= !facts.rest.is_terminating;
        let before = (pod.class, pod.tags);
        pod.class = class;
        if is_placed && before.1 != tags {
            self.unlist_like(id);
            self.row(id).tags = tags;
            self.list_like(id);
        }
        self.row(id).tags = tags;
        if self.awaited(id).is_some() {
            self.reproposed.push(id);
        }
        if is_placed && priority != facts.rest.priority {
            self.count_placed(priority, false);
            self.count_placed(facts.rest.priority, true);
        }
        before
    }

    pub(super) fn set_state(&mut self, id: PodId, state: PodState) {
        self.unlist_nomination(id);
        let pod = self.row(id);
        let priority = pod.rest.priority;
        let before = std::mem::replace(&mut pod.state, state).node();
        let after = state.node();
        self.list_nomination(id);
        if before == after {
            return;
        }
        if before.is_some() {
            self.unlist_like(id);
        }
        if after.is_some() {
            self.list_like(id);
        }
        if let Some(node) = before {
            self.count_placed(priority, false);
            let pods = &mut self.on_node[node.index()];
            let at = pods.iter().position(|pod| *pod == id);
            pods.swap_remove(at.expect("a pod that leaves a node was listed there"));
        }
        if let Some(node) = after {
            self.count_placed(priority, true);
            if self.on_node.len() <= node.index() {
                self.on_node.resize_with(node.index() + 1, Vec::new);
            }
            self.on_node[node.index()].push(id);
        }
    }

    /// The pods on nodes with these tags, in no order.
    pub(super) fn like(&self, tags: TagsId) -> &[PodId] {
        self.by_tags.get(tags.index()).map_or(&[], |pods| pods)
    }

    fn list_like(&mut self, id: PodId) {
        let at = self.get(id).tags.index();
        if self.by_tags.len() <= at {
            self.by_tags.resize_with(at + 1, Vec::new);
        }
        let place = self.by_tags[at].len();
        self.by_tags[at].push(id);
        self.row(id).among_like = u32::try_from(place).expect("pods are counted in 32 bits");
    }

    fn unlist_like(&mut self, id: PodId) {
        let Pod { tags, among_like, .. } = *self.get(id);
        let pods = &mut self.by_tags[tags.index()];
        pods.swap_remove(among_like as usize);
        match pods.get(among_like as usize).copied() {
            Some(moved) => self.row(moved).among_like = among_like,
            None if pods.is_empty() => *pods = Vec::new(),
            None => {}
        }
    }

    /// Proposes another node for a pod, or none; tells which one was before.
    pub(super) fn nominate(&mut self, id: PodId, node: Option<Symbol>) -> Option<Symbol> {
        self.unlist_nomination(id);
        let before = std::mem::replace(&mut self.row(id).nominated, node);
        self.list_nomination(id);
        before
    }

    /// Notes what the API says is proposed; tells what it said before.
    pub(super) fn set_nominated_by_api(
        &mut self,
        id: PodId,
        node: Option<Symbol>,
    ) -> Option<Symbol> {
        std::mem::replace(&mut self.row(id).nominated_by_api, node)
    }

    /// Notes what a pod says of its gang, and which one that is.
    pub(super) fn set_gang(
        &mut self,
        id: PodId,
        claim: Option<Arc<GangClaim>>,
        gang: Option<GangId>,
    ) {
        let pod = self.row(id);
        (pod.claim, pod.gang) = (claim, gang);
    }

    pub(super) fn set_plans(&mut self, id: PodId, plans: u32) {
        match plans {
            0 => _ = self.plans.remove(&id),
            _ => _ = self.plans.insert(id, plans),
        }
        match plans {
            0 | 1 => _ = self.vain.remove(&id),
            _ => _ = self.vain.insert(id),
        }
    }

    pub(super) fn plans(&self, id: PodId) -> u32 {
        self.plans.get(&id).copied().unwrap_or(0)
    }

    /// Waiting pods for which others were evicted in vain.
    pub(super) fn insisting(&self) -> impl Iterator<Item = PodId> {
        let is_waiting = |id: &PodId| self.get(*id).state == PodState::Waiting;
        self.vain.iter().copied().filter(is_waiting)
    }

    pub(super) fn set_evicted(&mut self, id: PodId, is_evicted: bool) {
        self.row(id).is_evicted = is_evicted;
    }

    /// The node a pod counts for though it is not there yet.
    pub(super) fn awaited(&self, id: PodId) -> Option<Symbol> {
        let pod = self.rows[id.index()].as_ref()?;
        pod.nominated.filter(|_| pod.state == PodState::Waiting)
    }

    fn list_nomination(&mut self, id: PodId) {
        if let Some(node) = self.awaited(id) {
            self.nominations.entry(node).or_default().push(id);
            self.reproposed.push(id);
        }
    }

    fn unlist_nomination(&mut self, id: PodId) {
        let Some(node) = self.awaited(id) else { return };
        let pods = self.nominations.get_mut(&node).expect("an awaited pod is listed");
        pods.retain(|pod| *pod != id);
        if pods.is_empty() {
            self.nominations.remove(&node);
        }
        self.reproposed.push(id);
    }

    pub(super) fn lowest_placed(&self) -> Option<i32> {
        self.placed.keys().next().copied()
    }

    /// Counts a pod of a priority that came to a node, or left it.
    fn count_placed(&mut self, priority: i32, is_placed: bool) {
        let count = self.placed.entry(priority).or_default();
        if is_placed {
            *count += 1;
            return;
        }
        *count -= 1;
        if *count == 0 {
            self.placed.remove(&priority);
        }
    }

    pub(super) fn remove(&mut self, id: PodId) -> Pod {
        let hash = hash_of(&*self.get(id).key.uid);
        let entry = self.by_uid.find_entry(hash, |other| *other == id);
        entry.expect("a pod that is there is listed").remove();
        self.unlist_nomination(id);
        self.set_plans(id, 0);
        let pod = self.rows[id.index()].take().expect("a pod that is named is there");
        assert!(pod.state.node().is_none(), "a pod leaves its node before it is forgotten");
        self.free.push(id);
        pod
    }

    fn row(&mut self, id: PodId) -> &mut Pod {
        self.rows[id.index()].as_mut().expect("a pod that is named is there")
    }
}
