//! Where a gang stands among others: by the lowest priority of its pods unless its PodGroup says
//! one, by its oldest pod, and by the lowest boost that one of its pods has.

use framework::ProfileSettings;
use kubenexus_engine::Options;
use testkit::{Script, default_profile, own_profile};

/// Whose turn it is in which order, on a node for all, as far as the first pod of each unit tells.
fn check(lines: &str, expected: &[&str]) {
    let mut run = Script::new(&[own_profile()], Options::default());
    run.command("node n cpu=64 pods=500");
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        run.command(line);
    }
    let said = run.command("step");
    let placed = said.iter().filter(|line| line.contains(" -> "));
    let order: Vec<&str> = placed.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(order, expected, "{lines}");
}

#[test]
fn a_gang_has_the_lowest_priority_of_its_pods() {
    check(
        "
        pod g1 cpu=1 gang=g/2 priority=9
        pod g2 cpu=1 gang=g/2 priority=1
        pod p5 cpu=1 priority=5
        pod p0 cpu=1 priority=0
        ",
        &["p5", "g1", "g2", "p0"],
    );
}

#[test]
fn a_gang_of_a_pod_group_has_its_place_by_the_priority_that_all_say() {
    check(
        "
        podgroup native/g min=2 priority=7
        pod g1 cpu=1 group=native/g priority=7
        pod g2 cpu=1 group=native/g priority=7
        pod p8 cpu=1 priority=8
        pod p5 cpu=1 priority=5
        ",
        &["p8", "g1", "g2", "p5"],
    );
}

#[test]
fn a_gang_is_as_old_as_its_oldest_pod() {
    check(
        "
        pod p9 cpu=1 created=9
        pod p20 cpu=1 created=20
        pod g1 cpu=1 gang=g/2 created=30
        pod g2 cpu=1 gang=g/2 created=10
        ",
        &["p9", "g1", "g2", "p20"],
    );
}

#[test]
fn a_gang_has_the_lowest_tier_of_its_pods() {
    check(
        "
        namespace g tenant.kubenexus.io/tier:gold
        pod g1 cpu=1 gang=g/2 namespace=g created=1
        pod g2 cpu=1 gang=g/2 namespace=g created=1 tier=bronze
        pod h1 cpu=1 gang=h/2 namespace=g created=8
        pod h2 cpu=1 gang=h/2 namespace=g created=9
        pod p cpu=1 namespace=g created=5 tier=silver
        ",
        &["h1", "h2", "p", "g1", "g2"],
    );
}

#[test]
fn a_gang_counts_as_one_turn_of_its_namespace() {
    check(
        "
        pod g1 cpu=1 gang=g/3 namespace=a created=1
        pod g2 cpu=1 gang=g/3 namespace=a created=1
        pod g3 cpu=1 gang=g/3 namespace=a created=1
        pod a1 cpu=1 namespace=a created=2
        pod b1 cpu=1 namespace=b created=8
        pod b2 cpu=1 namespace=b created=9
        ",
        &["g1", "g2", "g3", "b1", "b2", "a1"],
    );
}

/// The order of a gang of pods with and without turns, which come in this order, and of two others.
fn mixed(lines: &[&str]) -> Vec<String> {
    let kube = ProfileSettings { scheduler: "kube".to_owned(), ..default_profile() };
    let mut run = Script::new(&[own_profile(), kube], Options::default());
    run.command("node n cpu=64 pods=500");
    run.command("pod taken cpu=1 namespace=b on=n");
    run.command("pod much cpu=30 namespace=c scheduler=kube on=n");
    for line in lines {
        run.command(line);
    }
    run.command("pod one cpu=1 namespace=a created=5");
    run.command("pod other cpu=1 namespace=b created=4");
    let said = run.command("step");
    let placed = said.iter().filter(|line| line.contains(" -> "));
    placed.filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

#[test]
fn a_gang_takes_no_turns_if_one_of_its_pods_does_not_whichever_comes_first() {
    let (with, without) = (
        "pod g1 cpu=1 gang=g/2 namespace=a created=9",
        "pod g2 cpu=1 gang=g/2 namespace=a created=3 scheduler=kube",
    );
    for lines in [[with, without], [without, with]] {
        assert_eq!(mixed(&lines), ["one", "other", "g1", "g2"], "{lines:?}");
    }
}

#[test]
fn a_gang_that_gathered_for_long_does_not_starve_before_its_youngest_pod_does() {
    let mut run = Script::new(&[own_profile()], Options::default());
    run.command("node n cpu=64 pods=500");
    run.command("pod taken cpu=8 namespace=a on=n");
    run.command("pod g1 cpu=1 gang=g/2 namespace=a created=1");
    run.command("after 2s");
    run.command("step");
    run.command("after 88s");
    run.command("pod g2 cpu=1 gang=g/2 namespace=a created=90");
    run.command("pod young cpu=1 namespace=b created=90");
    let said = run.command("step");
    let placed = said.iter().filter(|line| line.contains(" -> "));
    let order: Vec<&str> = placed.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(order, ["young", "g1", "g2"], "{said:?}");
}
