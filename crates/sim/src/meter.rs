//! How full each node group is: at this moment, and on average so far.

use model::Millis;

use crate::cluster::Group;
use crate::quantities::Columns;

/// What is requested of a group and what it offers, now and summed over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) requested: Columns,
    pub(crate) offered: Columns,
    /// Amount times milliseconds; 128 bits, because bytes times a day do not fit into 64.
    pub(crate) requested_ms: [i128; 3],
    pub(crate) offered_ms: [i128; 3],
}

/// Gauges of all groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    gauges: [Gauge; Group::ALL.len()],
}

impl Meter {
    pub(crate) fn gauge(&self, group: Group) -> &Gauge {
        &self.gauges[group as usize]
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Millis) {
        for gauge in &mut self.gauges {
            sum_up(&mut gauge.requested_ms, gauge.requested, span);
            sum_up(&mut gauge.offered_ms, gauge.offered, span);
        }
    }

    /// A node appeared (`sign` 1) or disappeared (`sign` -1).
    pub(crate) fn offer(&mut self, group: Group, amounts: Columns, sign: i64) {
        add(&mut self.gauges[group as usize].offered, amounts, sign);
    }

    /// A pod took its place on a node (`sign` 1) or left it (`sign` -1).
    pub(crate) fn request(&mut self, group: Group, amounts: Columns, sign: i64) {
        add(&mut self.gauges[group as usize].requested, amounts, sign);
    }
}

fn sum_up(sums: &mut [i128; 3], now: Columns, span: Millis) {
    for (sum, amount) in sums.iter_mut().zip(now) {
        *sum += i128::from(amount) * i128::from(span.0);
    }
}

fn add(to: &mut Columns, amounts: Columns, sign: i64) {
    for (total, amount) in to.iter_mut().zip(amounts) {
        *total += sign * amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_weigh_amounts_by_time() {
        let mut meter = Meter::default();
        meter.offer(Group::Spot, [1000, 0, 4], 1);
        meter.pass(Millis(10));
        meter.request(Group::Spot, [500, 0, 2], 1);
        meter.pass(Millis(30));
        meter.request(Group::Spot, [500, 0, 2], -1);
        let gauge = meter.gauge(Group::Spot);
        assert_eq!(gauge.requested, [0, 0, 0]);
        assert_eq!((gauge.requested_ms[0], gauge.offered_ms[0]), (15_000, 40_000));
        assert_eq!((gauge.requested_ms[2], gauge.offered_ms[2]), (60, 160));
    }
}
