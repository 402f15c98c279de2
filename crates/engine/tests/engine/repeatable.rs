//! The same events lead to the same decisions, and how often the engine is asked in between does
//! not change who finds a place.

use model::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, default_profile, draw};

use crate::cold_path::{act, config, patient, profiles};

/// All decisions of a story, in words.
fn decisions(profile: usize, lines: &[String]) -> Vec<String> {
    let mut run = patient(&profiles()[profile]);
    let mut all = Vec::new();
    for line in lines {
        act(&mut run, line);
        run.now = run.now + Millis(700);
        all.extend(run.command("step"));
    }
    all
}

/// Who is on a node after all lines, with a step after every `pace` of them and at the end.
fn placed(lines: &[String], pace: usize) -> Vec<String> {
    let mut run = patient(&default_profile());
    for (at, line) in lines.iter().enumerate() {
        act(&mut run, line);
        run.now = run.now + Millis::seconds(11);
        if at % pace == 0 {
            run.command("step");
        }
    }
    run.command("step");
    let is_placed = |run: &Script, uid: &str| {
        let catalog = run.scheduler.catalog();
        let pod = catalog.find_pod(uid).map(|pod| catalog.pod(pod).state.node());
        pod.flatten().is_some()
    };
    run.pods.keys().filter(|uid| is_placed(&run, uid)).cloned().collect()
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn the_same_events_lead_to_the_same_decisions(
        profile in 0usize..6,
        nodes in vec(any::<u64>(), 1..12),
        events in vec(any::<u64>(), 60..80),
    ) {
        let start = nodes.iter().enumerate().map(|(at, dice)| draw::node(at, *dice));
        let events = events.iter().map(|dice| draw::event(nodes.len(), 30, *dice));
        let lines: Vec<_> = start.chain(events).collect();
        prop_assert_eq!(decisions(profile, &lines), decisions(profile, &lines));
    }

    #[test]
    fn with_room_for_all_the_pace_does_not_decide_who_is_placed(
        nodes in 1usize..6,
        pods in vec((any::<u64>(), any::<bool>()), 1..30),
    ) {
        let mut lines: Vec<_> =
            (0..nodes).map(|at| format!("node n{at} cpu=100 memory=200Gi zone=x")).collect();
        for (at, (dice, is_deleted)) in pods.iter().enumerate() {
            let zone = if dice % 5 == 0 { "select=zone:y" } else { "select=zone:x" };
            lines.push(format!("pod p{at} cpu={} {zone} priority={}", dice % 3, dice % 7));
            if *is_deleted {
                lines.push(format!("gone pod p{}", dice % 30));
            }
        }
        let eager = placed(&lines, 1);
        prop_assert_eq!(&eager, &placed(&lines, 7));
        prop_assert_eq!(&eager, &placed(&lines, usize::MAX));
    }
}
