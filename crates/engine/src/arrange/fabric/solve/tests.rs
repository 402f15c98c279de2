//! Divisions beside the best there are, by trying everything and by tables without shortcuts.

use std::collections::BTreeMap;

use super::*;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        u32::try_from((self.0 >> 33) % u64::from(end)).expect("below an u32")
    }
}

/// A tree with about so many nodes, which take so many pods each at most.
fn tree(dice: &mut Dice, level: u32, nodes: &mut u32, room_max: u32) -> Branch {
    let mut branch = Branch { level, ..Branch::default() };
    let parts = 1 + dice.below(5);
    for _ in 0..parts {
        if *nodes == 0 {
            break;
        }
        if level > 1 && dice.below(4) > 0 {
            // A node may lack the labels of some levels.
            let tighter = 1 + dice.below(level - 1);
            let inside = tree(dice, tighter, nodes, room_max);
            branch.room += inside.room;
            branch.inside.extend((inside.room > 0).then_some(inside));
        } else {
            for _ in 0..1 + dice.below(6).min(*nodes - 1) {
                *nodes -= 1;
                let room = 1 + dice.below(room_max);
                let node = NodeId::at(*nodes as usize);
                branch.leaves.push(Leaf { node, room, cost: dice.below(4).into() });
                branch.room += u64::from(room);
            }
        }
    }
    branch
}

/// The nodes with the levels at which each pair of them meets.
fn flat(branch: &Branch) -> (Vec<Leaf>, BTreeMap<(NodeId, NodeId), i64>) {
    let (mut leaves, mut meets) = (Vec::new(), BTreeMap::new());
    let parts = branch.leaves.iter().map(|leaf| (vec![*leaf], BTreeMap::new()));
    for (own, met) in parts.chain(branch.inside.iter().map(flat)) {
        for one in &leaves {
            for other in &own {
                let (one, other): (&Leaf, &Leaf) = (one, other);
                meets.insert((one.node, other.node), i64::from(branch.level));
                meets.insert((other.node, one.node), i64::from(branch.level));
            }
        }
        leaves.extend(own);
        meets.extend(met);
    }
    (leaves, meets)
}

/// The sum of the distances of all pairs, and the cost.
fn judged(branch: &Branch, nodes: &[(NodeId, u32)]) -> (i64, i64) {
    let (leaves, meets) = flat(branch);
    let mut sum = 0;
    for (at, (one, here)) in nodes.iter().enumerate() {
        for (other, there) in &nodes[at + 1..] {
            sum += i64::from(*here) * i64::from(*there) * meets[&(*one, *other)];
        }
    }
    let leaf = |node| leaves.iter().find(|leaf| leaf.node == node).expect("a node of the tree");
    let costs = nodes.iter().map(|(node, count)| {
        assert!(*count <= leaf(*node).room, "more than there is room for");
        leaf(*node).cost * i64::from(*count)
    });
    (sum, costs.sum())
}

/// The least sum and cost there are, by trying everything.
fn least(branch: &Branch, pods: u32) -> (i64, i64) {
    fn go(
        branch: &Branch,
        left: u32,
        leaves: &[Leaf],
        taken: &mut Vec<(NodeId, u32)>,
    ) -> (i64, i64) {
        let Some((leaf, rest)) = leaves.split_first() else {
            return if left == 0 { judged(branch, taken) } else { (i64::MAX, i64::MAX) };
        };
        let mut best = (i64::MAX, i64::MAX);
        for count in 0..=leaf.room.min(left) {
            taken.push((leaf.node, count));
            best = best.min(go(branch, left - count, rest, taken));
            taken.pop();
        }
        best
    }
    let (leaves, _) = flat(branch);
    go(branch, pods, &leaves, &mut Vec::new())
}

/// The most there is for every number of pods, node by node, without any shortcut.
fn table(branch: &Branch, pods: u32) -> Vec<Worth> {
    let merge = |one: &[Worth], other: &[Worth]| -> Vec<Worth> {
        let most = (one.len() + other.len() - 2).min(pods as usize);
        let best = |all: usize| {
            let splits = (0..one.len()).filter(|here| *here <= all && all - here < other.len());
            splits.map(|here| add(one[here], other[all - here])).max()
        };
        (0..=most).map(|all| best(all).expect("both hold so many")).collect()
    };
    let level = i64::from(branch.level);
    let mut worths = vec![(0, 0)];
    for leaf in &branch.leaves {
        let own =
            (0..=leaf.room).map(|count| (level * pairs(count), -leaf.cost * i64::from(count)));
        worths = merge(&worths, &own.collect::<Vec<_>>());
    }
    for inside in &branch.inside {
        let saved = level - i64::from(inside.level);
        let own = table(inside, pods);
        let own = (0..).zip(own).map(|(count, worth)| add(worth, (saved * pairs(count), 0)));
        worths = merge(&worths, &own.collect::<Vec<_>>());
    }
    worths
}

/// What distances add up to where pairs are worth so much.
fn sum_of(branch: &Branch, pods: u32, (worth, cost): Worth) -> (i64, i64) {
    (i64::from(branch.level) * pairs(pods) - worth, -cost)
}

#[test]
fn small_trees_are_divided_as_well_as_by_trying_everything() {
    let mut dice = Dice(7);
    let mut tried = 0;
    while tried < 400 {
        let mut branch = tree(&mut dice, 3, &mut 6, 3);
        sort(&mut branch);
        let pods = 1 + dice.below(6);
        let Some(division) = divide(&branch, pods, &mut STEPS_MAX.clone()) else { continue };
        tried += 1;
        assert_eq!(division.nodes.iter().map(|(_, count)| count).sum::<u32>(), pods);
        let found = judged(&branch, &division.nodes);
        assert_eq!(found, sum_of(&branch, pods, division.worth), "{branch:?}");
        assert_eq!(found, least(&branch, pods), "{pods} in {branch:?}");
    }
}

#[test]
fn trees_of_200_nodes_are_divided_as_well_as_can_be() {
    let mut dice = Dice(11);
    let (mut tried, mut largest) = (0, 0);
    while tried < 30 {
        let mut branch = tree(&mut dice, 6, &mut 200, 8);
        sort(&mut branch);
        let pods = 2 + dice.below(127);
        let Some(division) = divide(&branch, pods, &mut STEPS_MAX.clone()) else { continue };
        (tried, largest) = (tried + 1, largest.max(flat(&branch).0.len()));
        let best = table(&branch, pods)[pods as usize];
        assert_eq!(division.worth, best, "{pods} in {branch:?}");
        let found = judged(&branch, &division.nodes);
        assert_eq!(found, sum_of(&branch, pods, best), "what is told is what is given");
    }
    assert!(largest > 100, "{largest}");
}

#[test]
fn what_takes_too_many_steps_is_filled_within_a_bound() {
    let mut dice = Dice(3);
    for _ in 0..100 {
        let mut branch = tree(&mut dice, 5, &mut 60, 8);
        sort(&mut branch);
        let pods = 1 + dice.below(most(branch.room.max(1), 200));
        if branch.room < u64::from(pods) {
            continue;
        }
        let mut nodes = Vec::new();
        let worth = fill(&branch, pods, &mut nodes);
        assert_eq!(judged(&branch, &nodes), sum_of(&branch, pods, worth));
        let best = table(&branch, pods)[pods as usize];
        assert!(worth <= best && best.0 <= bound(&branch, pods), "{worth:?} {best:?}");
    }
}
