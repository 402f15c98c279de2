//! Constraints of a profile, for pods that have none themselves. Whom they are about follows from
//! services and from the controller of each pod, so pods of one class can differ in it.

use framework::View;
use model::{Catalog, CrowdId, Occupant, Spread, SpreadSpec, Symbol, Touch};

use super::{Constraints, Counting};

/// How many crowds of a class have their sums kept. Pods that share a class mostly share their
/// controller too; sums of others are worked out anew when their turn comes.
const KEPT_MAX: usize = 4;

/// The constraints if the configuration has none: hosts and zones, softly.
pub(super) fn system() -> [SpreadSpec; 2] {
    [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)].map(|(key, max_skew)| {
        SpreadSpec {
            key: key.into(),
            selector: None,
            max_skew,
            min_domains: 1,
            is_required: false,
            honours_affinity: true,
            honours_taints: false,
        }
    })
}

/// The pods that are alike with the one that is asked about.
pub(super) fn crowd(view: View<'_>) -> Option<CrowdId> {
    view.catalog.tags(view.tags).alike
}

/// Constraints of one sort for the pods of a class.
pub(super) struct Defaults {
    spreads: Box<[Spread]>,
    counting: Counting,
    namespace: Symbol,
    /// By crowd and its generation, the last one that was asked about first.
    kept: Vec<(CrowdId, u32, Constraints)>,
}

impl Defaults {
    pub(super) fn new(spreads: &[Spread], counting: Counting, namespace: Symbol) -> Self {
        Self { spreads: spreads.into(), counting, namespace, kept: Vec::new() }
    }

    /// The constraints on a pod, if it is alike with any.
    pub(super) fn of(&self, view: View<'_>) -> Option<&Constraints> {
        let crowd = crowd(view)?;
        let kept = self.kept.iter().find(|(kept, _, _)| *kept == crowd);
        Some(&kept.expect("sums are brought up to date before nodes are asked about").2)
    }

    pub(super) fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        let is_it = |crowd: CrowdId, generation: u32| {
            view.catalog.find_crowd(crowd).is_some_and(|crowd| crowd.generation == generation)
        };
        self.kept.retain(|(crowd, generation, _)| is_it(*crowd, *generation));
        self.kept.iter_mut().for_each(|(_, _, kept)| kept.refresh(view, touched));
        let Some(crowd) = crowd(view) else { return };
        if let Some(at) = self.kept.iter().position(|(kept, _, _)| *kept == crowd) {
            self.kept[..=at].rotate_right(1);
            return;
        }
        let about = |spread: &Spread| Spread { crowd: Some(crowd), ..spread.clone() };
        let mut made = Constraints::new(self.spreads.iter().map(about), self.counting.clone());
        made.refresh(view, None);
        self.kept.truncate(KEPT_MAX - 1);
        self.kept.insert(0, (crowd, view.catalog.crowd(crowd).generation, made));
    }

    /// Whether a pod that comes or goes could help. Which pods of the class wait, and whom they are
    /// alike with, is not known here: any pod of their namespace that somebody counts could.
    pub(super) fn is_moved_by(&self, catalog: &Catalog, occupant: Occupant) -> bool {
        catalog.class(occupant.class).namespace == self.namespace
            && !catalog.tags(occupant.tags).meant.is_empty()
    }
}
