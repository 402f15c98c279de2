//! What property tests of the engine share: profiles to draw from, and the cold path as a judge.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use framework::{Args, FitArgs, ProfileSettings, ResourceWeight, ShapePoint, SpreadArgs, Strategy};
use kubenexus_engine::{Backoff, Judgement, NodeJudgement, Options, Place};
use model::{
    Decision, Diagnosis, Hold, HoldOwner, Millis, NodeId, PodId, PodState, Preemption, Reason,
    Rescue, SpreadSpec, Txn, Usage,
};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use testkit::{Script, default_profile, own_profile, with_args};

/// The same cases in every run, unless the environment asks for others. `PROPTEST_CASES` says how
/// many where 256 stands for the usual number.
pub(super) fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        RngSeed::Fixed(seed) => RngSeed::Fixed(seed),
    };
    let cases = cases * asked.cases / 256;
    let max_shrink_iters = 4096;
    ProptestConfig { cases, rng_seed, max_shrink_iters, failure_persistence: None, ..asked }
}

/// The default profile, others that rank differently, and one with another order.
pub(super) fn profiles() -> Vec<ProfileSettings> {
    let ranked = |strategy| {
        let resources = [("cpu", 1), ("memory", 3), ("nvidia.com/gpu", 2)];
        let resource = |(name, weight): (&str, i64)| ResourceWeight { name: name.into(), weight };
        let resources = resources.map(resource).into();
        let args = FitArgs { strategy, resources, ..FitArgs::default() };
        with_args(default_profile(), "NodeResourcesFit", Args::Fit(args))
    };
    let shape = [(0, 0), (40, 10), (100, 2)];
    let shape = shape.map(|(utilization, score)| ShapePoint { utilization, score });
    let mut heavy = default_profile();
    for (_, choices) in &mut heavy.points {
        choices.iter_mut().filter(|c| c.name == "NodeAffinity").for_each(|c| c.weight = 900_000);
    }
    vec![
        default_profile(),
        ranked(Strategy::MostAllocated),
        ranked(Strategy::RequestedToCapacityRatio(shape.into())),
        heavy,
        strict(),
        own_profile(),
    ]
}

/// A profile that demands that pods are spread which do not say so themselves.
pub(super) fn strict() -> ProfileSettings {
    let constraint = |(key, max_skew, is_required): (&str, i32, bool)| SpreadSpec {
        key: key.into(),
        selector: None,
        max_skew,
        min_domains: 1,
        is_required,
        honours_affinity: true,
        honours_taints: false,
    };
    let list = [("zone", 1, true), ("kubernetes.io/hostname", 2, false)].map(constraint);
    let args = Args::Spread(SpreadArgs::List(list.into()));
    with_args(default_profile(), "PodTopologySpread", args)
}

/// A scheduler in which parked units wait for a change, however long it takes.
pub(super) fn patient(profile: &ProfileSettings) -> Script {
    keeping(profile, Options::default().board_bytes_max)
}

/// The same with room for the results of a few classes only.
pub(super) fn forgetful(profile: &ProfileSettings) -> Script {
    keeping(profile, 6 << 10)
}

fn keeping(profile: &ProfileSettings, board_bytes_max: usize) -> Script {
    let backoff = Backoff { flush: Millis::seconds(1 << 40), ..Backoff::default() };
    Script::new(
        std::slice::from_ref(profile),
        Options { backoff, seed: 7, board_bytes_max, ..Options::default() },
    )
}

/// Runs a drawn line, unless it is an answer to a binding that was not sent.
pub(super) fn act(run: &mut Script, line: &str) {
    let words: Vec<_> = line.split_whitespace().collect();
    let is_answer = matches!(words[0], "confirm" | "refuse");
    if !is_answer || run.assumed(words[1]).is_some() {
        run.command(line);
    }
}

/// Decides about all units whose turn it is, one by one, and holds every decision against the
/// cold path, asked just before.
pub(super) fn step_judged(run: &mut Script) -> Vec<Decision> {
    let mut all = Vec::new();
    loop {
        let judgements: BTreeMap<PodId, Judgement> =
            waiting(run).into_iter().map(|pod| (pod, judged(run, pod))).collect();
        let catalog = run.scheduler.catalog();
        let proposed = |pod: &PodId| (*pod, catalog.nominated_node(*pod));
        let proposed: BTreeMap<_, _> = judgements.keys().map(proposed).collect();
        let mut decisions = Vec::new();
        run.scheduler.step(run.now, 1, &mut decisions);
        if decisions.is_empty() {
            return all;
        }
        for decision in &decisions {
            match decision {
                Decision::Bind { pod, node, .. } => {
                    let proposed = proposed.get(pod).copied().flatten();
                    check_bound(&judgements[pod], *node, proposed);
                }
                Decision::Preempt(plan) => check_preempts(&judgements[&plan.pod], plan),
                Decision::Disband(_) | Decision::Report(_) => unreachable!("there are no gangs"),
                Decision::Prepare(_) | Decision::Unprepared { .. } => {
                    unreachable!("there are no volumes")
                }
                Decision::Wait(waiting) => {
                    check_waits(&judgements[&waiting.pod], &waiting.diagnosis);
                }
            }
        }
        all.extend(decisions);
    }
}

/// Pods on no node.
pub(super) fn waiting(run: &Script) -> Vec<PodId> {
    let catalog = run.scheduler.catalog();
    let known = run.pods.keys().filter_map(|uid| catalog.find_pod(uid));
    known.filter(|pod| catalog.pod(*pod).state == PodState::Waiting).collect()
}

/// What the cold path thinks of a pod.
pub(super) fn judged(run: &mut Script, pod: PodId) -> Judgement {
    run.scheduler.judge_waiting(pod)
}

/// The total of every node that fits, and first whether it is no last resort.
pub(super) fn totals(judgement: &Judgement) -> BTreeMap<NodeId, (bool, i32)> {
    let total = |(node, verdict): &(NodeId, NodeJudgement)| match verdict {
        NodeJudgement::Fits(merits) => {
            let sum = merits.scores.iter().map(|(_, score)| score).sum();
            Some((*node, (!merits.is_last_resort, sum)))
        }
        NodeJudgement::Unfit(..) => None,
    };
    judgement.nodes.iter().filter_map(total).collect()
}

fn check_bound(judgement: &Judgement, node: NodeId, proposed: Option<NodeId>) {
    assert_eq!(judgement.refusal, None, "bound although refused");
    let totals = totals(judgement);
    // A node that is proposed and takes the pod is not compared with others.
    if let Some(proposed) = proposed.filter(|node| totals.contains_key(node)) {
        return assert_eq!(node, proposed);
    }
    assert_eq!(judgement.fault, None, "bound although nodes cannot be ranked");
    let best = totals.values().max();
    assert_eq!(totals.get(&node), best, "{node:?} is not the best of {totals:?}");
}

fn check_preempts(judgement: &Judgement, plan: &Preemption) {
    let judged = judgement.preemption.as_ref().expect("evicting helps");
    let found = judged.candidates.iter().find(|(node, _, _)| *node == plan.node);
    let (_, victims, _) = found.expect("evicting helps on that node");
    assert!(plan.victims.iter().all(|victim| victims.contains(victim)), "{plan:?}: {victims:?}");
}

fn check_waits(judgement: &Judgement, diagnosis: &Diagnosis) {
    let rejection = match (&judgement.refusal, &judgement.fault) {
        (Some((_, reason)), _) | (None, Some(reason)) => Some(reason),
        (None, None) => None,
    };
    let Some(said) = &diagnosis.rejection else {
        assert_eq!(rejection, None, "waits for nodes although refused");
        assert_eq!(totals(judgement), BTreeMap::new(), "waits although nodes fit");
        assert_eq!(diagnosis.counts, counts(judgement), "reasons of nodes");
        let preempts = judgement.preemption.as_ref().map(|preemption| {
            let victims = |(_, victims, _): &(_, Vec<PodId>, _)| victims.len();
            preemption.candidates.iter().map(victims).collect::<Vec<_>>()
        });
        match (&diagnosis.rescue, preempts) {
            (Rescue::Preempts { victims, .. }, Some(candidates)) => {
                assert!(candidates.contains(victims), "{victims} of {candidates:?}");
            }
            (rescue, preempts) => {
                assert!(!matches!(rescue, Rescue::Preempts { .. }), "evicts, which is no use");
                assert_eq!(preempts, None, "{rescue:?}, though evicting helps");
            }
        }
        return assert_eq!(diagnosis.nodes, judgement.nodes.len());
    };
    // Without nodes the cold path says nothing; the engine still names what is wrong for good.
    match diagnosis.nodes {
        0 => assert!(judgement.nodes.is_empty() && judgement.refusal.is_none()),
        _ => assert_eq!(Some(said), rejection),
    }
}

fn counts(judgement: &Judgement) -> Vec<(Reason, usize)> {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    for (_, verdict) in &judgement.nodes {
        match verdict {
            NodeJudgement::Unfit(_, reasons) => {
                reasons.iter().for_each(|reason| *counts.entry(reason.clone()).or_default() += 1);
            }
            NodeJudgement::Fits(_) => {}
        }
    }
    counts.into_iter().collect()
}

/// Nobody may be parked while a node has room.
pub(super) fn check_none_oversleeps(run: &mut Script) {
    for pod in waiting(run) {
        if !matches!(run.scheduler.place_of(pod), Some(Place::Parked(_))) {
            continue;
        }
        let judgement = judged(run, pod);
        let is_stuck = judgement.refusal.is_some() || judgement.fault.is_some();
        let pod = run.scheduler.catalog().pod(pod);
        let is_rightly_asleep = is_stuck || totals(&judgement).is_empty();
        assert!(is_rightly_asleep, "{} sleeps although a node fits", pod.key.uid);
    }
}

/// What is taken must be what the pods on nodes take.
pub(super) fn check_usage(run: &Script) {
    let catalog = run.scheduler.catalog();
    let mut rebuilt = Usage::default();
    rebuilt.grow(catalog);
    let mut txn = Txn::begin(catalog, &mut rebuilt);
    let mut count = 0;
    for pod in run.pods.keys().filter_map(|uid| catalog.find_pod(uid)) {
        count += 1;
        if let Some(node) = catalog.pod(pod).state.node() {
            txn.place(catalog.pod(pod).occupant(pod), node);
        }
    }
    txn.commit();
    assert_eq!(catalog.pod_count(), count, "pods that nobody gave");
    let placed = catalog.pods().map(|pod| catalog.pod(pod)).filter(|p| p.state.node().is_some());
    let lowest = placed.map(|pod| pod.rest.priority).min();
    assert_eq!(catalog.lowest_placed_priority(), lowest, "the lowest priority on nodes");
    for node in (0..catalog.node_places()).map(NodeId::at) {
        assert_eq!(run.scheduler.usage().load(node), rebuilt.load(node), "load of {node:?}");
    }
    let hold = |owner: PodId| {
        let (pod, node) = (catalog.pod(owner), catalog.nominated_node(owner)?);
        let occupant = pod.occupant(owner);
        let owner = HoldOwner::Pod(owner);
        Some(Hold { owner, occupant, node, priority: pod.rest.priority })
    };
    let mut proposed: Vec<Hold> = waiting(run).into_iter().filter_map(hold).collect();
    proposed.sort_unstable_by_key(|hold| {
        (hold.node, Reverse(hold.priority), format!("{:?}", hold.owner))
    });
    let mut holds: Vec<Hold> = run.scheduler.usage().holds().of_pods().copied().collect();
    assert!(holds.is_sorted_by_key(|hold| (hold.node, Reverse(hold.priority))), "{holds:?}");
    holds.sort_unstable_by_key(|hold| {
        (hold.node, Reverse(hold.priority), format!("{:?}", hold.owner))
    });
    assert_eq!(holds, proposed, "room that is held");
    let classes = catalog.pods().map(|pod| catalog.class(catalog.pod(pod).class));
    for crowd in classes.flat_map(|class| class.company.crowds()) {
        for node in (0..catalog.node_places()).map(NodeId::at) {
            let kept = run.scheduler.usage().in_crowd(crowd, node);
            assert_eq!(kept, rebuilt.in_crowd(crowd, node), "{crowd:?} on {node:?}");
        }
    }
}
