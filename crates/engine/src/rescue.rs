//! What else can be done for a pod that fits nowhere.

use framework::Rescues;
use model::{Code, NodeId, PodId, Reason, Rescue};

use crate::cycle::Within;
use crate::preempt::Contest;
use crate::screen::Screen;
use crate::trial::Trial;

/// Pods to evict so that a pod finds room on a node.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) node: NodeId,
    /// The most important first.
    pub(crate) victims: Box<[PodId]>,
}

/// What comes of asking who could help a pod. `asked` plugins found nothing wrong before any node
/// was looked at, and on `evictable` nodes room could help. Nobody is evicted from nodes that the
/// pod's gang rules out.
pub(crate) fn rescue(
    trial: &mut Trial<'_, '_>,
    (asked, evictable): (usize, usize),
    within: &Within,
    seed: u64,
) -> (Rescue, Option<Plan>) {
    let contest = match contest(trial, (asked, evictable)) {
        Ok(contest) => contest,
        Err(rescue) => return (rescue, None),
    };
    let best =
        contest.best(within, seed).map(|(node, candidate)| (node, candidate.victims.clone()));
    let result = match best {
        Some((node, victims)) => {
            let name = trial.txn.catalog().node_name(node).into();
            let rescue = Rescue::Preempts { node: name, victims: victims.len() };
            (rescue, Some(Plan { node, victims }))
        }
        None => {
            let (considered, without_victims, counts) = contest.failures(within);
            (Rescue::NoCandidates { without_victims, counts, considered }, None)
        }
    };
    trial.board.keep_contest(contest);
    result
}

/// What evicting would do on every node; or what there is to say if nobody may be evicted.
pub(crate) fn contest(
    trial: &mut Trial<'_, '_>,
    (asked, evictable): (usize, usize),
) -> Result<Contest, Rescue> {
    let Rescues { preemption, claims_after } = trial.board.rescues;
    if claims_after.is_some_and(|after| asked < after) {
        return Err(Rescue::ClaimsUnknown);
    }
    if !preemption {
        return Err(if claims_after.is_some() { Rescue::Silent } else { Rescue::NotAsked });
    }
    if !trial.pod.rest.is_preempting {
        return Err(Rescue::NotPreempting);
    }
    if are_victims_leaving(trial) {
        return Err(Rescue::VictimsLeaving);
    }
    let lowest = trial.txn.catalog().lowest_placed_priority();
    if evictable == 0 || lowest.is_none_or(|lowest| lowest >= trial.pod.rest.priority) {
        return Err(Rescue::NoVictims(evictable));
    }
    let mut contest = trial.board.take_contest(trial.pod.rest.priority);
    contest.refresh(trial);
    Ok(contest)
}

/// Whether pods on the node that is proposed for the pod are leaving for it already. It has to wait
/// for them, unless the node is of no use to it any more.
fn are_victims_leaving(trial: &mut Trial<'_, '_>) -> bool {
    let catalog = trial.txn.catalog();
    let Some(node) = catalog.nominated_node(trial.id) else { return false };
    let is_leaving = |pod: &PodId| {
        let pod = catalog.pod(*pod);
        pod.rest.priority < trial.pod.rest.priority && (pod.rest.is_preempted || pod.is_evicted)
    };
    if !catalog.pods_on(node).iter().any(is_leaving) {
        return false;
    }
    let (_, reasons) = trial.why_not(&Screen::Open, node).unwrap_or_default();
    Code::worst(&reasons) != Some(Code::Unresolvable)
}

/// Whether a reason of a node ends an attempt: nobody is evicted for a pod of which it is not known
/// what would become.
pub(crate) fn ends_attempt(reason: &Reason) -> bool {
    is_own(reason) || reason.code() == Code::Error
}

/// Whether kube-scheduler would not give this reason, so that it is not known what it would do.
pub(crate) fn is_own(reason: &Reason) -> bool {
    matches!(reason, Reason::NotSupported(_))
}
