//! How many pods of a gang go to each node of a domain, so that they are as close to each other as
//! can be, for pods that are alike.
//!
//! Two pods are as far from each other as the level of the tightest domain that both are in: 0 on
//! one node, 1 in one domain of the tightest level, and so on. Summed over all pairs that is least
//! where the pairs that share a domain are most, weighed by the levels that this saves. Within one
//! domain of the tightest level, filling the nodes with most room first is best. Above it, for
//! every number of pods the best division among the domains inside is worked out, from the
//! tightest domains to the widest. Where that would take too many steps, the fullest domains are
//! taken first, and how far that can be from the best is told.

use std::cmp::Reverse;

use model::{FabricDomainId, NodeId, Symbol};

/// How many steps may be taken for all domains that a gang might go to.
pub(crate) const STEPS_MAX: u64 = 5_000_000;

/// A node that can take pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) node: NodeId,
    /// How many.
    pub(crate) room: u32,
    /// What each of them costs there, beside distances.
    pub(crate) cost: i64,
}

/// A domain of nodes that can take pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// How far pods are from each other that share it and nothing tighter; at least 1.
    pub(crate) level: u32,
    /// The domains inside.
    pub(crate) inside: Vec<Branch>,
    /// Nodes that are in none of these.
    pub(crate) leaves: Vec<Leaf>,
    /// How many pods all of them can take.
    pub(crate) room: u64,
    /// Which it is, and the value of its label.
    pub(crate) domain: Option<FabricDomainId>,
    pub(crate) name: Option<Symbol>,
}

/// What is good about a division: pairs that are close, by the levels that saves, then the cost,
/// less than nothing.
pub(crate) type Worth = (i64, i64);

/// Where pods go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    pub(crate) worth: Worth,
    /// What no division can exceed, in pairs; what was found if it is the best.
    pub(crate) bound: i64,
    /// Nodes in the order of domains, with how many pods go to each.
    pub(crate) nodes: Vec<(NodeId, u32)>,
}

/// Divides pods among the nodes of a sorted domain, with so many steps at most; nothing if they do
/// not fit.
pub(crate) fn divide(branch: &Branch, pods: u32, steps_left: &mut u64) -> Option<Division> {
    if branch.room < u64::from(pods) {
        return None;
    }
    let mut nodes = Vec::new();
    let steps = steps(branch, pods);
    if steps <= *steps_left {
        *steps_left -= steps;
        let solved = Solved::of(branch, pods);
        let worth = *solved.worths.get(pods as usize)?;
        solved.give(pods, &mut nodes);
        return Some(Division { worth, bound: worth.0, nodes });
    }
    let worth = fill(branch, pods, &mut nodes);
    Some(Division { worth, bound: bound(branch, pods).max(worth.0), nodes })
}

/// Sorts nodes: those with most room first, and of these the cheapest.
pub(crate) fn sort(branch: &mut Branch) {
    branch.leaves.sort_by_key(|leaf| (Reverse(leaf.room), leaf.cost, leaf.node));
    branch.inside.iter_mut().for_each(sort);
}

/// How many pairs so many pods are.
fn pairs(pods: u32) -> i64 {
    i64::from(pods) * (i64::from(pods) - 1) / 2
}

fn add(one: Worth, other: Worth) -> Worth {
    (one.0 + other.0, one.1 + other.1)
}

/// The most pods that can matter of a domain.
fn most(room: u64, pods: u32) -> u32 {
    u32::try_from(room).unwrap_or(u32::MAX).min(pods)
}

/// How many steps it takes to work out the best divisions.
fn steps(branch: &Branch, pods: u32) -> u64 {
    let own: u64 = branch.leaves.iter().map(|leaf| u64::from(leaf.room)).sum();
    let mut room = own;
    let mut steps = u64::from(most(own, pods)) + 1;
    for inside in &branch.inside {
        let merged = (u64::from(most(room, pods)) + 1) * (u64::from(most(inside.room, pods)) + 1);
        steps = steps.saturating_add(if room == 0 { 0 } else { merged });
        steps = steps.saturating_add(self::steps(inside, pods));
        room += inside.room;
    }
    steps
}

/// The best divisions of every number of pods among the parts of a domain.
struct Solved<'a> {
    worths: Vec<Worth>,
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    of: Of<'a>,
    /// How many of so many pods go to this part, the others going to those before it. Nothing if
    /// it is the first: all do.
    share: Vec<u32>,
}

enum Of<'a> {
    Nodes(Nodes<'a>),
    Inside(Solved<'a>),
}

impl<'a> Solved<'a> {
    fn of(branch: &'a Branch, pods: u32) -> Self {
        let mut solved = Self { worths: vec![(0, 0)], parts: Vec::new() };
        if !branch.leaves.is_empty() {
            let nodes = Nodes::of(&branch.leaves, branch.level);
            let most = most(nodes.room, pods);
            let worths = (0..=most).map(|pods| nodes.worth(pods)).collect();
            solved.merge(worths, Of::Nodes(nodes), pods);
        }
        for inside in &branch.inside {
            let part = Self::of(inside, pods);
            let saved = i64::from(branch.level - inside.level);
            let worth = |(pods, worth): (usize, &Worth)| {
                let pods = u32::try_from(pods).unwrap_or(u32::MAX);
                add(*worth, (saved * pairs(pods), 0))
            };
            let worths = part.worths.iter().enumerate().map(worth).collect();
            solved.merge(worths, Of::Inside(part), pods);
        }
        solved
    }

    /// Takes in one more part.
    fn merge(&mut self, worths: Vec<Worth>, of: Of<'a>, pods: u32) {
        if self.parts.is_empty() {
            self.worths = worths;
            self.parts.push(Part { of, share: Vec::new() });
            return;
        }
        let most = (self.worths.len() + worths.len() - 2).min(pods as usize);
        let mut merged = Vec::with_capacity(most + 1);
        let mut share = Vec::with_capacity(most + 1);
        for all in 0..=most {
            let from = (all + 1).saturating_sub(self.worths.len());
            let to = all.min(worths.len() - 1);
            let mut best = ((i64::MIN, i64::MIN), 0);
            for (here, worth) in worths.iter().enumerate().take(to + 1).skip(from) {
                let worth = add(self.worths[all - here], *worth);
                if worth > best.0 {
                    best = (worth, here);
                }
            }
            merged.push(best.0);
            share.push(u32::try_from(best.1).unwrap_or(u32::MAX));
        }
        self.worths = merged;
        self.parts.push(Part { of, share });
    }

    /// Tells where so many pods go.
    fn give(&self, mut pods: u32, nodes: &mut Vec<(NodeId, u32)>) {
        let mut counts = vec![0; self.parts.len()];
        for (part, count) in self.parts.iter().zip(&mut counts).rev() {
            *count = part.share.get(pods as usize).copied().unwrap_or(pods);
            pods -= *count;
        }
        for (part, count) in self.parts.iter().zip(counts) {
            match &part.of {
                Of::Nodes(of) => of.give(count, nodes),
                Of::Inside(inside) => inside.give(count, nodes),
            }
        }
    }
}

/// Nodes that share a domain and nothing tighter, those with most room first. Filling them in that
/// order leaves as many pairs as can be on one node each.
struct Nodes<'a> {
    leaves: &'a [Leaf],
    level: i64,
    /// For the first so many nodes: their room, and their worth when they are full.
    full: Vec<(u64, Worth)>,
    /// Where nodes with less room than those before begin.
    groups: Vec<usize>,
    room: u64,
}

impl<'a> Nodes<'a> {
    fn of(leaves: &'a [Leaf], level: u32) -> Self {
        let mut full = vec![(0, (0, 0))];
        let mut groups = Vec::new();
        let level = i64::from(level);
        for (at, leaf) in leaves.iter().enumerate() {
            if at == 0 || leaves[at - 1].room != leaf.room {
                groups.push(at);
            }
            let (room, worth) = full[at];
            let own = (level * pairs(leaf.room), -leaf.cost * i64::from(leaf.room));
            full.push((room + u64::from(leaf.room), add(worth, own)));
        }
        let room = full[leaves.len()].0;
        Self { leaves, level, full, groups, room }
    }

    /// How many nodes are full, and which node has the others, with how many these are.
    fn filled(&self, pods: u32) -> (usize, Option<(usize, u32)>) {
        let full = self.full.partition_point(|(room, _)| *room <= u64::from(pods)) - 1;
        let rest = u64::from(pods) - self.full[full].0;
        let rest = u32::try_from(rest).unwrap_or(u32::MAX);
        if rest == 0 {
            return (full, None);
        }
        // The cheapest of those that are left and have room: of each group the first.
        let later = self.groups.iter().copied().filter(|at| *at > full);
        let has_room = |at: &usize| self.leaves[*at].room >= rest;
        let at = [full].into_iter().chain(later).take_while(has_room);
        let at = at.min_by_key(|at| (self.leaves[*at].cost, *at));
        (full, at.map(|at| (at, rest)))
    }

    fn worth(&self, pods: u32) -> Worth {
        let (full, rest) = self.filled(pods);
        let of_rest = rest.map_or((0, 0), |(at, rest)| {
            (self.level * pairs(rest), -self.leaves[at].cost * i64::from(rest))
        });
        add(self.full[full].1, of_rest)
    }

    fn give(&self, pods: u32, nodes: &mut Vec<(NodeId, u32)>) {
        let (full, rest) = self.filled(pods);
        nodes.extend(self.leaves[..full].iter().map(|leaf| (leaf.node, leaf.room)));
        nodes.extend(rest.map(|(at, rest)| (self.leaves[at].node, rest)));
    }
}

/// Divides pods by taking the tightest part that holds all that are left, or else the largest.
fn fill(branch: &Branch, mut pods: u32, nodes: &mut Vec<(NodeId, u32)>) -> Worth {
    let of_nodes = Nodes::of(&branch.leaves, branch.level);
    // The nodes that are in no domain inside are a part like these.
    let mut parts: Vec<(u64, Option<usize>)> =
        branch.inside.iter().enumerate().map(|(at, inside)| (inside.room, Some(at))).collect();
    parts.push((of_nodes.room, None));
    parts.sort_by_key(|(room, at)| (*room, *at));
    let mut worth = (0, 0);
    while pods > 0 && !parts.is_empty() {
        let holds = parts.partition_point(|(room, _)| *room < u64::from(pods));
        let (room, part) = parts.remove(holds.min(parts.len() - 1));
        let count = most(room, pods);
        pods -= count;
        let own = match part.map(|at| &branch.inside[at]) {
            Some(inside) => {
                let saved = i64::from(branch.level - inside.level);
                add(fill(inside, count, nodes), (saved * pairs(count), 0))
            }
            None => {
                of_nodes.give(count, nodes);
                of_nodes.worth(count)
            }
        };
        worth = add(worth, own);
    }
    worth
}

/// What no division can exceed: as if at every level the largest domains could be filled, whatever
/// is around them.
fn bound(branch: &Branch, pods: u32) -> i64 {
    let mut rooms: Vec<Vec<u64>> = vec![Vec::new(); branch.level as usize];
    collect(branch, &mut rooms);
    let of_level = |rooms: &mut Vec<u64>| {
        rooms.sort_unstable_by_key(|room| Reverse(*room));
        let mut left = pods;
        let mut sum = 0;
        for room in rooms {
            let count = most(*room, left);
            sum += pairs(count);
            left -= count;
        }
        sum
    };
    rooms.iter_mut().map(of_level).sum()
}

/// Adds the room of everything inside a domain, for every level that it takes the place of.
fn collect(branch: &Branch, rooms: &mut [Vec<u64>]) {
    for leaf in &branch.leaves {
        let levels = &mut rooms[..branch.level as usize];
        levels.iter_mut().for_each(|level| level.push(leaf.room.into()));
    }
    for inside in &branch.inside {
        let levels = &mut rooms[inside.level as usize..branch.level as usize];
        levels.iter_mut().for_each(|level| level.push(inside.room));
        collect(inside, rooms);
    }
}

#[cfg(test)]
mod tests;
