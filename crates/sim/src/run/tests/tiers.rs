//! How pods are served while namespaces change and the API server fails: never better than an
//! administrator's object grants that came through, and as it says once it has.

use model::{Hints, Kind, Labels, Millis, Said, Tier, Time};

use super::super::{Doing, Run};
use super::gangs::{job, node, plan};
use crate::checkers::TIER;
use crate::plan::{Faults, Job, Life, NamespacePlan, Plan};
use crate::swarm::finish;

fn tier_label(tier: &str) -> Option<Labels> {
    Some([(TIER.into(), tier.into())].into())
}

fn namespace(name: &str, states: &[(u64, Option<Labels>)]) -> NamespacePlan {
    let states = states.iter().map(|(at, labels)| (Time(*at), labels.clone())).collect();
    NamespacePlan { name: name.into(), states }
}

/// A pod of a namespace that takes a whole node for a while.
fn pod(namespace: &str, at: u64, runs: u64) -> Job {
    let mut job = job(namespace, "", 1, 1, 1);
    (job.at, job.gang, job.runs) = (Time(at), None, Some((Millis(runs), Millis(runs))));
    job.spec.namespace = namespace.to_owned();
    job.spec.scheduler = "kubenexus-scheduler".to_owned();
    job
}

/// One place, taken until 40 s; two pods wait for it, of which that of `late` is the younger one.
fn contest(late: &[(u64, Option<Labels>)]) -> Plan {
    let jobs =
        vec![pod("busy", 1_000, 39_000), pod("early", 2_000, 1_000), pod("late", 3_000, 1_000)];
    let mut plan = plan(vec![node("a", 1)], jobs);
    let empty = &[(0, Some(Labels::default()))];
    plan.namespaces =
        vec![namespace("busy", empty), namespace("early", empty), namespace("late", late)];
    plan
}

fn wishing(mut plan: Plan, wish: Said<Tier>) -> Plan {
    let hints = Hints { tier: Some(wish), ..Hints::default() };
    plan.jobs[2].spec.hints = hints.if_any();
    plan
}

/// The tier of the pod of a job in a replica, as far as it knows the pod.
fn tier(run: &Run, replica: usize, job: &str) -> Option<Tier> {
    let mut pods = run.world.pods();
    let (_, pod) = pods.find(|(_, pod)| run.world.job(pod.job).name == job)?;
    let scheduler = &run.replicas[replica].scheduler;
    let id = scheduler.catalog().find_pod(&pod.key.uid)?;
    scheduler.profile(id).map(|profile| profile.tier.value)
}

/// Whether the pod of `late` went before the one of `early`.
fn is_late_first(mut run: Run) -> bool {
    run.run_until(run.end()).unwrap();
    let placed = |job: &str| run.pods().find(|pod| pod.job == job).unwrap().placed.unwrap();
    placed("late") < placed("early")
}

fn until(run: &mut Run, seconds: u64) {
    run.run_until(Time(seconds * 1000)).unwrap();
}

/// Nothing is shown of namespaces from now on.
fn break_watch(run: &mut Run) {
    run.replicas[0].watch(Kind::Namespace).cut();
}

/// Everything is listed.
fn heal(run: &mut Run) {
    let id = run.replicas[0].id;
    run.list(id, Kind::Namespace);
}

#[test]
fn who_goes_first_follows_from_the_label_of_the_namespace() {
    let is_first = |late: &[(u64, Option<Labels>)]| is_late_first(Run::inspected(contest(late)));
    assert!(is_first(&[(0, tier_label("gold"))]));
    assert!(is_first(&[(0, tier_label("silver"))]));
    assert!(is_first(&[(0, tier_label("bronze")), (30_000, tier_label("gold"))]), "it changes");
    assert!(is_first(&[(30_000, tier_label("gold"))]), "it comes");
    let back = [(0, tier_label("gold")), (20_000, None), (30_000, tier_label("gold"))];
    assert!(is_first(&back), "it comes back");
    assert!(!is_first(&[]), "nobody knows the namespace");
    assert!(!is_first(&[(0, tier_label("golden"))]), "a word that means nothing");
    assert!(!is_first(&[(0, tier_label("gold")), (30_000, Some(Labels::default()))]), "taken away");
    assert!(!is_first(&[(0, tier_label("gold")), (30_000, None)]), "deleted");
}

#[test]
fn a_label_that_goes_away_behind_a_broken_watch_is_gone_when_the_watch_heals() {
    for gone in [None, Some(Labels::default()), tier_label("platinum")] {
        let mut run = Run::inspected(contest(&[(0, tier_label("gold")), (10_000, gone)]));
        until(&mut run, 9);
        break_watch(&mut run);
        until(&mut run, 20);
        assert_eq!(
            tier(&run, 0, "late"),
            Some(Tier::Gold),
            "it was granted, and nothing was heard"
        );
        heal(&mut run);
        until(&mut run, 30);
        assert_eq!(tier(&run, 0, "late"), Some(Tier::Bronze));
        assert!(!is_late_first(run));
    }
}

#[test]
fn a_label_that_comes_behind_a_broken_watch_counts_when_the_watch_heals() {
    for before in [Vec::new(), vec![(0, Some(Labels::default()))], vec![(0, tier_label("bronze"))]]
    {
        let states = [before, vec![(10_000, tier_label("gold"))]].concat();
        let plan = || wishing(contest(&states), Said::Known(Tier::Gold));
        let mut run = Run::inspected(plan());
        until(&mut run, 9);
        break_watch(&mut run);
        until(&mut run, 20);
        assert_eq!(tier(&run, 0, "late"), Some(Tier::Bronze), "nothing was heard");
        heal(&mut run);
        until(&mut run, 30);
        assert_eq!(tier(&run, 0, "late"), Some(Tier::Gold));
        assert!(is_late_first(run));
    }
}

#[test]
fn a_list_that_breaks_off_takes_nothing_away_and_gives_nothing() {
    let changes = |late: Option<Labels>, then: Option<Labels>| {
        let mut run = Run::inspected(contest(&[(0, late), (10_000, then)]));
        until(&mut run, 9);
        run.faults.broken_list_percent = 100;
        let id = run.replicas[0].id;
        run.cut(id, Kind::Namespace);
        until(&mut run, 30);
        assert!(run.world.happened().lists_broken > 2);
        let broken = tier(&run, 0, "late");
        run.faults.broken_list_percent = 0;
        until(&mut run, 39);
        (broken, tier(&run, 0, "late"))
    };
    let (gold, bronze) = (Some(Tier::Gold), Some(Tier::Bronze));
    assert_eq!(changes(tier_label("gold"), None), (gold, bronze), "only a whole list ends it");
    assert_eq!(changes(None, None), (bronze, bronze));
    assert_eq!(changes(tier_label("bronze"), tier_label("Gold")), (bronze, bronze));
}

#[test]
fn a_replica_that_has_not_heard_of_a_namespace_serves_it_as_anybody_and_does_not_lead() {
    let mut plan = contest(&[(0, tier_label("gold"))]);
    plan.faults.leader_lost_every = Some(Millis::seconds(1_000_000));
    let mut run = Run::inspected(plan);
    until(&mut run, 5);
    run.leader_lost();
    // The replica that starts in its place gets no answer when it lists namespaces.
    run.agenda.retain(|doing| !matches!(doing, Doing::Lists(_, Kind::Namespace)));
    until(&mut run, 30);
    assert_eq!(tier(&run, 0, "late"), Some(Tier::Gold), "the standby knew it all along");
    assert_eq!(tier(&run, 1, "late"), Some(Tier::Bronze));
    run.leader_lost();
    until(&mut run, 60);
    assert_eq!(tier(&run, 0, "late"), Some(Tier::Bronze));
    assert!(run.leader().is_none(), "nobody leads who has not listed everything");
    heal(&mut run);
    until(&mut run, 80);
    assert!(run.leader().is_some());
    assert!(is_late_first(run), "it is served as its namespace says");
}

#[test]
fn what_is_granted_after_a_change_of_leaders_does_not_count_before_it_is_heard_of() {
    let mut plan = contest(&[(25_000, tier_label("gold"))]);
    plan.faults.leader_lost_every = Some(Millis::seconds(1_000_000));
    let mut run = Run::inspected(plan);
    until(&mut run, 3);
    run.leader_lost();
    until(&mut run, 24);
    assert!(run.leader().is_some());
    break_watch(&mut run);
    until(&mut run, 39);
    assert_eq!(tier(&run, 0, "late"), Some(Tier::Bronze));
    assert!(!is_late_first(run));
}

#[test]
fn what_a_pod_asks_for_only_ever_lowers_its_tier() {
    let (gold, bronze) = (Said::Known(Tier::Gold), Said::Known(Tier::Bronze));
    let nonsense = Said::Unknown("golden".into());
    let ends = |states: &[(u64, Option<Labels>)], wish: &Said<Tier>| {
        let asked = is_late_first(Run::inspected(wishing(contest(states), wish.clone())));
        let mut later = contest(states);
        later.jobs[2].life =
            Life { wishes: Some((Millis(10_000), wish.clone())), ..Life::default() };
        assert_eq!(is_late_first(Run::inspected(later)), asked, "{wish:?} of {states:?}");
        asked
    };
    assert!(ends(&[(0, tier_label("gold"))], &gold));
    assert!(!ends(&[(0, tier_label("gold"))], &bronze));
    assert!(!ends(&[(0, tier_label("gold"))], &nonsense));
    for states in [vec![], vec![(0, Some(Labels::default()))], vec![(0, tier_label("bronze"))]] {
        assert!(!ends(&states, &gold));
        assert!(!ends(&states, &nonsense));
    }
}

#[test]
fn on_a_bad_day_everybody_ends_as_his_namespace_says() {
    let words = ["gold", "silver", "bronze", "golden"];
    for seed in 0..12 {
        let state = |step: u64| {
            let word = words[(seed + step) as usize % words.len()];
            (step * 4_000, if (seed + step).is_multiple_of(5) { None } else { tier_label(word) })
        };
        let states: Vec<_> = (0..20).map(state).collect();
        let mut plan = wishing(contest(&states), Said::Known(Tier::Gold));
        // It is there to the end.
        plan.jobs[2].runs = None;
        let faults = Faults {
            watch: (Millis(0), Millis(3_000)),
            watch_cut_every: Some(Millis(700)),
            leader_lost_every: Some(Millis::seconds(20)),
            lost_percent: 10,
            broken_list_percent: 50,
            ..Faults::NONE
        };
        let plan = Plan { seed, faults, ..plan };
        finish(Run::inspected(plan.clone())).unwrap();
        let mut run = Run::inspected(plan);
        run.run_until(run.end()).unwrap();
        run.calm_down();
        run.prolong(Millis::seconds(60));
        run.run_until(run.end()).unwrap();
        let (_, last) = states.last().unwrap();
        let granted = match last.as_ref().map(|labels| &*labels[0].1) {
            Some("gold") => Tier::Gold,
            Some("silver") => Tier::Silver,
            Some(_) | None => Tier::Bronze,
        };
        assert_eq!(tier(&run, 0, "late"), Some(granted), "seed {seed}");
    }
}
