//! Rankings in parts of a point, and nodes that are taken only if no other fits.

use std::sync::Arc;

use framework::{
    FINE, FINE_WEIGHTS_MAX, LAST_RESORT, MAX_SCORE, Plugin, Profile, Rank, Ranking, Reach, Scores,
    View,
};
use kubenexus_engine::{Backoff, Options};
use model::{Catalog, Class, Millis, NodeId};
use proptest::prelude::*;
use testkit::{Script, default_profile};

use crate::cold_path::config;
use crate::kept_results::{check, story};

/// A ranking without sense: by the name of a node and, as far as it reaches, by its load and by how
/// many pods there are.
#[derive(Clone, Copy, Debug)]
struct Whim {
    name: &'static str,
    reach: Reach,
    is_fine: bool,
    /// How many of ten nodes are last resorts.
    last_resorts: u64,
}

impl Plugin for Whim {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Rank for Whim {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        // Nothing is said of some classes, so that some boards are counted in whole points.
        (class.spec.images.len() < 2).then(|| Box::new(*self) as _)
    }
}

impl Whim {
    fn score(&self, view: View<'_>, node: NodeId) -> i32 {
        let mut state = view.catalog.node_name(node).bytes().fold(7, |state, byte| {
            mix(state ^ u64::from(byte)) // Names tell nodes apart in every run.
        });
        if self.reach != Reach::Facts {
            let load = view.usage.load(node);
            state = mix(state ^ load.cpu.unsigned_abs());
            state = mix(state ^ self.revision(view.catalog));
        }
        if state % 10 < self.last_resorts {
            return LAST_RESORT;
        }
        // Few scores, so that there are ties, and differences below a point.
        let unit = if self.is_fine { FINE } else { 1 };
        let step = if self.is_fine { i32::try_from(state >> 60).expect("four bits") } else { 0 };
        (i32::try_from(state >> 32 & 3).expect("two bits") * 33 * unit + step).min(MAX_SCORE * unit)
    }
}

impl Scores for Whim {
    fn reach(&self) -> Reach {
        self.reach
    }

    fn is_fine(&self) -> bool {
        self.is_fine
    }

    fn revision(&self, catalog: &Catalog) -> u64 {
        if self.reach == Reach::Load { catalog.pod_count() as u64 / 4 } else { 0 }
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        nodes.iter().zip(out).for_each(|(node, out)| *out = self.score(view, *node));
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 29
}

/// A scheduler with the default profile and whims.
fn whimsical(whims: &[(Whim, i32)]) -> Script {
    let backoff = Backoff { flush: Millis::seconds(1 << 40), ..Backoff::default() };
    let options = Options { backoff, seed: 7, ..Options::default() };
    let whims = whims.iter().map(|(whim, weight)| (Arc::new(*whim) as _, *weight));
    let whims = whims.map(|(plugin, weight)| Ranking { plugin, weight });
    Script::changed(&default_profile(), options, |profile| profile.rankings.extend(whims))
}

fn whim(name: &'static str) -> impl Strategy<Value = (Whim, i32)> {
    let reach = prop_oneof![Just(Reach::Facts), Just(Reach::Load), Just(Reach::Around)];
    let heavy = i32::try_from(FINE_WEIGHTS_MAX).expect("a weight");
    let weight = prop_oneof![4 => 1..20_i32, 1 => Just(heavy), 1 => Just(-3)];
    let drawn = (reach, any::<bool>(), prop_oneof![Just(0), Just(3), Just(8)], weight);
    drawn.prop_map(move |(reach, is_fine, last_resorts, weight)| {
        (Whim { name, reach, is_fine, last_resorts }, weight)
    })
}

fn whims() -> impl Strategy<Value = Vec<(Whim, i32)>> {
    (whim("One"), whim("Other"), whim("Third"))
        .prop_map(|(one, other, third)| vec![one, other, third])
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn small_clusters_keep_fine_totals(story in story(1usize..12), whims in whims()) {
        check(&story, whimsical(&whims));
    }

    #[test]
    fn larger_clusters_keep_fine_totals(story in story(17usize..40), whims in whims()) {
        check(&story, whimsical(&whims));
    }
}

/// Scores by the first letter of a node's name; others are last resorts.
#[derive(Clone, Copy)]
struct Table(&'static [(u8, i32)]);

impl Plugin for Table {
    fn name(&self) -> &'static str {
        "Table"
    }
}

impl Rank for Table {
    fn prepare(&self, _: &Catalog, _: &Class) -> Option<Box<dyn Scores>> {
        Some(Box::new(*self))
    }
}

impl Scores for Table {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let first = |node| view.catalog.node_name(node).as_bytes()[0];
        let score = |node| self.0.iter().find(|(letter, _)| *letter == first(node));
        let score = |node| score(node).map_or(LAST_RESORT, |(_, score)| *score);
        nodes.iter().zip(out).for_each(|(node, out)| *out = score(*node));
    }
}

/// Runs a script in which nodes are ranked by tables alone, each with a weight.
fn check_tables(tables: &[(Table, i32)], lines: &[(&str, &[&str])]) {
    let rankings = tables.iter().map(|(table, weight)| (Arc::new(*table) as _, *weight));
    let rankings = rankings.map(|(plugin, weight)| Ranking { plugin, weight }).collect();
    let by_tables = |profile: &mut Profile| profile.rankings = rankings;
    let mut run = Script::changed(&default_profile(), Options::default(), by_tables);
    for (line, answers) in lines {
        assert_eq!(run.command(line), *answers, "{line}");
    }
}

#[test]
fn a_last_resort_is_taken_only_if_nothing_else_fits() {
    let (bad, good) = (Table(&[(b'a', 0)]), Table(&[(b'a', 0), (b'b', 100_000), (b'c', 40_000)]));
    check_tables(
        &[(bad, 1), (good, 100)],
        &[
            ("node a pods=1", &[]),
            ("node b pods=1", &[]),
            ("node c pods=2", &[]),
            ("node d pods=1", &[]),
            (
                "judge p",
                &[
                    "a fits Table=0 Table=0",
                    "b fits Table=0 Table=10000 as a last resort",
                    "c fits Table=0 Table=4000 as a last resort",
                    "d fits Table=0 Table=0 as a last resort",
                ],
            ),
            ("pod p1", &[]),
            ("step", &["p1 -> a"]),
            // Of several last resorts the best is taken.
            ("pod p2", &[]),
            ("step", &["p2 -> b"]),
            ("pod p3", &[]),
            ("step", &["p3 -> c"]),
            ("node a2 pods=1", &[]),
            ("pod p4", &[]),
            ("step", &["p4 -> a2"]),
            ("pod p5", &[]),
            ("step", &["p5 -> c"]),
            ("pod p6", &[]),
            ("step", &["p6 -> d"]),
        ],
    );
}

/// Unless weights leave no room for them.
#[test]
fn parts_of_a_point_decide() {
    let table = Table(&[(b'a', 50_001), (b'b', 50_000), (b'c', 50_999)]);
    let nodes = [("node a", &[][..]), ("node b", &[]), ("node c", &[])];
    let judged = |weight, answers| {
        let mut lines = nodes.to_vec();
        lines.push(("judge p", answers));
        check_tables(&[(table, weight)], &lines);
    };
    judged(2, &["a fits Table=100.002", "b fits Table=100", "c fits Table=101.998"]);
    judged(7000, &["a fits Table=350007", "b fits Table=350000", "c fits Table=356993"]);
    judged(7001, &["a fits Table=350050", "b fits Table=350050", "c fits Table=350050"]);
}
