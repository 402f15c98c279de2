//! Who goes first with our own order: turns between namespaces, starving units, tiers and
//! namespaces inside a priority, and that none of it lets anyone pass a higher priority.

use framework::{
    Args, ClassifierArgs, CoschedulingArgs, NamespaceOffset, Namespaces, ProfileSettings, Tenant,
};
use kubenexus_engine::{Checkpoint, Options};
use model::{Event, Moment, Tier, Time};
use testkit::{Script, check_with, default_profile, own_profile, with_args};

fn check(script: &str) {
    check_with(&[own_profile()], script);
}

/// Pods in the order in which they were decided about.
fn order(run: &mut Script, step: &str) -> Vec<String> {
    let said = run.command(step);
    said.iter().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// A run with 100 pods of namespace `a` and, younger than all of them, 10 of namespace `b`.
fn crowded(asks: &str) -> Script {
    let mut run = Script::new(&[own_profile()], Options::default());
    for at in 0..4 {
        run.command(&format!("node n{at} cpu=64 memory=256Gi pods=500"));
    }
    for (namespace, count) in [("a", 100), ("b", 10)] {
        for at in 0..count {
            let line = format!("pod {namespace}{at} {asks} namespace={namespace} created={at}");
            run.command(&line);
        }
    }
    run
}

/// The position of the last pod of a namespace, counted from one.
fn last_of(namespace: char, order: &[String]) -> usize {
    let last = order.iter().rposition(|pod| pod.starts_with(namespace));
    last.expect("a pod of that namespace was placed") + 1
}

#[test]
fn ten_pods_are_placed_by_position_21_beside_a_hundred() {
    for asks in ["cpu=100m", "memory=1Gi", "cpu=1 memory=100Mi", ""] {
        let mut run = crowded(asks);
        let order = order(&mut run, "step");
        assert_eq!(order.len(), 110, "{asks:?}");
        assert!(last_of('b', &order) <= 21, "{asks:?}: {order:?}");
        let turns: String = order[..20].iter().map(|pod| &pod[..1]).collect();
        assert_eq!(turns, "ab".repeat(10), "{asks:?}: {order:?}");
    }
}

#[test]
fn turns_go_on_over_steps_and_restarts() {
    let mut whole = crowded("cpu=100m");
    let expected = order(&mut whole, "step");
    let mut run = crowded("cpu=100m");
    let mut found = Vec::new();
    for _ in 0..11 {
        found.extend(order(&mut run, "step 10"));
        let text = serde_json::to_string(&run.scheduler.checkpoint()).expect("plain data");
        let checkpoint: Checkpoint = serde_json::from_str(&text).expect("what was written");
        let resumed = run.resumed(checkpoint, &[own_profile()], Options::default());
        run = resumed.expect("a checkpoint that makes sense");
    }
    assert_eq!(found, expected);
}

#[test]
fn without_our_order_the_older_go_first() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node n cpu=64 pods=500");
    for name in ["a0", "a1", "b0"] {
        run.command(&format!("pod {name} cpu=1 namespace={}", &name[..1]));
    }
    assert_eq!(order(&mut run, "step"), ["a0", "a1", "b0"]);
}

#[test]
fn a_namespace_with_less_of_the_cluster_goes_first_though_it_comes_later() {
    check(
        "
        node n cpu=16
        pod old1 cpu=4 namespace=a on=n
        pod a1 cpu=1 namespace=a created=1
        pod a2 cpu=1 namespace=a created=2
        pod b1 cpu=2 namespace=b created=3
        pod b2 cpu=2 namespace=b created=4
        pod b3 cpu=2 namespace=b created=5
        step
        > b1 -> n
        > b2 -> n
        > a1 -> n
        > b3 -> n
        > a2 -> n
        ",
    );
}

#[test]
fn starving_pods_go_before_younger_ones_of_their_priority_only() {
    check(
        "
        node n cpu=8
        pod big cpu=9 namespace=a created=1
        step
        > big waits: 0/1 nodes are available: 1 Insufficient cpu.
        after 61s
        pod taken cpu=3 namespace=a on=n
        pod young cpu=1 namespace=b created=62
        pod vip cpu=1 namespace=c created=62 priority=5
        node n cpu=32
        step
        > vip -> n
        > big -> n
        > young -> n
        ",
    );
    // One second earlier its namespace has too much for it to go first.
    check(
        "
        node n cpu=8
        pod big cpu=9 namespace=a created=1
        step
        > big waits: 0/1 nodes are available: 1 Insufficient cpu.
        after 59s
        pod taken cpu=3 namespace=a on=n
        pod young cpu=1 namespace=b created=62
        node n cpu=32
        step
        > young -> n
        > big -> n
        ",
    );
}

#[test]
fn tiers_order_inside_a_priority() {
    check(
        "
        node n cpu=32
        namespace g tenant.kubenexus.io/tier:gold
        namespace s tenant.kubenexus.io/tier:silver
        namespace b tenant.kubenexus.io/tier:bronze
        pod b1 cpu=1 namespace=b created=1
        pod s1 cpu=1 namespace=s created=2
        pod g1 cpu=1 namespace=g created=3
        pod g2 cpu=1 namespace=g created=4
        pod vip cpu=1 namespace=b created=5 priority=1
        pod low cpu=1 namespace=g created=0 priority=-1
        step
        > vip -> n
        > g1 -> n
        > g2 -> n
        > s1 -> n
        > b1 -> n
        > low -> n
        ",
    );
}

#[test]
fn nothing_a_user_writes_raises_a_tier_and_a_namespace_that_is_not_known_has_the_lowest() {
    check(
        "
        node n cpu=32
        namespace s tenant.kubenexus.io/tier:silver
        namespace odd tenant.kubenexus.io/tier:Gold
        pod claims cpu=1 namespace=none created=1 tier=gold
        pod odd1 cpu=1 namespace=odd created=2 tier=gold
        pod s1 cpu=1 namespace=s created=3 tier=gold
        pod less cpu=1 namespace=s created=0 tier=bronze
        pod garbled cpu=1 namespace=s created=4 tier=golden
        profile claims
        > none is bronze: service, none
        profile odd1
        > odd is bronze: service, none
        profile s1
        > s is silver: service, none
        profile less
        > s is bronze: service, none
        profile garbled
        > s is bronze: service, none
        step
        > s1 -> n
        > claims -> n
        > odd1 -> n
        > less -> n
        > garbled -> n
        ",
    );
}

#[test]
fn pods_that_wait_stand_elsewhere_once_their_namespace_is_known_or_changes() {
    check(
        "
        node n cpu=1
        pod a1 cpu=1 namespace=a created=1
        pod b1 cpu=1 namespace=b created=2
        profile b1
        > b is bronze: service, none
        namespace b tenant.kubenexus.io/tier:gold
        profile b1
        > b is gold: service, none
        namespace a
        step 1
        > b1 -> n
        pod b2 cpu=1 namespace=b created=3
        gone namespace b
        pod a2 cpu=0 namespace=a created=0
        profile b2
        > b is bronze: service, none
        step 1
        > a2 -> n
        ",
    );
}

#[test]
fn a_pod_that_asks_for_less_later_stands_behind() {
    check(
        "
        node n cpu=8
        namespace g tenant.kubenexus.io/tier:gold
        pod g1 cpu=1 namespace=g created=1
        pod g2 cpu=1 namespace=g created=2
        pod g1 cpu=1 namespace=g created=1 tier=bronze
        step
        > g2 -> n
        > g1 -> n
        ",
    );
}

fn offset(names: &[&str], offset: i32) -> NamespaceOffset {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    NamespaceOffset { namespaces: Namespaces { names, selector: None }, offset }
}

fn with_offsets() -> ProfileSettings {
    let offsets = vec![offset(&["late"], -5), offset(&["soon", "late"], 15)];
    let args = CoschedulingArgs { offsets, ..CoschedulingArgs::default() };
    with_args(own_profile(), "Coscheduling", Args::Coscheduling(args))
}

#[test]
fn namespaces_go_sooner_or_later_inside_a_priority() {
    check_with(
        &[with_offsets()],
        "
        node n cpu=32
        namespace silver tenant.kubenexus.io/tier:silver
        namespace gold tenant.kubenexus.io/tier:gold
        pod late1 cpu=1 namespace=late created=1
        pod plain1 cpu=1 namespace=plain created=2
        pod silver1 cpu=1 namespace=silver created=3
        pod soon1 cpu=1 namespace=soon created=4
        pod gold1 cpu=1 namespace=gold created=5
        pod vip cpu=1 namespace=late created=6 priority=1
        step
        > vip -> n
        > gold1 -> n
        > soon1 -> n
        > silver1 -> n
        > plain1 -> n
        > late1 -> n
        ",
    );
}

#[test]
fn tenants_and_priority_classes_of_the_configuration_give_tiers() {
    let tenant = Tenant {
        name: "research".into(),
        namespaces: Namespaces { names: vec!["lab".into(), "unseen".into()], selector: None },
        cluster_queues: Vec::new(),
        tier: Some(Tier::Gold),
        may_refuse_preemption: false,
    };
    let args = ClassifierArgs {
        tenants: vec![tenant],
        tiers_by_class: vec![("urgent".into(), Tier::Silver)],
        preemptible_classes: vec!["spot".into()],
    };
    let profile = with_args(own_profile(), "ProfileClassifier", Args::Classifier(args));
    check_with(
        &[profile],
        "
        namespace lab
        namespace low tenant.kubenexus.io/tier:bronze
        namespace plain
        pod lab1 namespace=lab
        pod unseen1 namespace=unseen
        pod low1 namespace=low class=urgent
        pod plain1 namespace=plain class=urgent
        pod near1 namespace=plain class=urgent-too
        pod spot1 namespace=plain class=spot gpu=1
        pod gang1 namespace=plain gpu=8 gang=g/2
        profile lab1
        > research is gold: service, none
        profile unseen1
        > unseen is bronze: service, none
        profile low1
        > low is bronze: service, none
        profile plain1
        > plain is silver: service, none
        profile near1
        > plain is bronze: service, none
        profile spot1
        > plain is bronze: service, single-gpu, preemptible
        profile gang1
        > plain is bronze: training, multi-node
        ",
    );
}

#[test]
fn profiles_with_and_without_turns_share_a_queue() {
    let own = ProfileSettings { scheduler: "own".into(), ..own_profile() };
    check_with(
        &[default_profile(), own],
        "
        node n cpu=32
        namespace g tenant.kubenexus.io/tier:gold
        pod plain1 cpu=1 namespace=g
        pod own1 cpu=1 namespace=g scheduler=own created=1
        pod vip cpu=1 priority=1
        profile plain1
        > not classified
        step
        > vip -> n
        > own1 -> n
        > plain1 -> n
        ",
    );
}

/// The order of 60 older pods of one profile and 10 younger ones of the other, each profile's in
/// two namespaces; `many` is the profile of the 60.
fn beside(many: &str, before: &[&str]) -> Vec<String> {
    let own = ProfileSettings { scheduler: "own".into(), ..own_profile() };
    let mut run = Script::new(&[default_profile(), own], Options::default());
    run.command("node n cpu=640 memory=2560Gi pods=500");
    before.iter().for_each(|line| _ = run.command(line));
    let few = if many == "own" { "default-scheduler" } else { "own" };
    for (letter, scheduler, count) in [('m', many, 60), ('f', few, 10)] {
        for at in 0..count {
            // Pods without turns are of two namespaces and one tenant all the same.
            let namespace = if scheduler == "own" { 0 } else { at % 2 };
            let line = format!("pod {letter}{at} cpu=1 namespace={letter}{namespace}");
            run.command(&format!("{line} scheduler={scheduler} created={at}"));
        }
    }
    order(&mut run, "step")
}

#[test]
fn profiles_without_turns_are_one_tenant_beside_namespaces() {
    for many in ["default-scheduler", "own"] {
        let order = beside(many, &[]);
        assert_eq!(order.len(), 70);
        assert!((19..=21).contains(&last_of('f', &order)), "{many}: {order:?}");
        // Among themselves the older go first.
        let few = order.iter().filter(|pod| pod.starts_with('f'));
        assert!(few.eq((0..10).map(|at| format!("f{at}")).collect::<Vec<_>>().iter()));
    }
}

#[test]
fn profiles_without_turns_have_the_share_of_all_their_pods() {
    // What other namespaces of the profile have on nodes counts, what other schedulers have not.
    let order = beside("default-scheduler", &["pod x cpu=20 namespace=x on=n"]);
    assert_eq!(last_of('f', &order), 10, "{order:?}");
    let order = beside("default-scheduler", &["pod x cpu=20 namespace=x scheduler=y on=n"]);
    assert!((19..=21).contains(&last_of('f', &order)), "{order:?}");
}

/// A scheduler that has led for `led` seconds when the pods of the lines come, 1,000 seconds after
/// 1970, and then decides.
fn order_after(led: u64, lines: &[&str]) -> Vec<String> {
    let mut run = Script::new(&[own_profile()], Options::default());
    run.now = Time(led * 1000);
    run.command("node n cpu=64");
    for line in lines {
        let facts = testkit::pod(line);
        let moment = Moment { at: run.now, wall_ms: 1_000_000 };
        run.scheduler.apply(&Event::seen(facts), moment);
    }
    order(&mut run, "step")
}

#[test]
fn starvation_counts_from_creation_whoever_led_then() {
    for led in [0, 5, 5000] {
        // The namespace with less of the cluster would go first.
        let taken = "taken cpu=8 namespace=a on=n";
        let order = |created: &str| {
            let old = format!("old cpu=1 namespace=a {created}");
            order_after(led, &[taken, &old, "young cpu=1 namespace=b created=990"])
        };
        assert_eq!(order("created=940"), ["old", "young"], "{led}");
        assert_eq!(order("created=941"), ["young", "old"], "{led}");
        // By a clock that is ahead of ours.
        assert_eq!(order("created=2000"), ["young", "old"], "{led}");
        // Pods that had gates, from when these were gone.
        assert_eq!(order("created=10 eligible=940"), ["old", "young"], "{led}");
        assert_eq!(order("created=10 eligible=941"), ["young", "old"], "{led}");
        assert_eq!(order("created=10 eligible=unsaid"), ["young", "old"], "{led}");
    }
}

#[test]
fn a_gang_starves_from_the_youngest_of_its_pods_on() {
    let taken = "taken cpu=8 namespace=a on=n";
    let order = |created: &str| {
        let one = "g1 cpu=1 namespace=a gang=g/2 created=10".to_owned();
        let other = format!("g2 cpu=1 namespace=a gang=g/2 created={created}");
        order_after(5, &[taken, &one, &other, "young cpu=1 namespace=b created=990"])
    };
    assert_eq!(order("941"), ["young", "g1", "g2"]);
    assert_eq!(order("940"), ["g1", "g2", "young"]);
}

#[test]
fn a_pod_that_was_made_before_begins_to_starve_in_time() {
    let mut run = Script::new(&[own_profile()], Options::default());
    let apply = |run: &mut Script, line: &str| {
        let moment = Moment { at: run.now, wall_ms: 1_000_000 + run.now.0 };
        run.scheduler.apply(&Event::seen(testkit::pod(line)), moment);
    };
    run.command("node n cpu=64");
    apply(&mut run, "taken cpu=8 namespace=a on=n");
    apply(&mut run, "old cpu=1 namespace=a created=970");
    run.now = Time(29_000);
    apply(&mut run, "young cpu=1 namespace=b created=1029");
    let checkpoint = run.scheduler.checkpoint();
    assert_eq!(order(&mut run, "step 1"), ["young"]);
    let mut later =
        run.resumed(checkpoint, &[own_profile()], Options::default()).expect("a checkpoint");
    later.now = Time(30_000);
    assert_eq!(order(&mut later, "step 1"), ["old"]);
}
