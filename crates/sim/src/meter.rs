//! How full each pool of nodes is: at this moment, and on average so far.

use model::Millis;

use crate::quantities::{Columns, add};

/// What is requested of a pool and what it offers, now and summed over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) requested: Columns,
    pub(crate) offered: Columns,
    /// Amount times milliseconds; 128 bits, because bytes times a day do not fit into 64.
    pub(crate) requested_ms: [i128; 3],
    pub(crate) offered_ms: [i128; 3],
}

impl Gauge {
    /// The sum of two pools.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        add(&mut self.requested, other.requested, 1);
        add(&mut self.offered, other.offered, 1);
        for (sum, more) in self.requested_ms.iter_mut().zip(other.requested_ms) {
            *sum += more;
        }
        for (sum, more) in self.offered_ms.iter_mut().zip(other.offered_ms) {
            *sum += more;
        }
        self
    }
}

/// A pool of nodes, by its place in the order in which pools first appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolAt(pub(crate) usize);

/// Gauges of all pools.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    gauges: Vec<Gauge>,
}

impl Meter {
    pub(crate) fn new(pools: usize) -> Self {
        Self { gauges: vec![Gauge::default(); pools] }
    }

    pub(crate) fn gauge(&self, pool: PoolAt) -> &Gauge {
        &self.gauges[pool.0]
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Millis) {
        for gauge in &mut self.gauges {
            sum_up(&mut gauge.requested_ms, gauge.requested, span);
            sum_up(&mut gauge.offered_ms, gauge.offered, span);
        }
    }

    /// A node appeared (`sign` 1) or disappeared (`sign` -1).
    pub(crate) fn offer(&mut self, pool: PoolAt, amounts: Columns, sign: i64) {
        add(&mut self.gauges[pool.0].offered, amounts, sign);
    }

    /// A pod took its place on a node (`sign` 1) or left it (`sign` -1).
    pub(crate) fn request(&mut self, pool: PoolAt, amounts: Columns, sign: i64) {
        add(&mut self.gauges[pool.0].requested, amounts, sign);
    }
}

fn sum_up(sums: &mut [i128; 3], now: Columns, span: Millis) {
    for (sum, amount) in sums.iter_mut().zip(now) {
        *sum += i128::from(amount) * i128::from(span.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_weigh_amounts_by_time() {
        let (mut meter, pool) = (Meter::new(1), PoolAt(0));
        meter.offer(pool, [1000, 0, 4], 1);
        meter.pass(Millis(10));
        meter.request(pool, [500, 0, 2], 1);
        meter.pass(Millis(30));
        meter.request(pool, [500, 0, 2], -1);
        let gauge = meter.gauge(pool);
        assert_eq!(gauge.requested, [0, 0, 0]);
        assert_eq!((gauge.requested_ms[0], gauge.offered_ms[0]), (15_000, 40_000));
        assert_eq!((gauge.requested_ms[2], gauge.offered_ms[2]), (60, 160));
    }
}
