//! Gangs, and what namespaces have of the cluster: how the catalog keeps both up to date with its
//! pods.

use std::collections::BTreeSet;

use super::{Catalog, Chain, Gang, Moved, Pod, Progress, Tenant};
use crate::event::PodFacts;
use crate::fabric::CoLocation;
use crate::gang::{GangClaim, JobFacts, PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts};
use crate::ids::{ClassId, GangId, PodId};

/// How many classes of a gang are asked whether they insist on being close: all should say the
/// same.
const CLASSES_ASKED: usize = 64;

impl Catalog {
    /// A gang that is there.
    #[must_use]
    pub fn gang(&self, gang: GangId) -> &Gang {
        self.gangs.get(gang)
    }

    /// Whether a gang is there.
    #[must_use]
    pub fn has_gang(&self, gang: GangId) -> bool {
        self.gangs.has(gang)
    }

    /// All gangs, by namespace and name.
    pub fn gangs(&self) -> impl Iterator<Item = GangId> {
        self.gangs.all()
    }

    /// The gang of pods with this name.
    #[must_use]
    pub fn find_gang(&self, namespace: &str, name: &str) -> Option<GangId> {
        self.gangs.find(namespace, name, false)
    }

    /// The gang of gangs with this name.
    #[must_use]
    pub fn find_composite(&self, namespace: &str, name: &str) -> Option<GangId> {
        self.gangs.find(namespace, name, true)
    }

    /// The gang that is scheduled as a whole together with this one: the highest above it whose
    /// parts depend on each other.
    #[must_use]
    pub fn root_of(&self, gang: GangId) -> GangId {
        let (mut root, mut at) = (gang, gang);
        while let Some(parent) = self.gangs.get(at).parent {
            at = parent;
            // Of a group without a minimum every part stands for itself.
            if self.gangs.get(parent).terms.as_ref().map_or(true, |terms| terms.min > 0) {
                root = parent;
            }
        }
        root
    }

    /// A gang and its parts, and theirs.
    pub fn parts_of(&self, gang: GangId) -> impl Iterator<Item = &Gang> {
        // Most gangs have no parts, and nothing is allocated for them.
        let (mut first, mut next) = (Some(gang), Vec::new());
        std::iter::from_fn(move || {
            let row = self.gangs.get(first.take().or_else(|| next.pop())?);
            next.extend(row.parts.iter().rev());
            self.look(1);
            Some(row)
        })
    }

    /// The pods of a gang and of its parts.
    pub fn pods_in(&self, gang: GangId) -> impl Iterator<Item = PodId> {
        let pods = self.parts_of(gang).flat_map(|part| &part.members).copied();
        pods.inspect(|_| self.look(1))
    }

    /// The pods of a gang and of its parts that wait for a node.
    pub fn waiting_in(&self, gang: GangId) -> impl Iterator<Item = PodId> {
        let pods = self.parts_of(gang).flat_map(|part| &part.unplaced).copied();
        pods.inspect(|_| self.look(1))
    }

    /// Whether pods of a gang, or of a part of it, wait for a node.
    #[must_use]
    pub fn has_waiting(&self, gang: GangId) -> bool {
        self.parts_of(gang).any(|part| part.waiting() > 0)
    }

    /// Whether pods of a gang, or of a part of it, are known to be on nodes.
    #[must_use]
    pub fn has_bound(&self, gang: GangId) -> bool {
        self.parts_of(gang).any(|part| part.bound > 0)
    }

    /// Whether pods of a gang, or of a part of it, have to be close to each other.
    #[must_use]
    pub fn is_close(&self, gang: GangId) -> bool {
        let has_key =
            |part: &Gang| part.terms.as_ref().is_ok_and(|terms| !terms.topology.is_empty());
        let is_strict = |class: &ClassId| {
            let wish = self.class(*class).spec.fabric.as_ref();
            wish.is_some_and(|wish| wish.co_location == CoLocation::Strict)
        };
        let some = |part: &Gang| part.classes.keys().take(CLASSES_ASKED).any(is_strict);
        self.parts_of(gang).any(|part| has_key(part) || some(part))
    }

    /// Whether a gang, or a part of it, makes no sense.
    #[must_use]
    pub fn is_fault(&self, gang: GangId) -> bool {
        self.parts_of(gang).any(|part| part.terms.is_err())
    }

    /// Whether a gang is another one, or below it.
    #[must_use]
    pub fn is_within(&self, gang: GangId, above: GangId) -> bool {
        let parent = |gang: &GangId| self.gang(*gang).parent;
        std::iter::successors(Some(gang), parent).any(|at| at == above)
    }

    /// What is noted of a gang that is there, to be changed.
    pub fn progress_mut(&mut self, gang: GangId) -> &mut Progress {
        self.gangs.progress(gang)
    }

    /// The gangs that ended since this was last asked, as they were.
    pub fn take_ended_gangs(&mut self) -> Vec<(GangId, Gang)> {
        self.gangs.take_ended()
    }

    /// The gangs that are parts of others, or have other parts, since this was last asked.
    pub fn take_moved_gangs(&mut self) -> BTreeSet<GangId> {
        self.gangs.take_moved()
    }

    /// Grows when gangs may wait for each other that did not before.
    #[must_use]
    pub fn after_revision(&self) -> u64 {
        self.gangs.after_revision()
    }

    /// Notes where the gangs that a gang waits for lead.
    pub fn note_chain(&self, gang: GangId, chain: Chain) {
        self.gangs.get(gang).chain.set(Some((self.gangs.after_revision(), chain)));
    }

    /// Takes in an object about gangs; tells which.
    pub fn set_pod_group(&mut self, facts: &PodGroupFacts) -> Vec<GangId> {
        self.gangs.set_object(&facts.key, Some(facts))
    }

    /// Forgets an object about gangs; tells which.
    pub fn delete_pod_group(&mut self, key: &PodGroupKey) -> Vec<GangId> {
        self.gangs.set_object(key, None)
    }

    /// Notes that objects of a kind were listed; tells which gangs are concerned.
    pub fn set_pod_groups_served(&mut self, kind: PodGroupKind) -> Vec<GangId> {
        self.gangs.set_served(kind)
    }

    /// Kinds of objects about gangs that were listed.
    pub fn pod_groups_served(&self) -> impl Iterator<Item = PodGroupKind> {
        self.gangs.served()
    }

    /// All objects about gangs.
    pub fn pod_groups(&self) -> impl Iterator<Item = &PodGroupFacts> {
        self.gangs.objects()
    }

    /// Notes that a pod of a gang ran to its end.
    pub fn set_succeeded(&mut self, facts: &SucceededFacts) {
        self.gangs.set_ended(&facts.uid, Some(facts));
    }

    /// Forgets a pod that ran to its end, by uid; returns what was known of it.
    pub fn delete_succeeded(&mut self, uid: &str) -> Option<SucceededFacts> {
        self.gangs.set_ended(uid, None)
    }

    /// Pods of gangs that ran to their end.
    pub fn succeeded(&self) -> impl Iterator<Item = SucceededFacts> {
        self.gangs.ended_pods().cloned()
    }

    /// Notes that a Job is complete; tells the gangs of its pods that ended, by namespace and name.
    pub fn set_job(&mut self, facts: &JobFacts) -> Vec<(Box<str>, Box<str>)> {
        self.gangs.set_job(facts)
    }

    /// Forgets a Job, by uid.
    pub fn delete_job(&mut self, uid: &str) {
        self.gangs.delete_job(uid);
    }

    /// The Jobs that are complete.
    pub fn jobs(&self) -> impl Iterator<Item = JobFacts> {
        self.gangs.jobs()
    }

    /// Whether a gang ran to a good end: none of its pods lives, and enough of them did.
    #[must_use]
    pub fn is_gang_over(&self, namespace: &str, name: &str) -> bool {
        self.gangs.is_over(namespace, name)
    }

    /// Takes in what a pod says of its gang, and that it was of this class.
    pub(super) fn set_claim(&mut self, pod: PodId, facts: &PodFacts, class: ClassId) {
        let claim = facts.gang.as_ref();
        let before = self.pods.get(pod);
        if let Some(gang) = before.gang {
            self.gangs.reclass(gang, class, before.class);
        }
        let is_member = is_member(facts);
        if before.claim.as_ref() == claim && before.gang.is_some() == is_member {
            return;
        }
        self.leave_gang(pod);
        let Some(claim) = claim else { return };
        let Pod { state, class, .. } = *self.pods.get(pod);
        if is_member {
            let (gang, claim) = self.gangs.join(pod, &facts.key.namespace, claim, (state, class));
            self.pods.set_gang(pod, Some(claim), Some(gang));
        } else {
            self.pods.set_gang(pod, Some(claim.clone()), None);
        }
    }

    pub(super) fn leave_gang(&mut self, pod: PodId) {
        let Pod { gang, claim, state, class, .. } = self.pods.get(pod);
        if let (Some(gang), Some(claim)) = (gang, claim) {
            self.gangs.leave(*gang, pod, claim, (*state, *class));
        }
        self.pods.set_gang(pod, None, None);
    }
}

/// Whether a pod is counted in the gang it claims.
fn is_member(facts: &PodFacts) -> bool {
    let is_named = |claim: &GangClaim| claim.fault.is_none() && !claim.name.is_empty();
    facts.gang.as_deref().is_some_and(is_named) && !facts.rest.is_terminating && !facts.is_finished
}

impl Catalog {
    /// The largest part that a tenant has of anything, in parts of 2^32.
    #[must_use]
    pub fn share(&self, tenant: Tenant) -> u64 {
        self.tenants.share(tenant)
    }

    /// Whose share may have changed since this was last asked.
    pub fn take_moved_shares(&mut self) -> Moved {
        self.tenants.take_moved()
    }

    /// Notes the profiles whose units are one tenant, [`Tenant::Others`], and whether those are all
    /// there are. To be called before there are pods or nodes.
    pub fn set_without_turns(&mut self, schedulers: Box<[String]>, are_all: bool) {
        self.tenants.set_others(schedulers, are_all);
    }

    /// Notes that a pod came to a node, or left it.
    pub(super) fn charge_tenant(&mut self, pod: PodId, is_placed: bool) {
        let class = self.classes.get(self.pods.get(pod).class);
        let whose = (class.namespace, &*class.spec.scheduler);
        self.tenants.charge(whose, &class.requests.charge.amounts, is_placed);
    }
}
