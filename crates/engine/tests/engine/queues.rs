//! Queues of Kueue: whom the pods of a namespace belong to by them, and who goes first then.

use framework::{Args, ClassifierArgs, Namespaces, Tenant};
use kubenexus_engine::Options;
use model::{Event, Kind, LocalQueueFacts, Present, Tier};
use testkit::{Script, own_profile, with_args};

#[test]
fn pods_that_wait_stand_elsewhere_once_the_queues_of_their_namespace_change() {
    let tenant = Tenant {
        name: "research".into(),
        namespaces: Namespaces::default(),
        cluster_queues: vec!["gpu".into()],
        tier: Some(Tier::Gold),
        may_refuse_preemption: false,
    };
    let args = ClassifierArgs { tenants: vec![tenant], ..ClassifierArgs::default() };
    let profiles = [with_args(own_profile(), "ProfileClassifier", Args::Classifier(args))];
    let mut run = Script::new(&profiles, Options::default());
    let mut play = |lines: &str| -> Vec<String> {
        lines.lines().flat_map(|line| run.command(line.trim())).collect()
    };
    let gold = ["research is gold: service, none"];
    let bronze = ["b is bronze: service, none"];
    play(
        "node n cpu=8
        namespace a
        namespace b
        clusterqueue gpu
        clusterqueue cpu
        pod a1 cpu=1 namespace=a created=1
        pod b1 cpu=1 namespace=b created=2
        pod a2 cpu=1 namespace=a created=3
        pod b2 cpu=1 namespace=b created=4",
    );
    assert_eq!(play("profile b1"), bronze);
    play("localqueue b/main gpu");
    assert_eq!(play("profile b1\nstep 1"), [gold[0], "b1 -> n"]);
    // It leads elsewhere, then a second one does, then that one and the first are gone.
    play("localqueue b/main cpu");
    assert_eq!(play("profile b2"), bronze);
    play("localqueue b/main gpu\nlocalqueue b/more cpu");
    assert_eq!(play("profile b2"), bronze);
    play("gone localqueue b/more\ngone localqueue b/unknown");
    assert_eq!(play("profile b2"), gold);
    // The same if the queue it leads to is gone, or is not for the namespace.
    for (before, after) in [
        ("gone clusterqueue gpu", "clusterqueue gpu"),
        ("clusterqueue gpu team:x", "namespace b team:x"),
    ] {
        assert_eq!(play(&format!("{before}\nprofile b2")), bronze);
        assert_eq!(play(&format!("{after}\nprofile b2")), gold);
    }
    play("clusterqueue gpu\nnamespace b");
    let resumed = run.resumed(run.scheduler.checkpoint(), &profiles, Options::default());
    let mut other = resumed.expect("a checkpoint that makes sense");
    assert_eq!(other.command("profile b2"), gold, "a checkpoint has the queues");
    let listed = |queues: &[(&str, &str)]| {
        let queues = queues.iter().map(|(key, queue)| LocalQueueFacts::of(key, queue).into());
        Event::Listed(Kind::LocalQueue, Present::Facts(queues.collect()))
    };
    run.apply(&listed(&[("a/main", "gpu"), ("b/main", "gpu"), ("b/more", "cpu")]));
    assert_eq!(run.command("profile b2"), bronze);
    assert_eq!(run.command("profile a2"), gold);
    run.apply(&listed(&[]));
    assert_eq!(run.command("profile a2"), ["a is bronze: service, none"]);
    assert_eq!(run.command("step 1"), ["a1 -> n"]);
}
