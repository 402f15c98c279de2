//! Labels of namespaces: whom rules about other pods are about, and what that costs.

use kubenexus_engine::Options;
use testkit::{Script, check, default_profile};

#[test]
fn pods_come_to_be_meant_and_cease_to_be_with_the_labels_of_their_namespace() {
    let story = "
        node a host=a
        node b host=b
        pod web namespace=front label=app:web on=a
        pod leaving namespace=front label=app:web on=b terminating
        pod free far=host,app:web,team:a target=a
        step
        > free -> a
        gone pod free
        namespace front team:a
        pod at-a far=host,app:web,team:a target=a
        pod at-b far=host,app:web,team:a target=b
        step
        > at-a WAITS
        > at-b WAITS
        namespace front team:b
        after 10s
        step
        > at-a -> a
        > at-b -> b
        gone pod at-a
        namespace front team:a
        pod again far=host,app:web,team:a target=a
        step
        > again WAITS
        gone namespace front
        after 10s
        step
        > again -> a
        ";
    let waits = "waits: 0/2 nodes are available: 1 node(s) didn't match pod anti-affinity rules, \
                 1 node(s) didn't satisfy plugin(s) [NodeName].";
    check(&story.replace("WAITS", waits));
}

/// Pods on two nodes, some with rules about pods of namespaces with labels, and one that waits.
fn crowded() -> Script {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a host=a");
    run.command("node b host=b");
    run.command("namespace front team:a");
    for at in 0..20 {
        run.command(&format!("pod front{at} namespace=front label=app:a{at} on=a"));
        run.command(&format!("pod rule{at} namespace=back far=host,app:a{at},team:a on=b"));
    }
    run.command("pod one far=host,app:a1,team:a target=a");
    run.command("step");
    assert_eq!(run.command("queue"), ["1 parked"]);
    run
}

#[test]
fn a_namespace_without_pods_touches_no_node_and_wakes_nobody() {
    let mut run = crowded();
    let mark = run.scheduler.usage().mark();
    for line in ["namespace empty team:a", "namespace empty team:b", "gone namespace empty"] {
        run.command(line);
        assert_eq!(run.scheduler.usage().mark(), mark, "{line}");
        assert_eq!(run.command("queue"), ["1 parked"], "{line}");
    }
}

#[test]
fn only_nodes_with_pods_of_the_namespace_are_touched() {
    let mut run = crowded();
    let mark = run.scheduler.usage().mark();
    run.command("namespace back team:b");
    assert_eq!(run.scheduler.usage().mark(), mark, "nobody asks for the pods that are there");
    run.command("namespace front team:b");
    assert_eq!(run.scheduler.usage().mark(), mark + 1, "one node, however many rules");
}
