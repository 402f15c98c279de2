//! Which gangs are parts of which. Trees have few levels, so nothing here grows with what users
//! write.

use super::{Gangs, Name, Stage};
use crate::gang::GANG_LEVELS_MAX;
use crate::ids::GangId;
use crate::reason::Reason;

impl Gangs {
    /// Works out what holds for gangs. One may give up its parent, which is removed then.
    pub(super) fn resolve_all(&mut self, gangs: &mut Vec<GangId>) {
        gangs.iter().for_each(|gang| self.resolve(*gang));
        gangs.retain(|gang| self.has(*gang));
    }

    /// Works out what holds for a gang if it is there, and for others that this moves.
    pub(super) fn resolve(&mut self, id: GangId) {
        self.resolve_due(vec![id]);
    }

    pub(super) fn resolve_due(&mut self, mut due: Vec<GangId>) {
        while let Some(id) = due.pop() {
            if !self.has(id) {
                continue;
            }
            let gang = self.get(id);
            let mut parent = None;
            let terms = self.terms(gang, &mut parent);
            let is_started = terms.as_ref().is_ok_and(|terms| {
                let object = terms.object.as_ref().and_then(|key| self.objects.get(key));
                object.is_some_and(|object| object.is_started)
            });
            self.set_terms(id, terms);
            let stage = &mut self.row(id).progress.stage;
            if is_started && !stage.is_started() {
                *stage = Stage::Started;
            }
            self.set_parent(id, parent, &mut due);
        }
    }

    /// Makes a gang a part of another one, or of none. Gangs that have to be resolved for it are
    /// due then.
    fn set_parent(&mut self, id: GangId, parent: Option<Box<str>>, due: &mut Vec<GangId>) {
        self.accept_parent(id);
        let gang = self.get(id);
        if gang.parent.is_none() && parent.is_none() {
            return;
        }
        let (namespace, before) = (gang.namespace.clone(), gang.parent);
        let known = |gangs: &Self| gangs.find(&namespace, parent.as_ref()?, true);
        if before.is_some() && before == known(self) {
            return;
        }
        if let Some(before) = before {
            self.cut(id, before, due);
            self.remove_if_empty(before, due);
        }
        // One that was above it may be gone now.
        let known = known(self);
        let Some(name) = parent else { return };
        if let Some(fault) = self.link_fault(id, known, &name) {
            self.refused_parts.entry((namespace, name.clone())).or_default().insert(id);
            self.set_terms(id, Err(Reason::GangFault(fault.into())));
            self.row(id).refused_parent = Some(name);
            return;
        }
        let parent = self.enter(&namespace, &name, true);
        self.row(id).parent = Some(parent);
        self.row(parent).parts.insert(id);
        self.moved.extend([id, parent]);
        if known.is_none() {
            due.push(parent);
        }
    }

    /// Takes a gang out of the one it is a part of.
    pub(super) fn cut(&mut self, id: GangId, parent: GangId, due: &mut Vec<GangId>) {
        self.row(id).parent = None;
        self.row(parent).parts.remove(&id);
        self.moved.extend([id, parent]);
        // There may be fewer levels below the one at the top.
        due.extend(self.above(parent).last().filter(|_| !self.refused_parts.is_empty()));
        self.accept_below(id, due);
    }

    /// Lets those be parts that could not be, because there are fewer levels above them now.
    pub(super) fn accept_below(&self, id: GangId, due: &mut Vec<GangId>) {
        if self.refused_parts.is_empty() {
            return;
        }
        for gang in self.levels(id).into_iter().flatten() {
            let gang = self.get(gang);
            let name: Name = (gang.namespace.clone(), gang.name.clone());
            let refused = self.refused_parts.get(&name).filter(|_| gang.is_composite);
            due.extend(refused.into_iter().flatten());
        }
    }

    /// Forgets that a gang cannot be a part of the composite it names.
    pub(super) fn accept_parent(&mut self, id: GangId) {
        let gang = self.row(id);
        let Some(parent) = gang.refused_parent.take() else { return };
        let name: Name = (gang.namespace.clone(), parent);
        let Some(refused) = self.refused_parts.get_mut(&name) else { return };
        refused.remove(&id);
        if refused.is_empty() {
            self.refused_parts.remove(&name);
        }
    }

    /// Why a gang cannot be a part of a composite, which may be there already.
    fn link_fault(&self, id: GangId, known: Option<GangId>, parent: &str) -> Option<String> {
        let above = || known.into_iter().flat_map(|known| self.above(known));
        if above().any(|above| above == id) {
            return Some("its groups are parts of each other".into());
        }
        let levels = self.levels(id).len() + above().count().max(1);
        (levels > GANG_LEVELS_MAX).then(|| {
            let name = &self.get(id).name;
            format!(
                "spec.parentCompositePodGroupName of {name:?} is {parent:?}, which makes {levels} \
                 levels of groups: expected at most {GANG_LEVELS_MAX}"
            )
        })
    }

    /// A gang and all above it, upwards.
    fn above(&self, id: GangId) -> impl Iterator<Item = GangId> {
        std::iter::successors(Some(id), |at| self.get(*at).parent)
    }

    /// A gang and all below it, by levels.
    fn levels(&self, id: GangId) -> Vec<Vec<GangId>> {
        let below = |level: &Vec<GangId>| {
            let parts = level.iter().flat_map(|gang| &self.get(*gang).parts);
            let parts: Vec<GangId> = parts.copied().collect();
            (!parts.is_empty()).then_some(parts)
        };
        std::iter::successors(Some(vec![id]), below).collect()
    }
}
