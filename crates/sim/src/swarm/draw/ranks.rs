//! PodGroups of Kubernetes that say how important all of their pods are.

use model::PodGroupKind;

use crate::dice::{Dice, Stream};
use crate::plan::{Job, PodGroupPlan};

/// In some worlds they do: most say what the pods of the gang say, some contradict them, as all do
/// whose pods differ. The dice are their own, so that nothing else of a world is another one.
pub(super) fn draw(seed: u64, jobs: &[Job], groups: &mut [PodGroupPlan]) {
    let mut dice = Dice::new(seed, Stream::Ranks);
    if !dice.percent(40) {
        return;
    }
    for facts in groups.iter_mut().map(|group| &mut group.facts) {
        let is_in = |job: &&Job| job.gang.as_ref().is_some_and(|gang| gang.gang == facts.key.name);
        let said = jobs.iter().find(is_in).map(|job| job.priority);
        let other = dice.percent(20).then(|| dice.pick(&[-5, 0, 10]));
        if facts.key.kind == PodGroupKind::Native {
            facts.priority = other.or(said);
        }
    }
}
