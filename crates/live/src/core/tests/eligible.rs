//! Pods that had gates, between the removal of the last one and what comes of their first try.

use super::*;

/// A pod that has gates, or had some until now.
fn gated(name: &str, gates: Value) -> Input {
    let spec = json!({"schedulerName": "default-scheduler", "schedulingGates": gates,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]});
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates"});
    let object = json!({"metadata": {"name": name, "namespace": "team", "uid": format!("u-{name}"),
        "generation": 2, "resourceVersion": "9"}, "spec": spec,
        "status": {"conditions": [condition]}});
    let seen = ingest::read_pod(object.to_string().as_bytes()).expect("a pod");
    Input::Seen(Seen { version: 9, standing: seen.standing, ..Seen::plain(seen.event) })
}

/// Nodes for all, and as many bindings out as there may be.
fn busy() -> Bench {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(200));
    for at in 0..BINDS_MAX {
        bench.see(pod(&format!("p{at}"), json!({}), json!({}), ""));
    }
    bench.listed();
    assert_eq!(bench.decided().len(), BINDS_MAX);
    bench
}

impl Bench {
    /// What the pod is told when so much time has passed.
    fn told_after(&mut self, span: Duration) -> Option<Tell> {
        self.core.start -= span;
        self.core.state.eligible_seen = None;
        self.core.decide(&mut Vec::new());
        self.core.tell_eligible();
        match self.orders.try_recv() {
            Ok(Order::Tell(tell)) => Some(tell),
            Ok(other) => panic!("{}", word(other)),
            Err(_) => None,
        }
    }
}

#[test]
fn a_pod_whose_gates_are_gone_is_told_so_while_it_waits_for_its_turn() {
    let mut bench = busy();
    bench.core.take(gated("a", json!([{"name": "quota"}])));
    assert!(bench.told_after(Duration::from_secs(5)).is_none(), "it has gates");
    assert_eq!(bench.core.eligible_patience(), None);
    bench.core.take(gated("a", json!([])));
    let became = unix_ms();
    assert!(bench.told_after(Duration::from_millis(300)).is_none(), "that is no time");
    assert_eq!(bench.core.eligible_patience(), Some(Duration::from_secs(1)), "it is looked at");
    let tell = bench.told_after(Duration::from_secs(2)).expect("it is told");
    assert_eq!((tell.reason, tell.has_event, &*tell.pod.version), ("Queued", false, "9"));
    let status = tell.status.expect("its status says so");
    assert_eq!((status.is_transition, status.generation), (true, 2));
    // The clock of the test jumped by 2.3 s.
    let since = tell.since_unix_ms.expect("since then") + 2_300;
    assert!(since.abs_diff(became) < 1_000, "{since} {became}");
    assert!(bench.told_after(Duration::from_secs(2)).is_none(), "once");
}

/// Neither the binding nor the reason of a pod that has its turn at once is held up by a write.
#[test]
fn a_pod_whose_turn_comes_at_once_is_told_nothing_beside() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(1));
    bench.listed();
    bench.core.take(gated("a", json!([])));
    bench.core.take(gated("b", json!([])));
    assert_eq!(bench.decided(), ["bind a", "tell b"]);
    assert!(bench.told_after(Duration::from_secs(60)).is_none());
}

/// It says since when, though it is the first that was written of the pod.
#[test]
fn the_first_try_that_fails_says_since_when_the_pod_could_be_placed() {
    let mut bench = busy();
    bench.core.take(gated("a", json!([])));
    let became = unix_ms();
    bench.core.start -= Duration::from_secs(20);
    let event = Event::gone(Kind::Node, "n");
    bench.see(event);
    bench.core.state.in_flight = 0;
    bench.core.decide(&mut Vec::new());
    let Ok(Order::Tell(tell)) = bench.orders.try_recv() else { panic!("no node takes it") };
    assert_eq!(tell.reason, "Unschedulable");
    assert!(tell.status.is_some_and(|status| status.is_transition));
    let since = tell.since_unix_ms.expect("since then") + 20_000;
    assert!(since.abs_diff(became) < 1_000, "{since} {became}");
}

/// Pods that wait for the gates of others of their gang are held.
#[test]
fn a_pod_of_a_gang_that_is_not_complete_is_not_told_that_it_waits_for_its_turn() {
    let mut bench = busy();
    let Input::Seen(mut seen) = gated("a", json!([])) else { panic!("a pod") };
    let Event::Seen(Fact::Pod(facts)) = &mut seen.event else { panic!("a pod") };
    let claim = model::GangClaim { name: "g".into(), min: Some(2), ..Default::default() };
    facts.gang = Some(Arc::new(claim));
    bench.core.take(Input::Seen(seen));
    assert!(bench.told_after(Duration::from_secs(60)).is_none());
}
