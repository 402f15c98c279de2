//! The rankings of a profile, prepared for a class, and in what unit their scores are added up.

use framework::{FINE, FINE_WEIGHTS_MAX, Parts, Profile, Ranking, Reach, Scores, WholePoints};
use model::{Catalog, Class};

/// A ranking prepared for the class.
pub(crate) struct Prepared {
    pub(crate) plugin: &'static str,
    /// What a raw score counts, in units of totals.
    pub(crate) weight: i32,
    pub(crate) scores: Box<dyn Scores>,
}

/// All rankings of a class.
pub(super) struct Ranked {
    pub(super) rankings: Vec<Prepared>,
    /// How many units of totals make a point.
    pub(super) per_point: i32,
    /// What of a spec those read that reach no further than facts.
    pub(super) parts: Parts,
    /// What else they depend on.
    pub(super) variants: Vec<(&'static str, u64)>,
}

/// Prepares the rankings of a profile for a class. Totals are counted in points, and in parts of a
/// point if any ranking is so fine and weights leave room for it.
pub(super) fn rank(profile: &Profile, catalog: &Catalog, class: &Class) -> Ranked {
    let (mut parts, mut variants) = (Parts::default(), Vec::new());
    let prepare = |ranking: &Ranking| {
        let scores = ranking.plugin.prepare(catalog, class)?;
        // Without weight a ranking still has a say: it can find the question broken.
        if ranking.weight == 0 && !scores.is_broken() {
            return None;
        }
        if scores.reach() == Reach::Facts {
            parts = parts | ranking.plugin.reads();
            let variant = Some(scores.variant()).filter(|variant| *variant != 0);
            variants.extend(variant.map(|variant| (ranking.plugin.name(), variant)));
        }
        Some(Prepared { plugin: ranking.plugin.name(), weight: ranking.weight, scores })
    };
    let mut rankings: Vec<_> = profile.rankings.iter().filter_map(prepare).collect();
    let is_any_fine = rankings.iter().any(|prepared| prepared.scores.is_fine());
    let weights = profile.rankings.iter().map(|ranking| i64::from(ranking.weight).abs());
    let per_point = if is_any_fine && weights.sum::<i64>() <= FINE_WEIGHTS_MAX { FINE } else { 1 };
    if is_any_fine {
        rankings = rankings.into_iter().map(|prepared| in_units(prepared, per_point)).collect();
    }
    Ranked { rankings, per_point, parts, variants }
}

fn in_units(prepared: Prepared, per_point: i32) -> Prepared {
    let Prepared { plugin, weight, scores } = prepared;
    match (scores.is_fine(), per_point) {
        (true, 1) => Prepared { plugin, weight, scores: Box::new(WholePoints(scores)) },
        (true, _) => Prepared { plugin, weight, scores },
        (false, _) => Prepared { plugin, weight: weight * per_point, scores },
    }
}

/// Changes when something beyond single nodes does on which scores by load depend.
// Hot: once per pod.
pub(super) fn load_revision(rankings: &[Prepared], catalog: &Catalog) -> u64 {
    let by_load = rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Load);
    by_load.fold(0, |sum, ranking| sum.wrapping_add(ranking.scores.revision(catalog)))
}
