//! Units of gangs: their pods come and go, and they wait for room for any of them.

use std::sync::Arc;

use model::{ClassId, Diagnosis, GangId, Outlook, PodId, Reason, Time, UnitId};

use super::{Crew, Listed, Past, Place, Queue, Standing};

/// How many crews are kept for gangs to come.
const SPARE_CREWS_MAX: usize = 64;

impl Queue {
    /// The unit of the waiting pods of a gang.
    pub(crate) fn unit_of_gang(&self, gang: GangId) -> Option<UnitId> {
        self.by_gang.get(&gang).copied()
    }

    /// The unit of a pod that is by itself, and not in the unit of a gang, which may be gone.
    pub(crate) fn unit_alone(&self, pod: PodId) -> Option<UnitId> {
        let is_alone = |unit: &UnitId| self.gang(*unit).is_none() && self.pods(*unit).len() == 1;
        self.unit_of(pod).filter(is_alone)
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
        self.dismiss(pod);
    }

    /// Takes a pod out of its unit, which may be left with none for a moment.
    pub(crate) fn dismiss(&mut self, pod: PodId) {
        let Some(Listed { unit: id, at }) = self.by_pod.remove(&pod) else { return };
        let unit = self.unit_mut(id);
        unit.pods.swap_remove(at);
        unit.crew.iter_mut().for_each(|crew| crew.remove(pod));
        if let Some(moved) = unit.pods.get(at).copied() {
            self.by_pod.insert(moved, Listed { unit: id, at });
        }
    }

    /// Adds a pod to the unit of its gang.
    pub(crate) fn enlist(&mut self, id: UnitId, pod: PodId) {
        let unit = self.unit_mut(id);
        unit.pods.push(pod);
        let at = unit.pods.len() - 1;
        self.by_pod.insert(pod, Listed { unit: id, at });
    }

    /// What follows from the pods of a unit, if all of them wait.
    pub(crate) fn crew(&mut self, id: UnitId) -> Option<&mut Crew> {
        self.unit_mut(id).crew.as_deref_mut()
    }

    pub(crate) fn set_crew(&mut self, id: UnitId, crew: Option<Box<Crew>>) {
        let before = std::mem::replace(&mut self.unit_mut(id).crew, crew);
        if let Some(mut crew) = before.filter(|_| self.spare_crews.len() < SPARE_CREWS_MAX) {
            crew.clear();
            self.spare_crews.push(crew);
        }
    }

    /// A crew of nobody.
    pub(crate) fn new_crew(&mut self) -> Box<Crew> {
        self.spare_crews.pop().unwrap_or_default()
    }

    /// Lets a unit that is not active stand elsewhere.
    pub(crate) fn set_standing(&mut self, id: UnitId, standing: Standing) {
        self.unit_mut(id).standing = standing;
    }

    /// Notes why the gang of a unit cannot be tried, if it cannot. Once it can, it never could
    /// before.
    pub(crate) fn set_refusal(&mut self, id: UnitId, refusal: Option<Reason>) {
        let unit = self.unit_mut(id);
        if unit.refusal.is_some() && refusal.is_none() {
            unit.arrived = None;
        }
        unit.refusal = refusal;
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

    /// Wakes the gangs that found no room, if there is said to be room for pods of a class of
    /// theirs that may not have been there before, and with it as much as they are short of; and
    /// those that need room for pods which do not exist yet.
    pub(crate) fn wake_gangs(&mut self, now: Time, mut room_for: impl FnMut(ClassId) -> u64) {
        let mut woken = self.expecting.clone();
        for (class, units) in &self.gangs_by_class {
            let room = room_for(*class);
            if room == 0 {
                continue;
            }
            for id in units {
                let unit = self.units[id.index()].as_mut().expect("a unit that is listed is there");
                unit.short = unit.short.saturating_sub(room);
                if unit.short == 0 {
                    woken.insert(*id);
                }
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Notes for how many more pods there has to be room before a gang that was put aside can fit.
    pub(crate) fn set_short(&mut self, id: UnitId, short: u64) {
        self.unit_mut(id).short = short;
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
        let unit = self.unit_mut(id);
        (unit.is_expecting, unit.short) = (is_expecting, 0);
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
