//! What is tried as a whole: a pod, the waiting pods of a gang, or those of a gang of gangs.

use std::collections::BTreeSet;

use super::super::Violation;
use super::super::ledger::{Known, Ledger};
use super::super::roster::{Gang, GangKey, gang_of};
use super::super::trees::{Top, Tree};

/// What is tried as a whole.
pub(super) struct Unit<'a> {
    pub(super) pods: Vec<&'a Known>,
    whole: Whole<'a>,
    /// Whether it completes what runs already.
    pub(super) mends: Mends,
    /// Whether it is a gang of gangs, or of a part of one.
    pub(super) is_in_tree: bool,
}

/// What the pods of a unit are all waiting pods of.
enum Whole<'a> {
    /// A pod by itself, also if it is in a gang that has enough without it.
    Pod,
    Gang(Gang<'a>),
    Tree(Tree<'a>),
    /// It cannot be told who is tried together.
    Unclear,
}

/// Whether a unit completes what runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mends {
    No,
    /// It is not known.
    Maybe,
    Surely,
}

impl Mends {
    fn of(is_possible: bool, is_sure: bool) -> Self {
        match (is_possible, is_sure) {
            (_, true) => Self::Surely,
            (true, false) => Self::Maybe,
            (false, false) => Self::No,
        }
    }
}

impl<'a> Unit<'a> {
    /// The unit of a waiting pod: all that wait of the first composite from above that has too few
    /// parts, or else of its gang, as long as that has too few on nodes.
    pub(super) fn of(ledger: &'a Ledger, pod: &'a Known) -> Self {
        let alone =
            |whole, is_in_tree| Self { pods: vec![pod], whole, mends: Mends::No, is_in_tree };
        let Some(key) = gang_of(pod.facts()) else { return alone(Whole::Pod, false) };
        let gang = Gang::of(ledger, &key);
        let is_part = ledger.roster().parent_of(&key).is_some();
        match &gang.top {
            Top::Itself if is_part && gang.terms.is_err() => return alone(Whole::Unclear, true),
            Top::Unclear => return alone(Whole::Unclear, true),
            // Not all of its pods name the object that says so.
            Top::Composite(_) if !is_part => return alone(Whole::Unclear, true),
            Top::Itself => {}
            Top::Composite(root) => {
                let all = Tree::of(ledger, root);
                if !all.is_some_and(|all| all.is_clear()) {
                    return alone(Whole::Unclear, true);
                }
                if let Some(tree) = Tree::around(ledger, &gang) {
                    return Self::of_tree(ledger, root, tree);
                }
            }
        }
        let is_in_tree = is_part || gang.top != Top::Itself;
        if gang.terms.is_ok() && gang.is_whole() {
            return alone(Whole::Pod, is_in_tree);
        }
        let is_doubtful = matches!(&gang.top, Top::Composite(root) if is_doubtful(ledger, root));
        let mends = Mends::of(gang.is_reached || is_doubtful, gang.is_surely_reached);
        Self { pods: gang.waiting().collect(), whole: Whole::Gang(gang), mends, is_in_tree }
    }

    /// All that wait of a composite, which is the root of what is tried together, or below it.
    fn of_tree(ledger: &'a Ledger, root: &GangKey, tree: Tree<'a>) -> Self {
        let pods = tree.gangs().into_iter().flat_map(|gang| gang.waiting()).collect();
        let is_root = *tree.name == *root.1;
        let is_reached = ledger.roster().reached.contains(root);
        let is_doubtful = !is_root || is_doubtful(ledger, root);
        let is_sure = tree.is_started || is_reached && !is_doubtful;
        let mends = Mends::of(is_reached || is_doubtful, is_sure);
        Self { pods, whole: Whole::Tree(tree), mends, is_in_tree: true }
    }

    /// Whether all that wait of something are tried together.
    pub(super) fn is_gathered(&self) -> bool {
        matches!(self.whole, Whole::Gang(_) | Whole::Tree(_))
    }

    pub(super) fn is_unclear(&self) -> bool {
        matches!(self.whole, Whole::Unclear)
    }

    /// The gangs that are tried as a whole.
    pub(super) fn gathered(&self) -> Vec<GangKey> {
        match &self.whole {
            Whole::Pod | Whole::Unclear => Vec::new(),
            Whole::Gang(gang) => vec![gang.key.clone()],
            Whole::Tree(tree) => tree.gangs().into_iter().map(|gang| gang.key.clone()).collect(),
        }
    }

    /// How important all of it is, if that is said.
    pub(super) fn priority(&self) -> Option<i32> {
        match &self.whole {
            Whole::Pod | Whole::Unclear => None,
            Whole::Gang(gang) => gang.terms.as_ref().ok()?.priority,
            Whole::Tree(tree) => tree.priority,
        }
    }

    /// Exactly the pods of the unit are tried.
    pub(super) fn check_tried(&self, tried: &BTreeSet<&str>) -> Result<(), Violation> {
        let own: BTreeSet<&str> = self.pods.iter().map(|pod| &*pod.facts().key.uid).collect();
        if own == *tried || self.is_unclear() {
            return Ok(());
        }
        let key = self.pods.first().and_then(|pod| gang_of(pod.facts()));
        let gang = key.map_or_else(String::new, |(namespace, name)| match &self.whole {
            Whole::Tree(tree) => format!("{namespace}/{}", tree.name),
            Whole::Pod | Whole::Gang(_) | Whole::Unclear => format!("{namespace}/{name}"),
        });
        let why = format!("{tried:?} were tried, where {own:?} are one unit");
        Err(Violation::Gang { gang, why })
    }
}

/// Whether it is not known if a composite has started, or it may have been forgotten.
fn is_doubtful(ledger: &Ledger, root: &GangKey) -> bool {
    let roster = ledger.roster();
    roster.blurred.contains(root) || roster.faded.contains(root)
}
