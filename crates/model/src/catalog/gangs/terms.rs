//! What holds for a gang, by what its pods and its objects say.

use super::{Gang, GangTerms, Gangs, Name};
use crate::gang::{GANG_CLAIMS_MAX, GANG_MAX, PodGroupKey, PodGroupKind};
use crate::ids::GangId;
use crate::reason::Reason;

impl Gangs {
    /// Notes what holds for a gang, and for which others it waits.
    pub(super) fn set_terms(&mut self, id: GangId, terms: Result<GangTerms, Reason>) {
        let gang = self.row(id);
        let before = std::mem::replace(&mut gang.terms, terms);
        let awaits = |terms: &Result<GangTerms, Reason>| {
            terms.as_ref().is_ok_and(|terms| !terms.after.is_empty())
        };
        if !awaits(&before) && !awaits(&gang.terms) {
            return;
        }
        let own: Name = (gang.namespace.clone(), gang.name.clone());
        let after = |terms: &Result<GangTerms, Reason>| -> Vec<Name> {
            let after = terms.iter().flat_map(|terms| &terms.after);
            after.map(|name| (own.0.clone(), name.clone())).collect()
        };
        let (before, now) = (after(&before), after(&gang.terms));
        if before == now {
            return;
        }
        for awaited in before {
            let count = self.awaited.get_mut(&awaited).expect("what is awaited is counted");
            *count -= 1;
            if *count == 0 {
                self.awaited.remove(&awaited);
            }
        }
        let is_link = !now.is_empty() && self.awaited.contains_key(&own);
        self.after_revision += u64::from(is_link);
        now.into_iter().for_each(|awaited| *self.awaited.entry(awaited).or_default() += 1);
    }

    pub(super) fn terms(
        &self,
        gang: &Gang,
        parent: &mut Option<Box<str>>,
    ) -> Result<GangTerms, Reason> {
        let mut terms = GangTerms::default();
        let (mut min, mut shortest, mut longest) = (None, None, None);
        if gang.is_composite {
            let (namespace, name) = (gang.namespace.clone(), gang.name.clone());
            let own = PodGroupKey { kind: PodGroupKind::Composite, namespace, name };
            self.add_object(own, "", &mut terms, &mut min, parent)?;
        }
        if gang.claims.len() > GANG_CLAIMS_MAX {
            let text = format!("its pods say more than {GANG_CLAIMS_MAX} different things of it");
            return Err(Reason::GangFault(text.into()));
        }
        self.looks.add(gang.claims.len());
        for claim in gang.claims.keys() {
            if let Some(said) = claim.min {
                agree(&mut min, said, gang)?;
            }
            longest = longest.max(claim.timeout);
            shortest = [shortest, claim.timeout].into_iter().flatten().min();
            terms.workers += claim.workers.iter().map(|workers| workers.count).sum::<u32>();
            if terms.after.is_empty() {
                terms.after.clone_from(&claim.after);
            }
            for (kind, name, part) in &claim.objects {
                if kind.is_foreign() && !self.served.contains(kind) {
                    continue;
                }
                let (namespace, name) = (gang.namespace.clone(), name.clone());
                let key = PodGroupKey { kind: *kind, namespace, name };
                self.add_object(key, part, &mut terms, &mut min, parent)?;
            }
            // Of groups in groups the one at the top says it.
            if let (Some(own), Some(said), None) = (claim.priority, terms.priority, &parent)
                && own != said
            {
                return Err(priorities_differ(own, said));
            }
        }
        if terms.timeout.is_none() {
            terms.timeout = longest;
            terms.shorter_timeout = shortest.filter(|_| shortest < longest);
        }
        terms.min = min.unwrap_or(1);
        if terms.min > GANG_MAX {
            let text = format!("a gang of {} pods, expected at most {GANG_MAX}", terms.min);
            return Err(Reason::GangFault(text.into()));
        }
        Ok(terms)
    }

    fn add_object(
        &self,
        key: PodGroupKey,
        part: &str,
        terms: &mut GangTerms,
        min: &mut Option<u32>,
        parent: &mut Option<Box<str>>,
    ) -> Result<(), Reason> {
        let Some(object) = self.objects.get(&key) else {
            return Err(Reason::NoPodGroup(key.name));
        };
        let Some((_, said)) = object.mins.iter().find(|(name, _)| **name == *part) else {
            return Err(Reason::NoPodGroup(format!("{}/{part}", key.name).into()));
        };
        let said = if key.kind == PodGroupKind::Composite { *said } else { (*said).max(1) };
        if min.is_some_and(|min| min != said) {
            let other = min.unwrap_or_default();
            let text = format!("its pods say that {other} start together, its PodGroup {said}");
            return Err(Reason::GangFault(text.into()));
        }
        *min = Some(said);
        terms.timeout = object.timeout.or(terms.timeout);
        terms.priority = object.priority.or(terms.priority);
        terms.topology.clone_from(&object.topology);
        terms.is_evicted_whole = object.is_evicted_whole;
        terms.min_resources.clone_from(&object.min_resources);
        parent.clone_from(&object.parent);
        terms.object = Some(key);
        Ok(())
    }
}

/// In kube-scheduler's words, which refuses such gangs too.
fn priorities_differ(own: i32, said: i32) -> Reason {
    let text = format!(
        "all pods in a single pod group should have the same priority as the pod group's \
         priority, got {own} and {said}"
    );
    Reason::GangFault(text.into())
}

/// Takes in how many start together, by what another member says.
fn agree(min: &mut Option<u32>, said: u32, gang: &Gang) -> Result<(), Reason> {
    match *min {
        Some(other) if other != said => {
            let (low, high) = (other.min(said), other.max(said));
            let name = &gang.name;
            let text =
                format!("members of {name} disagree on how many start together: {low}, {high}");
            Err(Reason::GangFault(text.into()))
        }
        _ => {
            *min = Some(said);
            Ok(())
        }
    }
}
