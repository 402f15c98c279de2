//! Units of gangs: their pods come and go, and they wait for room for any of them.

use std::sync::Arc;

use model::{ClassId, Diagnosis, GangId, Outlook, PodId, Reason, Time, UnitId};

use super::{Past, Place, Queue, Standing, Start};

impl Queue {
    /// The unit of the waiting pods of a gang.
    pub(crate) fn unit_of_gang(&self, gang: GangId) -> Option<UnitId> {
        self.by_gang.get(&gang).copied()
    }

    /// Notes that a gang is not there any more. Its unit may have pods that are parts of others
    /// now, or that are on their way to nodes.
    pub(crate) fn forget_gang(&mut self, gang: GangId) {
        if let Some(unit) = self.by_gang.remove(&gang) {
            self.unit_mut(unit).gang = None;
        }
    }

    /// Why the gang of a unit cannot be tried, if it cannot.
    pub(crate) fn refusal(&self, unit: UnitId) -> Option<&Reason> {
        self.unit(unit).refusal.as_ref()
    }

    /// Gives a unit of a gang other pods, another standing and another start.
    pub(crate) fn refill(
        &mut self,
        id: UnitId,
        pods: Vec<PodId>,
        standing: Standing,
        now: Time,
        start: &Start,
    ) {
        self.leave(id);
        let before = std::mem::take(&mut self.unit_mut(id).pods);
        let mut is_new = |pod: &&PodId| self.by_pod.insert(**pod, id) != Some(id);
        let new = pods.iter().filter(|pod| is_new(pod)).count();
        // Mostly pods are added, and none is to be looked for.
        if before.len() + new != pods.len() {
            for pod in before.iter().filter(|pod| !pods.contains(pod)) {
                if self.by_pod.get(pod) == Some(&id) {
                    self.by_pod.remove(pod);
                }
            }
        }
        let unit = self.unit_mut(id);
        (unit.pods, unit.standing) = (pods, standing);
        self.begin(id, now, start);
    }

    /// Takes a pod out of its unit, which is forgotten once it has none.
    pub(crate) fn take_out(&mut self, pod: PodId) {
        let Some(id) = self.unit_of(pod) else { return };
        if self.unit(id).pods.len() == 1 {
            return self.remove(id);
        }
        // It is listed under the classes of all its pods, and found no room for all of them.
        if matches!(self.unit(id).place, Place::Parked(_)) {
            self.leave(id);
        }
        self.unit_mut(id).pods.retain(|other| *other != pod);
        self.by_pod.remove(&pod);
    }

    pub(crate) fn set_refusal(&mut self, id: UnitId, refusal: Option<Reason>) {
        self.unit_mut(id).refusal = refusal;
    }

    /// The gang all of whose waiting pods a unit has.
    pub(crate) fn gang(&self, id: UnitId) -> Option<GangId> {
        self.unit(id).gang
    }

    pub(crate) fn standing(&self, id: UnitId) -> Standing {
        self.unit(id).standing
    }

    /// Lets a unit go on from where another one was.
    pub(crate) fn inherit(&mut self, id: UnitId, (failures, last_failure, arrived): Past) {
        let unit = self.unit_mut(id);
        (unit.failures, unit.last_failure) = (failures, last_failure);
        unit.arrived = arrived.or(unit.arrived);
    }

    /// What a unit has behind it.
    pub(crate) fn past(&self, id: UnitId) -> Past {
        let unit = self.unit(id);
        (unit.failures, unit.last_failure, unit.arrived)
    }

    /// How often a gang failed, and what would help it as far as that was found out.
    pub(crate) fn outlook(&self, id: UnitId) -> (u32, Outlook) {
        (self.unit(id).failures, self.unit(id).outlook.clone())
    }

    pub(crate) fn set_outlook(&mut self, id: UnitId, outlook: Outlook) {
        self.unit_mut(id).outlook = outlook;
    }

    /// Adds a pod to a unit of a gang that cannot be tried.
    pub(crate) fn push(&mut self, id: UnitId, pod: PodId, refusal: Option<Reason>) {
        let unit = self.unit_mut(id);
        unit.pods.push(pod);
        unit.refusal = refusal;
        self.by_pod.insert(pod, id);
    }

    /// Gives a unit its turn at once, wherever it is.
    pub(crate) fn activate_now(&mut self, id: UnitId, now: Time) {
        self.leave(id);
        self.activate(id, now);
    }

    /// Whether a unit waits because all nodes together had too little for its gang.
    pub(crate) fn waits_for_all(&self, id: UnitId) -> bool {
        let parked = self.unit(id).parked.as_ref();
        let rejection = parked.and_then(|(diagnosis, _)| diagnosis.rejection.as_ref());
        matches!(rejection, Some(Reason::ClusterShort { .. }))
    }

    /// Wakes the gangs that found no room, if a pod of a class of theirs is said to be helped or if
    /// they need room for pods which do not exist yet.
    pub(crate) fn wake_gangs(&mut self, now: Time, mut is_helped: impl FnMut(ClassId) -> bool) {
        let mut woken = self.expecting.clone();
        for (class, units) in &self.gangs_by_class {
            if is_helped(*class) {
                woken.extend(units);
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Puts a gang aside until something could help a class of its pods.
    pub(crate) fn park_gang(
        &mut self,
        id: UnitId,
        now: Time,
        classes: Box<[ClassId]>,
        is_expecting: bool,
        diagnosis: Arc<Diagnosis>,
    ) {
        let first = classes[0];
        self.unit_mut(id).is_expecting = is_expecting;
        self.list_gang(id, classes);
        self.put_aside(id, now, first, diagnosis);
    }

    pub(super) fn list_gang(&mut self, id: UnitId, classes: Box<[ClassId]>) {
        for class in &classes {
            self.gangs_by_class.entry(*class).or_default().insert(id);
        }
        let unit = self.unit_mut(id);
        unit.classes = classes;
        if unit.is_expecting {
            self.expecting.insert(id);
        }
    }

    pub(super) fn unlist_gang(&mut self, id: UnitId, classes: &[ClassId]) {
        self.expecting.remove(&id);
        for class in classes {
            let units = self.gangs_by_class.get_mut(class).expect("a gang is listed");
            units.remove(&id);
            if units.is_empty() {
                self.gangs_by_class.remove(class);
            }
        }
    }
}
