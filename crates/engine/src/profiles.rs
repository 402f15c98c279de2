//! What pods are, and how much sooner they go for it: worked out once per class, and again when a
//! namespace or its LocalQueues change.
//!
//! ```text
//!  a namespace changes ──▶ nothing is kept any more, and its name is noted
//!  the next step       ──▶ units of the namespaces that were noted stand where they belong now
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use framework::is_about_others;
use model::{Bond, Catalog, Class, Labels, Pod, PodFacts, PodId, Reason, Time, WorkloadProfile};

use crate::queue::Own;
use crate::{Scheduler, profile_of};

/// What is kept.
#[derive(Default)]
pub(crate) struct Profiles {
    /// By class, and in a class by bond.
    rows: Vec<[Option<Kept>; 3]>,
    /// Namespaces whose units may stand elsewhere now.
    moved: BTreeSet<Box<str>>,
}

#[derive(Clone)]
struct Kept {
    /// Of the class it is about.
    generation: u32,
    profile: Option<Arc<WorkloadProfile>>,
    boost: i32,
}

impl Scheduler {
    /// What a pod is, if a profile schedules it and classifies pods.
    #[must_use]
    pub fn profile(&self, pod: PodId) -> Option<Arc<WorkloadProfile>> {
        let pod = self.catalog.pod(pod);
        let is_ours = self.schedules(&self.catalog.class(pod.class).spec.scheduler);
        is_ours.then(|| self.classified(pod))?.profile
    }

    /// What a pod that is not in the cluster is. Nothing is changed that anyone could see.
    ///
    /// Returns nothing if no profile has the name the pod asks for, or that profile classifies
    /// nobody, or a pod has its uid.
    pub fn classify(&mut self, facts: &PodFacts) -> Option<Arc<WorkloadProfile>> {
        let is_there = self.catalog.find_pod(&facts.key.uid).is_some();
        if is_there || !self.schedules(&facts.spec.scheduler) {
            return None;
        }
        let pod = self.catalog.add_pod(&self.as_read(facts));
        self.count_crowds();
        let profile = self.profile(pod);
        self.catalog.remove_pod(pod);
        profile
    }

    /// How much sooner than others of its rank a pod goes.
    pub(crate) fn boost(&self, pod: &Pod) -> i32 {
        self.classified(pod).boost
    }

    /// Takes in the labels of a namespace: rules about pods may be about others now.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: Option<&Labels>, now: Time) {
        let was_any_tiered = self.catalog.has_tiered_namespaces();
        let is_inhabited = self.catalog.set_namespace(name, labels);
        if self.catalog.has_tiered_namespaces() != was_any_tiered {
            self.prepare_anew(now, |_| true);
        }
        if is_inhabited {
            self.reclassify(name, now);
            self.count_crowds();
            self.queue.wake(now, is_about_others, |_, _| true);
            self.queue.wake_gangs(now, |_| u64::MAX);
        }
    }

    /// Takes in that a namespace has other labels or LocalQueues, or is gone.
    pub(crate) fn reclassify(&mut self, namespace: &str, now: Time) {
        if !self.catalog.is_inhabited(namespace) {
            return;
        }
        let profiles = self.workloads.get_mut();
        profiles.rows.clear();
        profiles.moved.insert(namespace.into());
        self.prepare_anew(now, |class| class.spec.namespace == namespace);
    }

    /// What was prepared for some classes depends on what their pods are, which may be something
    /// else now: it is prepared anew, and whoever waits for that is tried again.
    fn prepare_anew(&mut self, now: Time, is_meant: impl Fn(&Class) -> bool) {
        if !self.profiles.iter().any(|profile| profile.reads_tiers) {
            return;
        }
        self.boards.expire(|class| self.catalog.find_class(class).is_some_and(&is_meant));
        let is_about_tiers = |reason: &Reason| matches!(reason, Reason::Tier(_));
        self.queue.wake(now, is_about_tiers, |class, _| is_meant(self.catalog.class(class)));
        self.queue.wake_gangs(
            now,
            |class| {
                if is_meant(self.catalog.class(class)) { u64::MAX } else { 0 }
            },
        );
    }

    /// Gives units their places anew if they are of namespaces that changed.
    pub(crate) fn restand(&mut self) {
        let moved = std::mem::take(&mut self.workloads.get_mut().moved);
        if moved.is_empty() {
            return;
        }
        for unit in self.queue.ids() {
            let is_moved = |pod: &PodId| moved.contains(&self.catalog.pod(*pod).key.namespace);
            let pods = self.queue.pods(unit);
            // All pods of a unit are of one namespace.
            if !pods.first().is_some_and(is_moved) {
                continue;
            }
            let owns: Vec<(PodId, Own)> = pods.iter().map(|pod| (*pod, self.own(*pod))).collect();
            let boosts = owns.iter().map(|(_, own)| own.standing.boost);
            self.queue.set_boost(unit, boosts.min().unwrap_or_default());
            if let Some(crew) = self.queue.crew(unit) {
                owns.into_iter().for_each(|(pod, own)| crew.set(pod, own));
            }
        }
    }

    fn classified(&self, pod: &Pod) -> Kept {
        let bond = bond(&self.catalog, pod);
        let class = self.catalog.class(pod.class);
        let rows = &mut self.workloads.borrow_mut().rows;
        if rows.len() <= pod.class.index() {
            rows.resize_with(pod.class.index() + 1, Default::default);
        }
        let slot = &mut rows[pod.class.index()][bond as usize];
        if let Some(kept) = slot.as_ref().filter(|kept| kept.generation == class.generation()) {
            return kept.clone();
        }
        let profile = profile_of(&self.profiles, &self.catalog, pod.class);
        let classifier = profile.classifier.as_ref();
        let workload = classifier.map(|each| Arc::new(each.classify(&self.catalog, class, bond)));
        let boost = profile.order.boost(&self.catalog, class, workload.as_deref());
        let kept = Kept { generation: class.generation(), profile: workload, boost };
        slot.insert(kept).clone()
    }
}

fn bond(catalog: &Catalog, pod: &Pod) -> Bond {
    match pod.gang.map(|gang| catalog.gang(gang).min()) {
        None => Bond::Alone,
        Some(0 | 1) => Bond::Loose,
        Some(2..) => Bond::Gang,
    }
}
