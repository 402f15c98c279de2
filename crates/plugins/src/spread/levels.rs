//! How levels are compared one after the other.

use framework::LevelArgs;
use model::NodeId;

use super::{BEST, Counts, Place, Spread};

/// All but those with the fewest pods get at most this part of the weight of a level.
const REST: i64 = 10;

/// The fewest and the most pods of domains that are compared with each other.
#[derive(Clone, Copy)]
struct Span {
    min: u32,
    max: u32,
}

impl Span {
    const NONE: Self = Self { min: u32::MAX, max: 0 };

    fn add(&mut self, count: u32) {
        self.min = self.min.min(count);
        self.max = self.max.max(count);
    }

    /// How good a count is, out of [`BEST`].
    fn score(self, count: u32) -> i64 {
        if count <= self.min {
            return BEST.into();
        }
        let (left, all) = (self.max - count, self.max - self.min);
        i64::from(BEST) * i64::from(left) / (REST * i64::from(all))
    }
}

/// Counts of domains, each with its rank among the different counts.
struct Ranks {
    /// By the number of the domain.
    of_domain: Vec<u32>,
    /// In order.
    counts: Vec<u32>,
}

impl Ranks {
    /// The ranks of domains, or one rank for all where the level says nothing.
    fn of(counts: &[u32], is_said: bool) -> Self {
        if !is_said {
            return Self { of_domain: vec![0; counts.len()], counts: vec![0] };
        }
        let mut sorted = counts.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let rank = |count: &u32| sorted.binary_search(count).expect("every count is listed");
        let rank = |count| u32::try_from(rank(count)).expect("fewer ranks than domains");
        Self { of_domain: counts.iter().map(rank).collect(), counts: sorted }
    }

    fn rank(&self, domain: u32) -> usize {
        self.of_domain[domain as usize] as usize
    }
}

/// What levels say of the nodes that fit.
pub(super) struct Levels<'a> {
    spread: &'a Spread,
    counts: &'a Counts,
    zones: Ranks,
    racks: Ranks,
    /// By rank of the zone and of the rack, what these score, and the hosts in them.
    cells: Vec<(i64, Span)>,
    /// The weight of hosts; nothing where they say nothing.
    host: i64,
    /// All weights that count.
    sum: i64,
}

impl<'a> Levels<'a> {
    /// Nothing if no level tells nodes apart.
    pub(super) fn of(spread: &'a Spread, counts: &'a Counts, nodes: &[NodeId]) -> Option<Self> {
        let LevelArgs { zone, rack, host } = spread.plugin.args;
        let places = || nodes.iter().map(|node| spread.places[node.index()]);
        let first = places().next()?;
        let weight = |weight: u8, is_said: bool| if is_said { i64::from(weight) } else { 0 };
        let zone = weight(zone, zone > 0 && places().any(|it| it.zone != first.zone));
        let rack = weight(rack, rack > 0 && places().any(|it| it.rack != first.rack));
        let host = weight(host, nodes.len() > 1);
        let sum = zone + rack + host;
        if sum == 0 {
            return None;
        }
        let zones = Ranks::of(&counts.zones, zone > 0);
        let racks = Ranks::of(&counts.racks, rack > 0);
        let cells = vec![(0, Span::NONE); zones.counts.len() * racks.counts.len()];
        let mut levels = Self { spread, counts, zones, racks, cells, host, sum };
        for node in nodes {
            let cell = levels.cell(levels.spread.places[node.index()]);
            levels.cells[cell].1.add(levels.counts.hosts[node.index()]);
        }
        levels.price(zone, rack);
        Some(levels)
    }

    // Hot.
    #[inline]
    fn cell(&self, place: Place) -> usize {
        self.zones.rank(place.zone) * self.racks.counts.len() + self.racks.rank(place.rack)
    }

    /// Works out what zones and racks score. Only those count that have a node.
    fn price(&mut self, zone: i64, rack: i64) {
        let is_there = |cell: &(i64, Span)| cell.1.min <= cell.1.max;
        let row = self.racks.counts.len();
        let mut of_zones = Span::NONE;
        for (cells, count) in self.cells.chunks(row).zip(&self.zones.counts) {
            if cells.iter().any(is_there) {
                of_zones.add(*count);
            }
        }
        for (cells, count) in self.cells.chunks_mut(row).zip(&self.zones.counts) {
            let mut of_racks = Span::NONE;
            let there = cells.iter().zip(&self.racks.counts).filter(|(cell, _)| is_there(cell));
            there.for_each(|(_, count)| of_racks.add(*count));
            let there = cells.iter_mut().zip(&self.racks.counts);
            for (cell, rack_count) in there.filter(|(cell, _)| is_there(cell)) {
                cell.0 = zone * of_zones.score(*count) + rack * of_racks.score(*rack_count);
            }
        }
    }

    // Hot.
    pub(super) fn score(&self, nodes: &[NodeId], out: &mut [i32]) {
        for (node, out) in nodes.iter().zip(out) {
            let (outer, hosts) = self.cells[self.cell(self.spread.places[node.index()])];
            let score = outer + self.host * hosts.score(self.counts.hosts[node.index()]);
            *out = i32::try_from(score / self.sum).expect("a mean of scores is a score");
        }
    }
}
