//! Finds volumes for the claims of pods, and prefers nodes by what is left of storage there.

use std::collections::BTreeMap;

use framework::{
    Feasible, MAX_SCORE, Narrow, Parts, Plugin, Rank, Reach, Scores, ShapePoint, Verdict, View,
    VolumeBindingArgs,
};
use model::{Catalog, Class, NodeId, PodClaims, Reason, Way};

use super::reasons;
use crate::node_resources::along;

pub(crate) struct VolumeBinding {
    shape: Vec<ShapePoint>,
}

impl VolumeBinding {
    pub(crate) fn new(args: &VolumeBindingArgs) -> Self {
        let point = |point: &ShapePoint| ShapePoint { score: point.score * 10, ..*point };
        Self { shape: args.shape.iter().map(point).collect() }
    }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }
}

impl Feasible for VolumeBinding {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        class.has_volumes().then(|| Box::new(Found) as _)
    }
}

impl Rank for VolumeBinding {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        class.has_volumes().then(|| Box::new(Fullness { shape: self.shape.clone() }) as _)
    }
}

struct Found;

impl Narrow for Found {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        !view.catalog.tags(view.tags).claims.is_empty()
    }

    fn before(&self, view: View<'_>) -> Verdict {
        let fault = PodClaims::of(view.catalog, view.tags).err();
        fault.map_or(Verdict::Open, |fault| Verdict::Refused(Reason::Volume(fault)))
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        match PodClaims::of(view.catalog, view.tags) {
            Ok(claims) => {
                nodes.retain(|node| claims.way(view.catalog, view.usage, *node).is_ok());
            }
            Err(_) => nodes.clear(),
        }
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        match PodClaims::of(view.catalog, view.tags) {
            Ok(claims) => {
                let way = claims.way(view.catalog, view.usage, node);
                reasons(way.err().into_iter().flatten())
            }
            Err(fault) => reasons([fault]),
        }
    }
}

/// How full the storage would be that the pod takes.
struct Fullness {
    shape: Vec<ShapePoint>,
}

impl Scores for Fullness {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        let claims = PodClaims::of(view.catalog, view.tags);
        claims.is_ok_and(|claims| claims.have_sizes(view.catalog))
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let Ok(claims) = PodClaims::of(view.catalog, view.tags) else { return out.fill(0) };
        for (node, out) in nodes.iter().zip(out) {
            let way = claims.way(view.catalog, view.usage, *node);
            *out = way.map_or(0, |way| self.score(&way));
        }
    }
}

impl Fullness {
    /// The mean over the classes of storage of how well what is taken fits what there is.
    fn score(&self, way: &Way<'_>) -> i32 {
        // By class: what is asked for, and what there is.
        let mut classes: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for (claim, volume) in &way.bound {
            let class = classes.entry(&volume.facts.scored_class).or_default();
            class.0 += claim.size.unwrap_or_default().units();
            class.1 += volume.facts.capacity.units();
        }
        let made = way.made.iter().filter(|_| way.bound.is_empty());
        for (claim, capacity) in made {
            let Some(capacity) = capacity.and_then(|it| it.facts.capacity) else { continue };
            let class = classes.entry(&claim.class).or_default();
            class.0 += claim.size.unwrap_or_default().units();
            class.1 = capacity;
        }
        let count = i64::try_from(classes.len()).unwrap_or(i64::MAX);
        if count == 0 {
            return 0;
        }
        let sum: i64 = classes.values().map(|(asked, there)| self.fit(*asked, *there)).sum();
        // Rounded half up; no score is below 0.
        let mean = (2 * sum + count) / (2 * count);
        i32::try_from(mean).unwrap_or(MAX_SCORE)
    }

    fn fit(&self, asked: i64, there: i64) -> i64 {
        let is_full = there == 0 || asked > there;
        let share = i128::from(asked) * 100 / i128::from(there.max(1));
        along(&self.shape, if is_full { 100 } else { i64::try_from(share).unwrap_or(100) })
    }
}
