//! A gang has its turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{
    ClassId, Decision, Diagnosis, GangId, GangReport, GangState, Hold, Kept, NodeId, Outlook, Pod,
    PodGroupKind, PodId, Reason, Shortfall, Time, Txn, UnitId, Waiting,
};

use super::News;
use crate::Scheduler;
use crate::arrange::{Arranger, Short};

/// A gang that had its turn.
struct Tried {
    own: GangId,
    /// Room that was kept for it and is given up.
    kept: Vec<Hold>,
    /// Classes that are held for room to be kept.
    classes: Vec<ClassId>,
}

impl Scheduler {
    /// Why a unit is not looked at, if it is not.
    pub(crate) fn refusal(&self, unit: UnitId, pods: &[PodId]) -> Option<Reason> {
        let by_pods = self.refusal_by_pods(unit, pods);
        by_pods.or_else(|| self.cluster_short(self.beginning(unit, pods)?))
    }

    /// The same, as far as it does not depend on what is free.
    pub(super) fn refusal_by_pods(&self, unit: UnitId, pods: &[PodId]) -> Option<Reason> {
        let own = self.queue.refusal(unit).cloned();
        own.or_else(|| self.refusal_by_claim(self.catalog.pod(pods[0])))
    }

    /// The gang of a unit if none of its pods is on a node yet.
    pub(super) fn beginning(&self, unit: UnitId, pods: &[PodId]) -> Option<GangId> {
        let own = self.catalog.pod(pods[0]).gang;
        let row = own.map(|gang| self.catalog.gang(gang));
        let is_begun = row.is_some_and(|row| row.is_started() || row.placed > 0);
        self.queue.gang(unit).or(own).filter(|_| !is_begun)
    }

    /// Why a pod is not looked at by what it says of its gang, and of others that it waits for.
    pub(crate) fn refusal_by_claim(&self, pod: &Pod) -> Option<Reason> {
        let claim = pod.claim.as_ref()?;
        if let Some(fault) = &claim.fault {
            return Some(Reason::GangFault(fault.clone()));
        }
        if pod.gang.is_some_and(|gang| self.catalog.gang(gang).placed > 0) {
            return None;
        }
        let is_over = |name: &str| self.catalog.is_gang_over(&pod.key.namespace, name);
        let awaited = claim.after.iter().find(|name| !is_over(name))?;
        let cycle = self.cycle(&pod.key.namespace, &claim.name, awaited);
        Some(cycle.unwrap_or_else(|| Reason::After(awaited.clone())))
    }

    /// Tries to place a gang.
    pub(crate) fn attempt_gang(
        &mut self,
        unit: UnitId,
        gang: GangId,
        pods: &[PodId],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let own = self.catalog.pod(pods[0]).gang.expect("a pod of a gang");
        let (expected, classes) = self.expected(gang);
        let kept = self.give_up_holds(own, pods[0], true);
        let priority =
            pods.iter().map(|pod| self.catalog.pod(*pod).rest.priority).min().unwrap_or(0);
        let (failures, outlook) = self.queue.outlook(unit);
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs);
        arranger.expected = expected;
        kept.iter().for_each(|hold| arranger.txn.release(*hold));
        let tried = Tried { own, kept, classes };
        let Err(short) = arranger.search(gang, failures > 0) else {
            let (places, holds) = arranger.commit();
            return self.placed(unit, tried, (&places, holds), now, decisions);
        };
        // Where there is no other node, one that refused has to be asked again.
        let is_refused = pods.iter().any(|pod| self.gangs.refused.contains_key(pod));
        let (short, diagnosis, fitting) = arranger.explain(gang, short);
        let mut known = outlook;
        let is_asked = !is_refused && (failures + 1).is_power_of_two();
        if is_asked {
            known = arranger.outlook(gang, priority);
        }
        let lacking = arranger.short_of_room(gang);
        let expected = std::mem::take(&mut arranger.expected);
        drop(arranger);
        let Tried { kept, classes, .. } = tried;
        if is_asked {
            known = self.outlook_opened(gang, &expected, &kept, known);
        }
        // Volumes come and go whatever is free.
        if diagnosis.reasons().any(|reason| matches!(reason, Reason::Volume(_))) {
            known = Outlook::Unknown;
        }
        let is_expecting = !classes.is_empty();
        self.keep_on(own, kept);
        classes.into_iter().for_each(|class| self.catalog.release_class(class));
        if is_refused {
            return self.ask_again(unit, own, pods, now, decisions);
        }
        self.queue.set_outlook(unit, known.clone());
        let shortfall = Some(self.shortfall(&short, fitting, known));
        let diagnosis = Arc::new(Diagnosis { shortfall, ..(*diagnosis).clone() });
        let classes: BTreeSet<ClassId> =
            pods.iter().map(|pod| self.catalog.pod(*pod).class).collect();
        let classes = classes.into_iter().collect();
        self.queue.park_gang(unit, now, classes, is_expecting, diagnosis.clone());
        self.queue.set_short(unit, lacking);
        self.tell_gang(unit, pods, &diagnosis, now, decisions);
    }

    /// Tries to place a pod of a gang whose pods go one by one, because it needs no more of them on
    /// nodes: by the rules for plain pods, as far as its gang does not say where to go.
    pub(crate) fn attempt_member(
        &mut self,
        unit: UnitId,
        pod: PodId,
        gang: GangId,
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let kept = self.give_up_holds(gang, pod, false);
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs);
        kept.iter().for_each(|hold| arranger.txn.release(*hold));
        let Err(short) = arranger.add(gang, pod) else {
            let (places, _) = arranger.commit();
            self.seat(unit, gang, &places, now, decisions);
            // Room that was kept may be free now, where it was not taken.
            return self.freed(&kept, &[], now);
        };
        if self.gangs.refused.contains_key(&pod) {
            drop(arranger);
            self.keep_on(gang, kept);
            return self.ask_again(unit, gang, &[pod], now, decisions);
        }
        let failure = arranger.rescue(&short);
        drop(arranger);
        self.keep_on(gang, kept);
        let diagnosis = failure.diagnosis.clone();
        self.set_aside(unit, pod, failure, now, decisions);
        let row = self.catalog.gang(gang);
        let object = row.terms.as_ref().ok().and_then(|terms| terms.object.as_ref());
        let is_native = object.is_some_and(|key| key.kind == PodGroupKind::Native);
        if is_native && row.placed == 0 && !row.is_started() {
            let state = GangState::Waiting(diagnosis);
            decisions.push(Decision::Report(GangReport { gang, state }));
        }
    }

    /// Room that is kept for a gang stays kept: nothing was placed there.
    fn keep_on(&mut self, gang: GangId, holds: Vec<Hold>) {
        if let Some(kept) = &mut self.catalog.progress_mut(gang).kept {
            kept.holds.extend(holds);
        }
    }

    /// Tries pods again later on the nodes that refused them, because there are no others.
    fn ask_again(
        &mut self,
        unit: UnitId,
        gang: GangId,
        pods: &[PodId],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        pods.iter().for_each(|pod| _ = self.gangs.refused.remove(pod));
        self.queue.retry(unit, now);
        decisions.push(Decision::Report(GangReport { gang, state: GangState::Refused }));
    }

    /// Takes in what was found for a gang.
    fn placed(
        &mut self,
        unit: UnitId,
        Tried { own, kept, classes }: Tried,
        (places, holds): (&[(PodId, NodeId)], Vec<Hold>),
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let before = self.catalog.progress_mut(own).kept.take();
        let mut given_up = before.map(|before| before.classes).unwrap_or_default();
        if holds.is_empty() {
            given_up.extend(classes);
        } else {
            let state = GangState::Room(holds.len());
            self.gangs.reports.push(GangReport { gang: own, state });
            let kept = Kept { until: now + self.options.room_kept, holds, classes };
            self.catalog.progress_mut(own).kept = Some(kept);
        }
        self.seat(unit, own, places, now, decisions);
        // Room that was kept may be free now, where it was not taken.
        self.freed(&kept, &given_up, now);
    }

    /// What is missing for a gang.
    fn shortfall(&self, short: &Short, fitting: u32, outlook: Outlook) -> Shortfall {
        let row = self.catalog.gang(short.gang);
        let pod = &self.catalog.pod(short.pod).key.name;
        let member = match short.expected {
            Some(_) => format!("a pod of {pod}").into(),
            None => pod.clone(),
        };
        let (gang, min, fitting) = (row.name.clone(), row.min(), fitting + row.placed);
        Shortfall { gang, min, fitting, member, outlook }
    }

    /// Tells the pods of a unit why they wait, and their gang. A node that was proposed for one of
    /// them when it was tried alone is not proposed any more.
    pub(crate) fn tell_gang(
        &mut self,
        unit: UnitId,
        pods: &[PodId],
        diagnosis: &Arc<Diagnosis>,
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        for pod in pods {
            // Gates are told by whoever set them.
            if self.standing(*pod).1 {
                continue;
            }
            if diagnosis.ends_nomination() {
                self.nominate(*pod, None, now);
            }
            let diagnosis = diagnosis.clone();
            decisions.push(Decision::Wait(Waiting { pod: *pod, diagnosis }));
        }
        if let Some(gang) = self.queue.gang(unit) {
            let state = GangState::Waiting(diagnosis.clone());
            decisions.push(Decision::Report(GangReport { gang, state }));
        }
    }

    /// Takes in the places that were found for a unit.
    fn seat(
        &mut self,
        unit: UnitId,
        gang: GangId,
        places: &[(PodId, NodeId)],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        self.assume(unit, places, now, decisions);
        if let Some(whole) = self.queue.gang(unit) {
            self.catalog.progress_mut(whole).is_sent = true;
            self.queue.set_crew(unit, None);
        }
        // Those that were not placed are units of their own from now on. That may be all, if only
        // pods that do not exist yet are needed.
        let news = match places {
            [(pod, _)] if self.queue.gang(unit).is_none() => News::Pod(*pod),
            _ => News::All,
        };
        self.regroup(gang, news, now);
    }
}
