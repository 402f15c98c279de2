//! For every reason: a parked unit is woken by each event that can cure it, and by no other.

use std::mem::discriminant;

use framework::{Args, NodeAffinityArgs, Point, ProfileSettings};
use model::{Decision, FabricFault, Need, Reason, ResourceId};
use testkit::{Script, default_profile, pod, with_args};

use crate::cold_path::strict;
use crate::{wake_fabric, wake_gpus, wake_numa, wake_tiers, wake_volumes};

/// A cluster in which pod `p` waits, what wakes it, and what does not. Several commands are
/// separated by semicolons.
pub(crate) struct Case {
    profile: ProfileSettings,
    start: &'static str,
    cures: &'static [&'static str],
    idle: &'static [&'static str],
}

impl Case {
    pub(crate) fn new(
        start: &'static str,
        cures: &'static [&'static str],
        idle: &'static [&'static str],
    ) -> Self {
        Self { profile: default_profile(), start, cures, idle }
    }

    /// The same with another profile.
    pub(crate) fn with(self, profile: ProfileSettings) -> Self {
        Self { profile, ..self }
    }
}

/// One example of every reason.
fn reasons() -> Vec<Reason> {
    let insufficient =
        |is_beyond_node| Reason::Insufficient { resource: ResourceId::CPU, is_beyond_node };
    vec![
        Reason::NoNodes,
        Reason::Gated(Box::default()),
        Reason::OtherNode,
        Reason::Closed,
        Reason::UntoleratedTaint,
        Reason::NodeAffinity,
        Reason::AddedAffinity,
        Reason::AffinityConflict,
        Reason::NotNamed(Box::default()),
        Reason::NoneNamed(Box::default()),
        Reason::HostPort,
        Reason::TooManyPods,
        insufficient(false),
        insufficient(true),
        Reason::MissingFeature,
        Reason::SpreadLabel,
        Reason::SpreadSkew,
        Reason::NotNear,
        Reason::NotFar,
        Reason::Unwelcome,
        Reason::BrokenSpread,
        Reason::BrokenTerm,
        Reason::NotSupported(Need::ResourceClaims),
        Reason::BrokenPreference,
        Reason::GangFault("x".into()),
        Reason::NoPodGroup("g".into()),
        Reason::GangIncomplete { there: 1, min: 2 },
        Reason::MemberGated("q".into()),
        Reason::After("g".into()),
        Reason::AfterCycle(Box::default()),
        Reason::Fabric(FabricFault::Invalid("x".into())),
        Reason::Fabric(FabricFault::TooSlow),
        Reason::OtherDomain,
        Reason::ClusterShort { resource: "cpu".into(), asked: 6000, free: 5000, offered: 8000 },
    ]
}

/// What is tried for a reason. A new reason needs a case here, and an example above.
fn case(reason: &Reason) -> Case {
    match reason {
        Reason::NoNodes => Case::new("pod p cpu=1", &["node a"], &["pod q on=a", "gone node a"]),
        Reason::Gated(_) => Case::new(
            "node a; pod p gate=quota gate=more",
            &["pod p", "pod p gate=quota; pod p"],
            &["pod p gate=more", "node b", "node a cpu=8", "pod q on=a; gone pod q"],
        ),
        Reason::Closed => Case::new(
            "node a closed; pod r on=a cpu=1; pod p",
            &["node a", "node b", "pod p tolerate=*"],
            &["node a closed cpu=8", "node a closed zone=x", "node b closed", "gone pod r"],
        ),
        Reason::UntoleratedTaint => Case::new(
            "node a taint=spot:NoSchedule; pod r on=a; pod p",
            &["node a", "node a taint=spot:PreferNoSchedule", "node b", "pod p tolerate=spot"],
            &[
                "node a taint=spot:NoSchedule cpu=8",
                "node a taint=other:NoExecute",
                "node b taint=spot:NoSchedule",
                "gone pod r",
            ],
        ),
        Reason::AffinityConflict => {
            stuck("node a; pod r on=a; pod p require=@metadata.name:in:a&@metadata.name:in:b")
        }
        Reason::NoneNamed(_) => {
            stuck("node a; pod r on=a; pod p target=a require=@metadata.name:in:b")
        }
        Reason::NotSupported(_) => stuck("node a; pod r on=a; pod p need=claims"),
        Reason::BrokenPreference => stuck("node a; pod r on=a; pod p prefer=5:zone:what:x"),
        Reason::GangFault(_) => stuck("node a; pod r on=a; pod p broken=x"),
        Reason::NoPodGroup(_) => without_group(),
        Reason::GangIncomplete { .. } => incomplete(),
        Reason::MemberGated(_) => gated_member(),
        Reason::After(_) => after(),
        Reason::AfterCycle(_) => in_cycle(),
        Reason::Volume(fault) => wake_volumes::case(fault),
        Reason::Numa(fault) => wake_numa::case(fault),
        Reason::Gpu(fault) => wake_gpus::case(fault),
        Reason::Fabric(fault) => wake_fabric::case(fault),
        Reason::Tier(fault) => wake_tiers::case(*fault),
        Reason::OtherDomain => elsewhere(),
        Reason::ClusterShort { .. } => short_in_all(),
        Reason::OtherNode => named(true),
        Reason::NotNamed(_) => named(false),
        Reason::NodeAffinity => labelled(false),
        Reason::AddedAffinity => labelled(true),
        Reason::HostPort => Case::new(
            "node a; pod q on=a port=80; pod r on=a; pod p port=80",
            &["gone pod q", "pod q on=a port=80 finished", "pod q on=a port=81", "node b"],
            &["gone pod r", "node a cpu=8", "pod s on=a", "pod q on=a port=80 terminating"],
        ),
        Reason::TooManyPods => Case::new(
            "node a pods=1; pod q on=a; pod p",
            &["gone pod q", "pod q on=b", "node a pods=2", "node b"],
            &["node a pods=1 zone=x", "node b pods=0", "pod q on=a cpu=1", "node a pods=0"],
        ),
        Reason::SpreadLabel => unlabelled(),
        Reason::SpreadSkew => skewed(),
        Reason::NotNear => not_near(),
        Reason::NotFar => not_far(),
        Reason::Unwelcome => unwelcome(),
        Reason::BrokenSpread => stuck("node a; pod r on=a; pod p spread=zone,1,app:a/b"),
        Reason::BrokenTerm => stuck("node a; pod r on=a; pod p far=zone,app:a/b"),
        Reason::Insufficient { is_beyond_node, .. } => short(*is_beyond_node),
        Reason::MissingFeature => featureless(),
    }
}

fn featureless() -> Case {
    Case::new(
        "node a; pod r on=a; pod p feature=VolumeBindMountOptions",
        &["node a feature=VolumeBindMountOptions", "node b feature=VolumeBindMountOptions"],
        &["node a cpu=8", "node a feature=Other", "node b", "gone pod r"],
    )
}

fn unlabelled() -> Case {
    Case::new(
        "node a; pod p label=app:web spread=zone,1,app:web",
        &["node a zone=x", "node b zone=x", "pod p"],
        &["node a cpu=8", "pod s on=a label=app:web", "gone node a"],
    )
}

fn skewed() -> Case {
    Case::new(
        "node a zone=x host=1; node b zone=y host=2; pod q on=a label=app:web; \
         pod r on=b label=app:db; pod s on=b label=app:db; \
         pod p label=app:web spread=zone,1,app:web spread=host,1,app:db",
        &[
            "gone pod q",
            "gone pod r",
            "pod t on=b label=app:web",
            "gone node b",
            "pod q on=a",
            "node a zone=y host=1",
        ],
        &["pod t on=a", "node a zone=x host=1 cpu=8"],
    )
}

fn not_near() -> Case {
    Case::new(
        "node a zone=x; pod p label=app:db near=zone,app:web",
        &["pod q on=a label=app:web", "pod p"],
        &["pod q on=a label=app:db", "node a zone=x cpu=8"],
    )
}

fn not_far() -> Case {
    Case::new(
        "node a zone=x; pod q on=a label=app:web; pod p far=zone,app:web",
        &["gone pod q", "pod q on=a", "node b", "node a", "pod q on=a label=app:db"],
        &["pod s on=a label=app:db", "node a zone=x cpu=8"],
    )
}

fn unwelcome() -> Case {
    Case::new(
        "node a zone=x; pod q on=a far=zone,app:web; pod p label=app:web",
        &["gone pod q", "pod q on=a", "node b", "node a", "pod p"],
        &["pod s on=a label=app:web", "node a zone=x cpu=8"],
    )
}

/// Reasons that only another spec ends.
fn without_group() -> Case {
    Case::new(
        "node a; pod r on=a; pod p group=native/g; after 1s",
        &["podgroup native/g min=1", "pod p"],
        &["node b", "gone pod r", "podgroup native/other min=1"],
    )
}

fn incomplete() -> Case {
    Case::new(
        "node a; pod r on=a; pod p gang=g/2; after 1s",
        &["pod q gang=g/2", "pod q gang=g/2 on=a"],
        &["node b", "gone pod r"],
    )
}

fn gated_member() -> Case {
    Case::new(
        "node a; pod r on=a; pod p gang=g/2; pod q gang=g/2 gate=x; after 1s",
        &["pod q gang=g/2"],
        &["node b", "gone pod r"],
    )
}

fn after() -> Case {
    Case::new(
        "node a; pod r on=a; pod p after=g",
        &["succeeded x g", "pod p"],
        &["node b", "gone pod r"],
    )
}

fn in_cycle() -> Case {
    Case::new(
        "node a; pod r on=a; pod p gang=g/1 after=h; pod q gang=h/1 after=g on=a",
        &["pod p"],
        &["node b", "gone pod r"],
    )
}

fn elsewhere() -> Case {
    Case::new(
        "podgroup native/g min=2 topology=zone; node a cpu=1 zone=x; node b cpu=1 zone=y; \
         pod p group=native/g cpu=1 on=a; pod q group=native/g cpu=1",
        &["node c zone=x"],
        &["pod r on=b"],
    )
}

/// All nodes count together, whoever may use them.
fn short_in_all() -> Case {
    Case::new(
        "podgroup coscheduling/g min=1 minres=cpu:6; node a; node b closed; pod q on=a cpu=1; \
         pod s on=b cpu=2; pod r on=a; pod p group=coscheduling/g cpu=1",
        &[
            "gone pod q",
            "gone pod s",
            "pod q on=a cpu=0",
            "node a cpu=5",
            "node c cpu=1",
            "podgroup coscheduling/g min=1 minres=cpu:5",
            "podgroup coscheduling/g min=1",
            "pod t on=a group=coscheduling/g",
        ],
        &["gone pod r", "node a zone=x", "node a cpu=3", "pod q on=a cpu=2", "gone node b"],
    )
}

pub(crate) fn stuck(start: &'static str) -> Case {
    Case::new(start, &["pod p"], &["node b", "node a cpu=8 zone=x", "gone pod r", "gone node a"])
}

/// The pod names another node, asked before any node is looked at or of every node by itself.
fn named(is_per_node: bool) -> Case {
    let mut case = Case::new(
        "node a; pod r on=a; pod p target=b",
        &["node b", "pod p target=a"],
        &["node a cpu=8", "gone pod r"],
    );
    if is_per_node {
        case.idle = &["node a cpu=8", "gone pod r", "node c"];
        let before = case.profile.points.iter_mut().filter(|(point, _)| *point == Point::PreFilter);
        before.for_each(|(_, choices)| choices.retain(|choice| choice.name != "NodeName"));
    }
    case
}

fn labelled(is_added: bool) -> Case {
    let mut case = Case::new(
        "node a zone=y; pod r on=a; pod p select=zone:x",
        &["node a zone=x", "node b zone=x", "pod p"],
        &["node a zone=z", "node a zone=y cpu=8", "node b", "gone pod r"],
    );
    if is_added {
        case.start = "node a zone=y; pod r on=a; pod p";
        case.cures = &["node a zone=x", "node b zone=x", "pod p cpu=1"];
        let required = pod("p require=zone:in:x").spec.required;
        let args = NodeAffinityArgs { required, preferred: Vec::new() };
        case.profile = with_args(case.profile, "NodeAffinity", Args::NodeAffinity(args));
    }
    case
}

fn short(is_beyond_node: bool) -> Case {
    if is_beyond_node {
        return Case::new(
            "node a cpu=1; pod r on=a; pod p cpu=2",
            &["node a cpu=2", "node b", "pod p cpu=1"],
            &["node a cpu=1500m", "node a cpu=1 memory=16Gi", "node b cpu=1", "gone pod r"],
        );
    }
    Case::new(
        "node a cpu=1; pod q on=a cpu=1; pod r on=a; pod p cpu=1",
        &["gone pod q", "pod q on=a cpu=0", "node a cpu=2", "node b", "pod p cpu=0"],
        &["gone pod r", "node a cpu=1 memory=16Gi", "pod s on=a cpu=1", "pod q on=a cpu=2"],
    )
}

fn waits(case: &Case, reason: &Reason) -> Script {
    let mut run = Script::new(std::slice::from_ref(&case.profile), Default::default());
    case.start.split("; ").for_each(|line| _ = run.command(line));
    let mut decisions = Vec::new();
    run.scheduler.step(run.now, usize::MAX, &mut decisions);
    decisions.retain(|decision| !matches!(decision, Decision::Report(_)));
    let is_beyond =
        |reason: &Reason| matches!(reason, Reason::Insufficient { is_beyond_node: true, .. });
    let is_same = |other: &Reason| {
        let is_exact = !matches!(reason, Reason::Gpu(_) | Reason::Tier(_)) || reason == other;
        discriminant(reason) == discriminant(other)
            && is_beyond(reason) == is_beyond(other)
            && is_exact
    };
    match &decisions[..] {
        [] => assert!(matches!(reason, Reason::Gated(_)), "{}: nothing decided", case.start),
        [Decision::Wait(waiting)] => {
            let mut reasons = waiting.diagnosis.reasons();
            // The node that fixes the domain has a reason of its own.
            let is_right = if *reason == Reason::OtherDomain {
                reasons.any(is_same)
            } else {
                reasons.all(is_same)
            };
            assert!(is_right, "{}: {:?}", case.start, waiting.diagnosis);
        }
        other => panic!("{}: {other:?}", case.start),
    }
    run
}

#[test]
fn parked_units_are_woken_by_what_can_cure_them_and_by_nothing_else() {
    let volumes = wake_volumes::cases().into_iter().map(|(it, _)| Reason::Volume(it));
    let zones = wake_numa::cases().into_iter().map(|(it, _)| Reason::Numa(it));
    let gpus = wake_gpus::cases().into_iter().map(|(it, _)| Reason::Gpu(it));
    let tiers = wake_tiers::cases().into_iter().map(|(it, _)| Reason::Tier(it));
    for reason in reasons().into_iter().chain(volumes).chain(zones).chain(gpus).chain(tiers) {
        let case = case(&reason);
        let all = case.cures.iter().map(|event| (event, true));
        for (event, is_curing) in all.chain(case.idle.iter().map(|event| (event, false))) {
            let mut run = waits(&case, &reason);
            event.split("; ").for_each(|line| _ = run.command(line));
            let counts = run.scheduler.waiting();
            let is_woken = counts.active + counts.backoff == 1;
            assert_eq!(is_woken, is_curing, "{reason:?}: {}; {event}: {counts:?}", case.start);
            assert_eq!(counts.parked + counts.gated, usize::from(!is_curing), "{event}");
        }
    }
}

#[test]
fn a_reason_that_gives_way_to_another_is_not_the_end() {
    testkit::check(
        "
        node a cpu=1 taint=spot:NoSchedule
        pod q on=a cpu=1
        pod p cpu=1
        step
        > p waits: 0/1 nodes are available: 1 node(s) had untolerated taint(s).
        node a cpu=1
        after 1s
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod q
        after 2s
        step
        > p -> a
        ",
    );
}

/// A flood of units must not be tried again whenever a pod ends on a node that was never for them.
#[test]
fn a_node_that_turns_units_down_as_before_wakes_none_of_them() {
    let table = [
        // No pod that ends makes this node large enough.
        "node a cpu=8; node b cpu=2; pod q on=a cpu=4; pod r on=b cpu=1; pod p cpu=6",
        // There is room, but in the wrong zone.
        "node a zone=x cpu=8; node b zone=y cpu=9; pod q on=a cpu=4; pod r on=b; \
         pod p cpu=6 select=zone:x",
    ];
    for start in table {
        let mut run = Script::new(&[default_profile()], Default::default());
        start.split("; ").for_each(|line| _ = run.command(line));
        assert_eq!(run.command("step").len(), 1, "{start}");
        assert_eq!(run.scheduler.waiting().parked, 1, "{start}");
        run.command("gone pod r");
        assert_eq!(run.scheduler.waiting().parked, 1, "{start}");
        run.command("gone pod q");
        assert_eq!(run.scheduler.waiting().parked, 0, "{start}");
    }
}

/// Units of a class that were parked at different times wait for different reasons.
#[test]
fn what_only_some_units_of_a_class_noted_wakes_the_others() {
    testkit::check(
        "
        node a cpu=4
        pod q on=a cpu=4
        pod p cpu=4
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        node a cpu=4 taint=spot:NoSchedule
        pod s cpu=4
        step
        > s waits: 0/1 nodes are available: 1 node(s) had untolerated taint(s).
        gone pod q
        after 1s
        step
        > p waits: 0/1 nodes are available: 1 node(s) had untolerated taint(s).
        node a cpu=4
        after 5s
        step
        > s -> a
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn a_new_node_without_room_is_remembered() {
    testkit::check(
        "
        pod q on=a cpu=4
        pod p cpu=4
        step
        > p waits: no nodes available to schedule pods
        node a
        after 1s
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod q
        after 2s
        step
        > p -> a
        ",
    );
}

/// Pods that are spread only because a service says whom they are alike with.
#[test]
fn a_service_that_goes_wakes_the_pods_that_it_made_alike() {
    let full = "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology \
                spread constraints.";
    let label = "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology \
                 spread constraints (missing required label).";
    for (node, why) in [("node a zone=x", full), ("node a", label)] {
        for end in ["gone grouping service/web", "relist service", "grouping service/web app:db"] {
            let mut run = Script::new(&[strict()], Default::default());
            let lines = [
                node,
                "node b zone=y pods=0",
                "grouping service/web app:web",
                "pod q on=a label=app:web",
                "pod p label=app:web",
            ];
            lines.iter().for_each(|line| _ = run.command(line));
            assert_eq!(run.command("step"), [format!("p waits: {why}")], "{node}");
            run.command("grouping service/db app:db");
            run.command("grouping service/web app:web");
            assert_eq!(run.command("queue"), ["1 parked"], "{node}; {end}");
            run.command(end);
            assert_eq!(run.command("queue"), ["1 backoff"], "{node}; {end}");
            run.command("after 1s");
            assert_eq!(run.command("step"), ["p -> a"], "{node}; {end}");
        }
    }
}
