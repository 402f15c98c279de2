//! Bugs that serve pods better than an administrator grants, or worse.

use model::{
    Event, Fact, Hints, Key, Kind, Labels, Millis, NamespaceFacts, Present, Said, Tier, Time,
};

use super::{Alters, FailureKind, caught, check, plan, run};
use crate::checkers::TIER;
use crate::plan::{NamespacePlan, Plan};

fn labels(tier: &str) -> Labels {
    [(TIER.into(), tier.into())].into()
}

/// Pods of a namespace that is there with a label from the start, and is deleted when they run.
fn served(tier: &str, wish: Option<Tier>) -> Plan {
    let mut plan = plan();
    let spec = &mut plan.jobs[0].spec;
    spec.scheduler = "kubenexus-scheduler".to_owned();
    let hints = Hints { tier: wish.map(Said::Known), ..Hints::default() };
    spec.hints = hints.if_any();
    let states = vec![(Time(0), Some(labels(tier))), (Time(5_000), None)];
    plan.namespaces = vec![NamespacePlan { name: "team".into(), states }];
    plan
}

const TOO_HIGH: &str = "is gold, but what was delivered makes it bronze";

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for tier in ["gold", "silver", "golden", ""] {
        for wish in [None, Some(Tier::Gold), Some(Tier::Bronze)] {
            assert_eq!(run(served(tier, wish), Alters(|_: &mut Event| true)), Ok(()));
        }
    }
}

#[test]
fn labels_that_outlive_their_namespace_are_caught() {
    let bug = Alters(|event: &mut Event| {
        !matches!(event, Event::Gone(Key { kind: Kind::Namespace, .. }))
    });
    check(&caught(served("gold", None), bug), FailureKind::Wrong, TOO_HIGH);
}

#[test]
fn a_namespace_that_a_list_does_not_end_is_caught() {
    let mut plan = served("gold", None);
    // Watches are cut so often that only a list tells of some deletions.
    let state =
        |number: u64| (Time(number * 3_000), number.is_multiple_of(2).then(|| labels("gold")));
    plan.namespaces[0].states = (0..10).map(state).collect();
    plan.faults.watch_cut_every = Some(Millis(300));
    assert_eq!(run(plan.clone(), Alters(|_: &mut Event| true)), Ok(()));
    let bug = Alters(|event: &mut Event| {
        if let Event::Listed(Kind::Namespace, Present::Names(names)) = event {
            names.insert("team".into());
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, TOO_HIGH);
}

#[test]
fn a_word_that_means_nothing_and_is_taken_for_a_tier_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Namespace(facts)) = event {
            facts.labels = labels("gold");
        }
        true
    });
    check(&caught(served("golden", None), bug), FailureKind::Wrong, TOO_HIGH);
}

#[test]
fn a_wish_that_raises_a_tier_is_caught() {
    // What a pod wishes is taken for what its namespace grants.
    let mut wished = false;
    let bug = Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event
            && !std::mem::replace(&mut wished, true)
        {
            let facts =
                NamespaceFacts { name: facts.key.namespace.clone(), labels: labels("gold") };
            *event = Event::seen(facts);
        }
        true
    });
    let plan = served("bronze", Some(Tier::Gold));
    check(&caught(plan, bug), FailureKind::Wrong, TOO_HIGH);
}

#[test]
fn a_wish_to_be_served_less_that_is_ignored_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            facts.spec.hints = None;
        }
        true
    });
    let plan = served("gold", Some(Tier::Bronze));
    check(&caught(plan, bug), FailureKind::Wrong, TOO_HIGH);
}
