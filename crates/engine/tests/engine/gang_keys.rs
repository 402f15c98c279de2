//! Which profiles read the labels and annotations that make gangs: those with `Coscheduling` at a
//! point that plans pods. PodGroups of Kubernetes count in all of them.

use framework::Point;
use testkit::{check_with, kube_profile};

/// Two pods of a gang and room for one: both wait.
const WHOLE: &str = "
    node a cpu=1
    pod g1 cpu=1 gang=g/2
    pod g2 cpu=1 gang=g/2
    step
    > g1 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient cpu.
    >+ It can never fit this cluster.
    > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient cpu.
    >+ It can never fit this cluster.
    > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
    >+ cpu. It can never fit this cluster.
";

/// The same pods, each by itself.
const ONE_BY_ONE: &str = "
    node a cpu=1
    pod g1 cpu=1 gang=g/2
    pod g2 cpu=1 gang=g/2
    step
    > g1 -> a
    > g2 waits: 0/1 nodes are available: 1 Insufficient cpu.
";

#[test]
fn labels_make_gangs_where_the_plugin_plans_pods() {
    check_with(&[kube_profile()], ONE_BY_ONE);
    // (point, what becomes of the pods)
    let table = [
        (Point::PreEnqueue, ONE_BY_ONE),
        (Point::PreFilter, WHOLE),
        (Point::Filter, WHOLE),
        (Point::PostFilter, ONE_BY_ONE),
        (Point::Reserve, ONE_BY_ONE),
        (Point::Permit, WHOLE),
    ];
    for (point, script) in table {
        let mut profile = kube_profile();
        profile.add(point, "Coscheduling");
        check_with(&[profile], script);
    }
}

#[test]
fn a_pod_group_of_kubernetes_counts_in_every_profile_whatever_the_labels_say() {
    check_with(
        &[kube_profile()],
        "
        node a cpu=1
        podgroup native/g min=2
        pod g1 cpu=1 group=native/g broken=two-names
        pod g2 cpu=1 group=native/g after=other
        step
        > g1 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        ",
    );
}

#[test]
fn faults_dependencies_and_groups_of_other_schedulers_mean_nothing_there() {
    check_with(
        &[kube_profile()],
        "
        node a cpu=9
        pod a cpu=1 broken=two-names
        pod b cpu=1 after=other
        pod c cpu=1 group=coscheduling/g
        pod d cpu=1 gang=g/1 workers=3@8
        step
        > a -> a
        > b -> a
        > c -> a
        > d -> a
        # A change of the pod is read in the same way.
        pod a cpu=1 broken=other on=a
        pod e cpu=5 gang=g/4
        step
        > e -> a
        ",
    );
}
