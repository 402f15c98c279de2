//! Pods without spread constraints of their own, by table.

use framework::{Args, ProfileSettings, SpreadArgs};
use model::SpreadSpec;
use testkit::{check_with, only, pod, with_args};

/// A profile with these constraints for pods that have none, written as pods write theirs.
fn listing(constraints: &str) -> ProfileSettings {
    let without_selector = |spec: SpreadSpec| SpreadSpec { selector: None, ..spec };
    let list = pod(&format!("p {constraints}")).spec.spread.into_iter().map(without_selector);
    let args = SpreadArgs::List(list.collect());
    with_args(only("PodTopologySpread"), "PodTopologySpread", Args::Spread(args))
}

#[test]
fn pods_that_are_alike_are_spread_over_hosts_and_zones() {
    check_with(
        &[only("PodTopologySpread")],
        "
        node a label=kubernetes.io/hostname:a label=topology.kubernetes.io/zone:x
        node b label=kubernetes.io/hostname:b label=topology.kubernetes.io/zone:x
        node c label=kubernetes.io/hostname:c label=topology.kubernetes.io/zone:y
        pod q on=a label=app:web
        pod r on=a label=app:web
        # Nobody says who is alike.
        judge p label=app:web
        > a fits
        > b fits
        > c fits
        # 2 pods by host and by zone: 2 ln 5 + 2 + 2 ln 4 + 4, 2 + 2 ln 4 + 4 and 2 + 4.
        grouping service/web app:web
        judge p label=app:web
        > a fits PodTopologySpread=50
        > b fits PodTopologySpread=75
        > c fits PodTopologySpread=100
        # A pod that the service does not select, and one elsewhere.
        judge p label=app:db
        > a fits
        > b fits
        > c fits
        judge p label=app:web namespace=other
        > a fits
        > b fits
        > c fits
        # Constraints of its own take the place of all others.
        judge p label=app:web spread=rack,1,app:web,soft
        > a fits PodTopologySpread=0
        > b fits PodTopologySpread=0
        > c fits PodTopologySpread=0
        # A node without the labels is as good as an empty one, and a domain of its own.
        node d
        judge p label=app:web
        > a fits PodTopologySpread=0
        > b fits PodTopologySpread=30
        > c fits PodTopologySpread=53
        > d fits PodTopologySpread=100
        ",
    );
}

#[test]
fn nodes_without_a_zone_are_in_the_zone_without_a_name() {
    check_with(
        &[only("PodTopologySpread")],
        "
        node a label=topology.kubernetes.io/zone:x
        node b label=topology.kubernetes.io/zone:
        node c
        grouping service/web app:web
        pod q on=c label=app:web
        pod r on=c label=app:web
        # Two zones: 4, 2 ln 4 + 4, and nothing is known of c.
        judge p label=app:web
        > a fits PodTopologySpread=42
        > b fits PodTopologySpread=0
        > c fits PodTopologySpread=100
        ",
    );
}

#[test]
fn listed_constraints_rule_nodes_out() {
    check_with(
        &[listing("spread=zone,1,any:thing")],
        "
        node a zone=x
        node b zone=y
        node c
        grouping replicaset/web app:web
        grouping replicationcontroller/web app:db
        grouping service/all tier:back
        pod q on=a label=app:web
        judge p label=app:web owner=replicaset/web
        > a PodTopologySpread Unschedulable: node(s) didn't match pod topology spread constraints
        > b fits
        > c PodTopologySpread UnschedulableAndUnresolvable: node(s) didn't match pod topology \
          spread constraints (missing required label)
        # It is not one of those that its controller is about, so it adds nothing.
        judge p owner=replicaset/web
        > a fits
        > b fits
        > c PodTopologySpread UnschedulableAndUnresolvable: node(s) didn't match pod topology \
          spread constraints (missing required label)
        # No such controller.
        judge p label=app:web owner=statefulset/web
        > a fits
        > b fits
        > c fits
        # Both the service and the controller must mean a pod, so that nobody is counted.
        judge p label=app:web label=tier:back owner=replicaset/web
        > a fits
        > b fits
        > c PodTopologySpread UnschedulableAndUnresolvable: node(s) didn't match pod topology \
          spread constraints (missing required label)
        # Only required constraints of its own are missing: those listed do not come back.
        judge p label=app:web owner=replicaset/web spread=zone,1,app:web,soft
        > a fits PodTopologySpread=0
        > b fits PodTopologySpread=100
        > c fits PodTopologySpread=0
        gone grouping replicaset/web
        judge p label=app:web owner=replicaset/web
        > a fits
        > b fits
        > c fits
        ",
    );
}

/// Pods of one class, whose sums cannot all be kept.
#[test]
fn pods_of_many_controllers_share_a_class() {
    let mut script = String::from("node a zone=x\nnode b zone=y\n");
    for at in 0..7 {
        script += &format!("grouping replicaset/r{at} app:a{at}\n");
        script += &format!("pod q{at} on=a label=app:a{at}\n");
    }
    for at in 0..7 {
        script +=
            &format!("pod p{at} label=app:a{at} owner=replicaset/r{at}\nstep\n> p{at} -> b\n");
    }
    for at in 0..7 {
        script += &format!("judge p label=app:a{at} owner=replicaset/r{at}\n> a fits\n> b fits\n");
    }
    check_with(&[listing("spread=zone,1,any:thing")], &script);
}
