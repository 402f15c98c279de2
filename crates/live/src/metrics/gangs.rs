//! What is counted of gangs, by namespace. Namespaces come and go: the series of one that is gone
//! are dropped, and of very many at a time most share one series.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::PoisonError;

use model::{GpuRoom, ROOM_SIZES};

use super::labels::{GangPlan, GangResult, Labels, Word};
use super::{Metrics, set};

/// Namespaces that have series of their own.
const NAMESPACES_MAX: usize = 1_000;
/// What stands for all others. No namespace has such a name.
const OTHERS: &str = "<other>";

impl Metrics {
    /// A gang came to this.
    pub(crate) fn gang(&self, namespace: &str, result: GangResult) {
        let namespace = self.gang_namespace(namespace);
        self.gangs.get_or_create(&labels(namespace, result)).inc();
    }

    /// From the first pod of a gang in the queue to enough of them on nodes it took this long.
    pub(crate) fn gang_wait(&self, seconds: f64) {
        self.gang_wait.observe(seconds);
    }

    /// It was tried to place the pods of a gang together, which took this long.
    pub(crate) fn gang_plan(&self, namespace: &str, plan: GangPlan, seconds: f64) {
        let namespace = self.gang_namespace(namespace);
        self.gang_attempts.get_or_create(&labels(namespace, plan)).inc();
        self.gang_plan.observe(seconds);
    }

    /// So many gangs have fewer pods on nodes than they need.
    pub(crate) fn gangs_waiting(&self, count: usize) {
        set(&self.gangs_waiting, count);
    }

    /// So many jobs of several GPUs would fit now.
    pub(crate) fn gpu_room(&self, room: &GpuRoom) {
        let of =
            [("gpus", room.gpus), ("nodes", room.nodes), ("nodes-of-rack", room.nodes_of_rack)];
        for (what, counts) in of {
            for (count, size) in counts.into_iter().zip(ROOM_SIZES) {
                let labels = [("of", what.into()), ("size", size.to_string().into())];
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                self.gpu_room.get_or_create(&labels).set(count);
            }
        }
    }

    /// A namespace is gone.
    pub(crate) fn forget_namespace(&self, namespace: &str) {
        let mut known = self.gang_namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if known.remove(namespace) {
            self.drop_series(namespace);
        }
    }

    /// These are all namespaces that there are.
    pub(crate) fn keep_namespaces(&self, present: &BTreeSet<Box<str>>) {
        let mut known = self.gang_namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = known.extract_if(.., |namespace| !present.contains(namespace));
        gone.for_each(|namespace| self.drop_series(&namespace));
    }

    fn drop_series(&self, namespace: &str) {
        let of = |result: &'static str| words(namespace.to_owned().into(), result);
        for result in GangResult::WORDS {
            self.gangs.remove(&of(result));
        }
        for result in GangPlan::WORDS {
            self.gang_attempts.remove(&of(result));
        }
    }

    /// The name under which a namespace is counted.
    fn gang_namespace(&self, namespace: &str) -> Cow<'static, str> {
        let mut known = self.gang_namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(namespace) {
            if known.len() >= NAMESPACES_MAX {
                return OTHERS.into();
            }
            known.insert(namespace.into());
        }
        namespace.to_owned().into()
    }
}

fn labels<T: Word>(namespace: Cow<'static, str>, result: T) -> Labels<2> {
    words(namespace, T::WORDS[result.position()])
}

fn words(namespace: Cow<'static, str>, result: &'static str) -> Labels<2> {
    [("namespace", namespace), ("result", result.into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let is_gang = |line: &&str| line.contains("namespace=");
        text.lines().filter(is_gang).map(Into::into).collect()
    }

    #[test]
    fn series_of_namespaces_that_are_gone_are_dropped() {
        let metrics = Metrics::new(["a"], "host", "lease");
        for namespace in ["one", "two", "three"] {
            metrics.gang(namespace, GangResult::Scheduled);
            metrics.gang(namespace, GangResult::Degraded);
            metrics.gang_plan(namespace, GangPlan::Placed, 0.1);
        }
        assert_eq!(lines(&metrics).len(), 9);
        metrics.forget_namespace("one");
        metrics.forget_namespace("never-seen");
        assert!(lines(&metrics).iter().all(|line| !line.contains("\"one\"")));
        assert_eq!(lines(&metrics).len(), 6);
        metrics.keep_namespaces(&BTreeSet::from(["three".into(), "four".into()]));
        assert_eq!(lines(&metrics).len(), 3);
        assert!(lines(&metrics).iter().all(|line| line.contains("\"three\"")));
        // One that comes back counts from nothing.
        metrics.gang("one", GangResult::Scheduled);
        let line = "kubenexus_gangs_total{namespace=\"one\",result=\"scheduled\"} 1";
        assert!(lines(&metrics).iter().any(|it| it == line));
    }

    #[test]
    fn very_many_namespaces_share_one_series() {
        let metrics = Metrics::new(["a"], "host", "lease");
        for at in 0..NAMESPACES_MAX + 5 {
            metrics.gang(&format!("team-{at}"), GangResult::Scheduled);
        }
        assert_eq!(lines(&metrics).len(), NAMESPACES_MAX + 1);
        let line = "kubenexus_gangs_total{namespace=\"<other>\",result=\"scheduled\"} 5";
        assert!(lines(&metrics).iter().any(|it| it == line));
        metrics.forget_namespace("team-3");
        metrics.gang("late", GangResult::Scheduled);
        assert!(lines(&metrics).iter().any(|it| it.contains("\"late\"")));
    }
}
