//! Plugins that rule nodes out, by table.

use framework::{Args, NodeAffinityArgs};
use testkit::{check_with, only, pod, with_args};

#[test]
fn node_name() {
    check_with(
        &[only("NodeName")],
        "
        node a
        node b
        judge p
        > a fits
        > b fits
        judge p target=b
        > a NodeName UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeName]
        > b fits
        judge p target=c
        > a NodeName UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeName]
        > b NodeName UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeName]
        ",
    );
}

#[test]
fn node_unschedulable() {
    check_with(
        &[only("NodeUnschedulable")],
        "
        node a closed
        node b
        judge p
        > a NodeUnschedulable UnschedulableAndUnresolvable: node(s) were unschedulable
        > b fits
        judge p tolerate=*
        > a fits
        > b fits
        judge p tolerate=node.kubernetes.io/unschedulable
        > a fits
        > b fits
        judge p tolerate=node.kubernetes.io/unschedulable=:NoSchedule
        > a fits
        > b fits
        judge p tolerate=node.kubernetes.io/unschedulable:NoExecute
        > a NodeUnschedulable UnschedulableAndUnresolvable: node(s) were unschedulable
        > b fits
        ",
    );
}

#[test]
fn taint_toleration_keeps_pods_away() {
    check_with(
        &[only("TaintToleration")],
        "
        node a taint=gpu=a100:NoSchedule
        judge p
        > a TaintToleration UnschedulableAndUnresolvable: node(s) had untolerated taint(s)
        judge p tolerate=gpu
        > a fits TaintToleration=100
        judge p tolerate=gpu=a100
        > a fits TaintToleration=100
        judge p tolerate=gpu=a100:NoSchedule
        > a fits TaintToleration=100
        judge p tolerate=gpu=h100
        > a TaintToleration UnschedulableAndUnresolvable: node(s) had untolerated taint(s)
        judge p tolerate=gpu:NoExecute
        > a TaintToleration UnschedulableAndUnresolvable: node(s) had untolerated taint(s)
        judge p tolerate=cpu tolerate=*:NoSchedule
        > a fits TaintToleration=100
        node a taint=gpu:NoExecute taint=spot:NoSchedule
        judge p tolerate=gpu
        > a TaintToleration UnschedulableAndUnresolvable: node(s) had untolerated taint(s)
        judge p tolerate=gpu tolerate=spot
        > a fits TaintToleration=100
        node a taint=gpu:PreferNoSchedule taint=odd:Whatever
        judge p
        > a fits TaintToleration=0
        ",
    );
}

#[test]
fn node_affinity_by_labels() {
    // (what the pod asks for, whether zone=x with cores=16 fits)
    let table = [
        ("select=zone:x", true),
        ("select=zone:y", false),
        ("select=zone:x select=disk:ssd", false),
        ("select=zone:x select=cores:16", true),
        ("require=zone:in:x,y", true),
        ("require=zone:in:y", false),
        ("require=zone:notin:y", true),
        ("require=zone:notin:x", false),
        ("require=disk:notin:x", true),
        ("require=zone:exists", true),
        ("require=disk:exists", false),
        ("require=disk:absent", true),
        ("require=zone:absent", false),
        ("require=cores:gt:15", true),
        ("require=cores:gt:16", false),
        ("require=cores:lt:17", true),
        ("require=cores:lt:16", false),
        ("require=zone:gt:1", false),
        ("require=disk:lt:1", false),
        // Requirements of a term must all hold, of several terms one.
        ("require=zone:in:x&disk:exists", false),
        ("require=zone:in:y require=cores:gt:8", true),
        ("require=zone:in:x select=zone:y", false),
        // Empty terms match nothing, and so do terms that make no sense.
        ("require=", false),
        ("require= require=zone:in:x", true),
        ("require=zone:what:x", false),
        ("require=zone:what:x require=zone:in:x", true),
        ("require=zone:in", false),
        ("require=cores:gt:x", false),
        // By field.
        ("require=@metadata.name:in:a", true),
        ("require=@metadata.name:in:b", false),
        ("require=@metadata.name:notin:a", false),
        ("require=@metadata.name:notin:b", true),
        ("require=@metadata.name:in:a&zone:in:y", false),
        ("require=@metadata.name:in:b require=zone:in:x", true),
        ("require=@metadata.other:in:a", false),
        ("require=@metadata.other:notin:a", true),
    ];
    for (words, is_fit) in table {
        let is_named = words.starts_with("require=@metadata.name:in:b") && !words.contains(' ');
        let why = match is_named {
            true => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            false => "node(s) didn't match Pod's node affinity/selector",
        };
        let answer = match is_fit {
            true => "a fits".to_owned(),
            false => format!("a NodeAffinity UnschedulableAndUnresolvable: {why}"),
        };
        let script = format!("node a zone=x cores=16\njudge p {words}\n> {answer}");
        check_with(&[only("NodeAffinity")], &script);
    }
}

#[test]
fn node_affinity_confines_to_named_nodes() {
    check_with(
        &[only("NodeAffinity")],
        "
        node a
        node b
        judge p require=@metadata.name:in:a&@metadata.name:in:b
        > refused NodeAffinity UnschedulableAndUnresolvable: pod affinity terms conflict
        judge p require=@metadata.name:in:a require=@metadata.name:in:c
        > a fits
        > b NodeAffinity UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) \
          [NodeAffinity]
        judge p require=@metadata.name:in:a require=@metadata.name:notin:a
        > a fits
        > b fits
        ",
    );
}

#[test]
fn names_that_exclude_each_other_are_nobodys_fault_alone() {
    testkit::check(
        "
        node a
        node b
        judge p target=a require=@metadata.name:in:b
        > refused UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) \
          [NodeAffinity NodeName] simultaneously
        ",
    );
}

#[test]
fn added_affinity_holds_for_every_pod() {
    let added = |words: &str| {
        let spec = pod(&format!("p {words}")).spec;
        let args = NodeAffinityArgs { required: spec.required, preferred: spec.preferred };
        with_args(only("NodeAffinity"), "NodeAffinity", Args::NodeAffinity(args))
    };
    check_with(
        &[added("require=zone:in:x require=@metadata.name:in:c prefer=7:disk:exists")],
        "
        node a zone=x disk=ssd
        node b zone=y
        node c zone=x
        judge p
        > a fits NodeAffinity=100
        > b NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced \
          node affinity
        > c fits NodeAffinity=0
        judge p select=zone:y prefer=3:zone:in:x
        > a NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match Pod's node \
          affinity/selector
        > b NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced \
          node affinity
        > c NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match Pod's node \
          affinity/selector
        judge p prefer=3:zone:in:x
        > a fits NodeAffinity=100
        > b NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced \
          node affinity
        > c fits NodeAffinity=30
        ",
    );
}

#[test]
fn node_ports() {
    // (port that is taken, port that is wanted, whether it is free)
    let table = [
        ("80", "80", false),
        ("80", "81", true),
        ("80", "80/UDP", true),
        ("80/UDP", "80/UDP", false),
        ("80/SCTP", "80", true),
        ("80", "80@10.0.0.1", false),
        ("80@10.0.0.1", "80", false),
        ("80@10.0.0.1", "80@10.0.0.2", true),
        ("80@10.0.0.1", "80@10.0.0.1", false),
        ("80@10.0.0.1", "80/UDP@10.0.0.1", true),
        ("80", "81 port=80", false),
    ];
    for (taken, wanted, is_free) in table {
        let why = "Unschedulable: node(s) didn't have free ports for the requested pod ports";
        let answer = if is_free { "fits".into() } else { format!("NodePorts {why}") };
        let script =
            format!("node a\npod q on=a port={taken}\njudge p port={wanted}\n> a {answer}");
        check_with(&[only("NodePorts")], &script);
    }
}

#[test]
fn a_port_is_free_again_when_its_last_pod_leaves() {
    check_with(
        &[only("NodePorts")],
        "
        node a
        pod q1 on=a port=80
        pod q2 on=a port=80
        gone pod q1
        judge p port=80
        > a NodePorts Unschedulable: node(s) didn't have free ports for the requested pod ports
        gone pod q2
        judge p port=80
        > a fits
        ",
    );
}

#[test]
fn node_declared_features() {
    check_with(
        &[only("NodeDeclaredFeatures")],
        "
        node a
        node b feature=VolumeBindMountOptions
        node c feature=VolumeBindMountOptions feature=UserNamespacesHostNetworkSupport feature=X
        judge p
        > a fits
        > b fits
        > c fits
        judge p feature=VolumeBindMountOptions feature=UserNamespacesHostNetworkSupport
        > a NodeDeclaredFeatures UnschedulableAndUnresolvable: node(s) didn't match Pod's required \
          features
        > b NodeDeclaredFeatures UnschedulableAndUnresolvable: node(s) didn't match Pod's required \
          features
        > c fits
        ",
    );
}
