//! Gangs of gangs, held against the plain rules: which of them a gang is a part of, whether enough
//! of its parts have enough pods, and which trees are not allowed.

use model::{NodeFacts, PodFacts, PodGroupFacts, PodGroupKey, PodGroupKind};

use super::company::{self, Scene};
use super::fabric::Bounds;
use super::ledger::{Known, Ledger};
use super::roster::{Gang, GangKey, Roster, Trouble};

/// How many levels a tree may have, with the groups of pods.
const LEVELS_MAX: usize = 8;

/// What a gang is tried with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    /// Nobody: it stands for itself.
    Itself,
    /// All that is below a composite.
    Composite(GangKey),
    /// That depends on which groups were there first: others make the tree too deep.
    Unclear,
}

/// A composite as it was last delivered.
fn composite<'a>(roster: &'a Roster, namespace: &str, name: &str) -> Option<&'a PodGroupFacts> {
    let kind = PodGroupKind::Composite;
    roster.group(&PodGroupKey { kind, namespace: namespace.into(), name: name.into() })
}

/// How many parts of a composite start together.
fn min_of(facts: &PodGroupFacts) -> usize {
    facts.mins.first().map_or(0, |(_, min)| *min as usize)
}

/// What is above a gang.
struct Line<'a> {
    /// The composites, upwards.
    above: Vec<&'a PodGroupFacts>,
    /// How many levels that makes. What is named is a level, also if it is not there.
    levels: usize,
    /// Why it cannot be followed any further.
    trouble: Option<Trouble>,
}

impl<'a> Line<'a> {
    fn of(roster: &'a Roster, namespace: &str, parent: Option<&str>) -> Self {
        let mut above: Vec<&PodGroupFacts> = Vec::new();
        let mut next = parent;
        while let Some(name) = next {
            let is_circle = above.iter().any(|facts| *facts.key.name == *name);
            match composite(roster, namespace, name) {
                Some(facts) if !is_circle => {
                    above.push(facts);
                    next = facts.parent.as_deref();
                }
                found => {
                    let missing = Trouble::NoGroup(name.into());
                    let trouble = Some(found.map_or(missing, |_| Trouble::Circle));
                    return Self { levels: above.len() + 2, above, trouble };
                }
            }
        }
        Self { levels: above.len() + 1, above, trouble: None }
    }

    fn is_deep(&self) -> bool {
        self.levels > LEVELS_MAX
    }

    /// Whether it has levels of another one that are there.
    fn shares(&self, other: &Self) -> bool {
        self.above.iter().any(|one| other.above.iter().any(|two| one.key == two.key))
    }
}

/// What a gang with such a parent is tried with; or why it cannot be placed, of which it is told
/// one.
pub(super) fn top(
    roster: &Roster,
    namespace: &str,
    parent: Option<&str>,
) -> Result<Top, Vec<Trouble>> {
    if parent.is_none() {
        return Ok(Top::Itself);
    }
    let line = Line::of(roster, namespace, parent);
    // Which level is one too many, and so whom it keeps back, depends on which came last.
    let is_unclear = || {
        let others = roster.parents_in(namespace);
        let mut others = others.map(|parent| Line::of(roster, namespace, parent.as_deref()));
        others.any(|other| other.is_deep() && other.shares(&line))
    };
    if let Some(trouble) = &line.trouble {
        let deep = (line.is_deep() || is_unclear()).then_some(Trouble::Depth);
        return Err(deep.into_iter().chain([trouble.clone()]).collect());
    }
    if line.is_deep() {
        return Err(vec![Trouble::Depth]);
    }
    if is_unclear() {
        return Ok(Top::Unclear);
    }
    let top = line.above.iter().rev().find(|facts| min_of(facts) > 0);
    Ok(top.map_or(Top::Itself, |facts| {
        Top::Composite((facts.key.namespace.clone(), facts.key.name.clone()))
    }))
}

/// The composites above a gang, whether or not it is tried with them.
pub(super) fn above(roster: &Roster, gang: &Gang<'_>) -> Vec<GangKey> {
    let parent = gang.terms.as_ref().ok().and_then(|terms| terms.parent.as_deref());
    let line = Line::of(roster, &gang.key.0, parent);
    let key = |facts: &PodGroupFacts| (facts.key.namespace.clone(), facts.key.name.clone());
    line.above.into_iter().map(key).collect()
}

/// A composite with everything below it.
pub(crate) struct Tree<'a> {
    pub(super) name: Box<str>,
    min: usize,
    topology: bool,
    /// How important all of it is, if its object says so.
    pub(super) priority: Option<i32>,
    /// Whether its object says that it had enough parts once.
    pub(super) is_started: bool,
    groups: Vec<Gang<'a>>,
    trees: Vec<Tree<'a>>,
}

impl<'a> Tree<'a> {
    /// A composite that has pods below it.
    pub(crate) fn of(ledger: &'a Ledger, (namespace, name): &GangKey) -> Option<Self> {
        let keys: Vec<&GangKey> =
            ledger.roster().keys().filter(|(other, _)| other == namespace).collect();
        let gangs: Vec<(&GangKey, Option<Box<str>>)> =
            keys.into_iter().map(|key| (key, ledger.roster().parent_of(key))).collect();
        Self::below(ledger, namespace, name, &gangs, LEVELS_MAX)
    }

    /// What a gang waits for others with: the first composite from above that has not enough.
    pub(crate) fn around(ledger: &'a Ledger, gang: &Gang<'_>) -> Option<Self> {
        let Top::Composite(root) = &gang.top else { return None };
        let path = path(ledger.roster(), gang, &root.1);
        let mut trees = path.into_iter().rev().filter_map(|key| Self::of(ledger, &key));
        trees.find(|tree| !tree.is_whole())
    }

    fn below(
        ledger: &'a Ledger,
        namespace: &str,
        name: &str,
        gangs: &[(&GangKey, Option<Box<str>>)],
        levels: usize,
    ) -> Option<Self> {
        let facts = composite(ledger.roster(), namespace, name)?;
        let is_own = |parent: &Option<Box<str>>| parent.as_deref() == Some(name);
        let own = gangs.iter().filter(|(_, parent)| is_own(parent));
        let groups: Vec<Gang<'_>> = own.map(|(key, _)| Gang::of(ledger, key)).collect();
        let trees: Vec<Tree<'_>> = match levels.checked_sub(1) {
            None => Vec::new(),
            Some(levels) => {
                let composites = ledger.roster().composites(namespace);
                let parts = composites.filter(|facts| is_own(&facts.parent));
                let below =
                    parts.map(|one| Self::below(ledger, namespace, &one.key.name, gangs, levels));
                below.flatten().collect()
            }
        };
        let (min, topology, is_started) =
            (min_of(facts), !facts.topology.is_empty(), facts.is_started);
        let has_pods = !groups.is_empty() || !trees.is_empty();
        let (name, priority) = (name.into(), facts.priority);
        has_pods.then_some(Self { name, min, topology, priority, is_started, groups, trees })
    }

    /// All groups of pods in it.
    pub(crate) fn gangs(&self) -> Vec<&Gang<'a>> {
        let below = self.trees.iter().flat_map(Tree::gangs);
        self.groups.iter().chain(below).collect()
    }

    /// Whether pods of it are known to be on nodes.
    pub(crate) fn has_bound(&self) -> bool {
        self.gangs().iter().any(|gang| !gang.members.bound.is_empty())
    }

    /// How many parts start together, for it or for anything in it.
    pub(crate) fn mins(&self) -> Vec<usize> {
        let groups = self.groups.iter().filter_map(|gang| gang.terms.as_ref().ok());
        let below = self.trees.iter().flat_map(Tree::mins);
        groups.map(|terms| terms.min).chain(below).chain([self.min]).collect()
    }

    /// How many of its parts are something.
    fn count(&self, group: &dyn Fn(&Gang<'_>) -> bool, is_any: bool) -> usize {
        let groups = self.groups.iter().filter(|gang| group(gang)).count();
        let is_enough = |tree: &&Tree<'_>| {
            let count = tree.count(group, is_any);
            count >= tree.min && !(is_any && count == 0)
        };
        groups + self.trees.iter().filter(is_enough).count()
    }

    /// Whether enough parts have enough pods on nodes, or sent there.
    pub(crate) fn is_whole(&self) -> bool {
        self.count(&has_enough, false) >= self.min
    }

    /// Whether enough parts are known to have enough pods on nodes.
    pub(crate) fn is_up(&self) -> bool {
        let is_up = |gang: &Gang<'_>| {
            let (bound, min) = (gang.members.bound.len(), gang.min().unwrap_or(1));
            bound > 0 && bound >= min
        };
        let up = self.count(&is_up, true);
        up > 0 && up >= self.min
    }

    /// Whether it can be told of every group in it what holds, and none has pods that make others:
    /// for those room may be kept.
    pub(super) fn is_clear(&self) -> bool {
        let is_clear = |gang: &&Gang<'_>| {
            let terms = gang.terms.as_ref();
            gang.seats == 0 && terms.is_ok_and(|terms| terms.workers == 0)
        };
        self.gangs().iter().all(is_clear)
    }

    /// Whether nothing but a lack of room keeps it from being placed.
    pub(crate) fn is_ready(&self, ledger: &Ledger) -> bool {
        let is_there = |gang: &Gang<'_>| {
            gang.terms.as_ref().is_ok_and(|terms| gang.members.count() >= terms.min)
        };
        let all = self.gangs();
        let mut waiting = all.iter().flat_map(|gang| gang.waiting());
        self.count(&is_there, false) >= self.min
            && all.iter().all(|gang| gang.terms.is_ok())
            && waiting.all(|known| ledger.may_be_placed(known.facts()))
    }

    /// One node that takes everybody who waits. Whatever is put elsewhere leaves more room there,
    /// so that it needs no search.
    pub(crate) fn witness(&self, ledger: &Ledger) -> Option<String> {
        let all = self.gangs();
        let is_close =
            |gang: &&&Gang<'_>| gang.terms.is_err() || !Bounds::of(ledger, gang).is_anything();
        if self.has_topology() || all.iter().any(|gang| is_close(&gang)) {
            return None;
        }
        let pods: Vec<&PodFacts> =
            all.iter().flat_map(|gang| gang.waiting()).map(Known::facts).collect();
        if pods.is_empty() || pods.iter().any(|pod| company::matters(ledger, pod)) {
            return None;
        }
        let takes_all = |node: &NodeFacts| {
            let mut scene = Scene::of(ledger);
            pods.iter().all(|pod| {
                let takes = company::surely_takes(&scene, pod, node);
                scene.add(node, pod);
                takes
            })
        };
        let found = ledger.nodes().find(|(node, _)| takes_all(node))?.0;
        Some(format!("{} of {} on {}", pods.len(), self.name, found.name))
    }

    fn has_topology(&self) -> bool {
        self.topology || self.trees.iter().any(Tree::has_topology)
    }
}

/// The composites above a gang, up to the one it is tried with.
fn path(roster: &Roster, gang: &Gang<'_>, root: &str) -> Vec<GangKey> {
    let mut above = above(roster, gang);
    let last = above.iter().position(|(_, name)| **name == *root);
    above.truncate(last.map_or(0, |last| last + 1));
    above
}

/// Whether a group has enough pods on nodes, or sent there: one at least.
fn has_enough(gang: &Gang<'_>) -> bool {
    gang.placed() >= gang.min().unwrap_or(1)
}
