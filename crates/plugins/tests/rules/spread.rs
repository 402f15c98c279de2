//! How TopologySpread ranks zones, racks and hosts, by table.

use framework::{Args, LevelArgs, ProfileSettings};
use testkit::{check_with, only, with_args};

fn check(script: &str) {
    check_with(&[only("TopologySpread")], script);
}

fn weighing(zone: u8, rack: u8, host: u8) -> ProfileSettings {
    let args = Args::Levels(LevelArgs { zone, rack, host });
    with_args(only("TopologySpread"), "TopologySpread", args)
}

/// Three zones without racks: hosts have what is left of the weights.
const ZONES: &str = "
    node a1 label=topology.kubernetes.io/zone:a
    node b1 label=topology.kubernetes.io/zone:b
    node b2 label=topology.kubernetes.io/zone:b
    node c1 label=topology.kubernetes.io/zone:c
    grouping replicaset/web app:web
    ";

fn in_zones(script: &str) {
    check(&format!("{ZONES}{script}"));
}

#[test]
fn the_zone_with_the_fewest_goes_first_then_the_host() {
    in_zones(
        "
        # Nobody is there yet.
        judge p label=app:web owner=replicaset/web
        > a1 fits TopologySpread=100
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        pod q on=a1 label=app:web
        pod r on=b1 label=app:web
        # Zones 60, hosts 15 of 75: b2 is the best host of the other zones.
        judge p label=app:web owner=replicaset/web
        > a1 fits TopologySpread=0
        > b1 fits TopologySpread=0
        > b2 fits TopologySpread=20
        > c1 fits TopologySpread=100
        # One pod more than the fewest costs as much where counts are far apart: 0, 1 and 3.
        pod s on=b1 label=app:web
        pod t on=b2 label=app:web
        judge p label=app:web owner=replicaset/web
        > a1 fits TopologySpread=25.332
        > b1 fits TopologySpread=0
        > b2 fits TopologySpread=20
        > c1 fits TopologySpread=100
        ",
    );
}

#[test]
fn pods_are_counted_until_they_are_deleted() {
    in_zones(
        "
        pod q on=a1 label=app:web
        pod r on=b1 label=app:web terminating
        pod s on=b1 label=app:db
        pod t on=c1 label=app:web namespace=other
        pod u on=c1 label=app:web finished
        judge p label=app:web owner=replicaset/web
        > a1 fits TopologySpread=20
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        gone pod q
        judge p label=app:web owner=replicaset/web
        > a1 fits TopologySpread=100
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        ",
    );
}

#[test]
fn only_services_and_inference_are_spread_unless_pods_say_otherwise() {
    const SILENT: &str = "> a1 fits\n> b1 fits\n> b2 fits\n> c1 fits\n";
    const SPREAD: &str = "> a1 fits TopologySpread=20\n> b1 fits TopologySpread=100\n\
                          > b2 fits TopologySpread=100\n> c1 fits TopologySpread=100\n";
    let table = [
        ("", SPREAD),
        ("workload=service", SPREAD),
        ("workload=inference", SPREAD),
        ("workload=interactive", SILENT),
        ("workload=batch", SILENT),
        ("workload=training", SILENT),
        // Whoever names a gang runs together, whatever it does.
        ("gang=g", SILENT),
        ("gang=g workload=inference", SILENT),
        // Constraints of its own are PodTopologySpread's.
        ("spread=zone,1,app:web,soft", SILENT),
        ("spread=zone,9,app:web", SILENT),
        ("zones-spread=false", SILENT),
        ("zones-spread=maybe", SPREAD),
        ("zones-spread=maybe workload=batch", SILENT),
        ("zones-spread=true", SPREAD),
        ("zones-spread=true workload=batch", SPREAD),
        ("zones-spread=true workload=interactive", SPREAD),
        ("zones-spread=true gang=g", SPREAD),
        ("zones-spread=true spread=zone,9,app:web", SPREAD),
    ];
    for (words, expected) in table {
        let judge = format!("judge p label=app:web owner=replicaset/web {words}\n{expected}");
        in_zones(&format!("pod q on=a1 label=app:web\n{judge}"));
    }
}

#[test]
fn pods_of_the_same_service_job_or_gang_are_counted() {
    in_zones(
        "
        grouping service/all tier:back
        pod q on=a1 label=tier:back label=job-name:x label=pod-group.scheduling.sigs.k8s.io/name:g
        judge p label=tier:back
        > a1 fits TopologySpread=20
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        # Without the annotation, labels of jobs mean nothing; neither do those of another one.
        judge p label=job-name:x
        > a1 fits
        > b1 fits
        > b2 fits
        > c1 fits
        judge p label=job-name:x zones-spread=true workload=batch
        > a1 fits TopologySpread=20
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        judge p label=job-name:y zones-spread=true workload=batch
        > a1 fits TopologySpread=100
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        judge p label=pod-group.scheduling.sigs.k8s.io/name:g gang=g zones-spread=true
        > a1 fits TopologySpread=20
        > b1 fits TopologySpread=100
        > b2 fits TopologySpread=100
        > c1 fits TopologySpread=100
        # Nobody is alike.
        judge p zones-spread=true
        > a1 fits
        > b1 fits
        > b2 fits
        > c1 fits
        ",
    );
}

#[test]
fn racks_are_compared_among_zones_that_have_as_many() {
    check(
        "
        node a1 label=topology.kubernetes.io/zone:a label=topology.kubernetes.io/rack:r1
        node a2 label=topology.kubernetes.io/zone:a label=network.kubenexus.io/rack-id:r2
        node b1 label=topology.kubernetes.io/zone:b label=topology.kubernetes.io/rack:r3
        node b2 label=topology.kubernetes.io/zone:b label=topology.kubernetes.io/rack:r3 \
             label=network.kubenexus.io/rack-id:r2
        grouping service/web app:web
        pod q on=a1 label=app:web
        pod r on=a1 label=app:web
        pod s on=b1 label=app:web
        pod t on=b2 label=app:web
        pod u on=b2 label=app:web
        # Zone a has two and b three. Both racks of a count, also the one without pods.
        judge p label=app:web
        > a1 fits TopologySpread=75
        > a2 fits TopologySpread=100
        > b1 fits TopologySpread=40
        > b2 fits TopologySpread=25
        # Zones have as many: the rack with the fewest of all of them is the best.
        pod v on=a1 label=app:web
        judge p label=app:web
        > a1 fits TopologySpread=60
        > a2 fits TopologySpread=100
        > b1 fits TopologySpread=75
        > b2 fits TopologySpread=60.75
        ",
    );
}

#[test]
fn domains_without_a_node_that_fits_do_not_count() {
    let profile = |plugins: &[&'static str]| {
        let mut profile = only("TopologySpread");
        plugins.iter().for_each(|name| profile.add(framework::Point::Filter, name));
        profile
    };
    check_with(
        &[profile(&["TaintToleration", "NodeAffinity", "NodeResourcesFit"])],
        "
        node a label=topology.kubernetes.io/zone:a disk=ssd
        node b label=topology.kubernetes.io/zone:b disk=ssd
        node c label=topology.kubernetes.io/zone:c disk=ssd taint=old:NoSchedule
        node d label=topology.kubernetes.io/zone:d disk=hdd
        node e label=topology.kubernetes.io/zone:e disk=ssd cpu=1
        grouping service/web app:web
        pod q on=a label=app:web
        pod r on=b label=app:web
        judge p label=app:web cpu=2 select=disk:ssd
        > a fits TopologySpread=100
        > b fits TopologySpread=100
        > c TaintToleration UnschedulableAndUnresolvable: node(s) had untolerated taint(s)
        > d NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match Pod's node \
          affinity/selector
        > e NodeResourcesFit UnschedulableAndUnresolvable: Insufficient cpu
        ",
    );
}

#[test]
fn nodes_without_a_label_are_one_domain() {
    check(
        "
        node a label=topology.kubernetes.io/zone:a
        node b
        node c
        grouping service/web app:web
        pod q on=b label=app:web
        judge p label=app:web
        > a fits TopologySpread=100
        > b fits TopologySpread=0
        > c fits TopologySpread=20
        pod r on=a label=app:web
        pod s on=a label=app:web
        judge p label=app:web
        > a fits TopologySpread=20
        > b fits TopologySpread=80
        > c fits TopologySpread=100
        # It has a zone now.
        node c label=topology.kubernetes.io/zone:c
        judge p label=app:web
        > a fits TopologySpread=20
        > b fits TopologySpread=24
        > c fits TopologySpread=100
        gone node c
        judge p label=app:web
        > a fits TopologySpread=20
        > b fits TopologySpread=100
        ",
    );
}

#[test]
fn levels_with_one_domain_have_no_weight() {
    check(
        "
        node a
        grouping service/web app:web
        pod q on=a label=app:web
        judge p label=app:web
        > a fits TopologySpread=0
        node b
        judge p label=app:web
        > a fits TopologySpread=0
        > b fits TopologySpread=100
        ",
    );
}

#[test]
fn weights_of_levels_are_arguments() {
    let script = |scores: [&str; 4]| {
        let [a1, b1, b2, c1] = scores.map(|score| format!("TopologySpread={score}"));
        format!(
            "{ZONES}
            pod q on=a1 label=app:web
            pod r on=b1 label=app:web
            judge p label=app:web owner=replicaset/web
            > a1 fits {a1}
            > b1 fits {b1}
            > b2 fits {b2}
            > c1 fits {c1}
            "
        )
    };
    check_with(&[weighing(50, 50, 50)], &script(["0", "0", "50", "100"]));
    // Without zones hosts are all there is.
    check_with(&[weighing(0, 25, 15)], &script(["0", "0", "100", "100"]));
    check_with(&[weighing(1, 0, 0)], &script(["0", "0", "0", "100"]));
    check_with(&[weighing(0, 1, 0)], &script(["0", "0", "0", "0"]));
}

/// Pods of one class and of more controllers than counts are kept for.
#[test]
fn pods_of_many_controllers_share_a_class() {
    let mut script = String::from(
        "node a label=topology.kubernetes.io/zone:x\nnode b label=topology.kubernetes.io/zone:y\n",
    );
    for at in 0..7 {
        script += &format!("grouping replicaset/r{at} app:a{at}\npod q{at} on=a label=app:a{at}\n");
    }
    for at in 0..7 {
        let p = format!("p{at} label=app:a{at} owner=replicaset/r{at}");
        script += &format!("pod {p}\nstep\n> p{at} -> b\n");
    }
    for at in 0..7 {
        let p = format!("p label=app:a{at} owner=replicaset/r{at}");
        script += &format!(
            "pod z{at} on=b label=app:a{at}\njudge {p}\n> a fits TopologySpread=100\n\
             > b fits TopologySpread=20\n"
        );
    }
    check(&script);
}
