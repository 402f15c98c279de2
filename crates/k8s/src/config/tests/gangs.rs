//! The plugins for gangs: which profiles have them, and what their arguments mean.

use framework::{
    Args, ClassifierArgs, CoschedulingArgs, NamespaceOffset, Namespaces, Point, ProfileSettings,
    Tenant, TierBoosts,
};
use model::{LabelOperator, LabelSelector, Millis, OnPartialFailure, RequirementSpec, Tier};

use super::{at, good, read};
use crate::config::{defaults, from_json, write};

/// What other tools write for a scheduler with gangs.
const WRITTEN: &str = "
profiles:
- schedulerName: NAME
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: \"*\"}]}
    preFilter: {enabled: [{name: Coscheduling}]}
    permit: {enabled: [{name: Coscheduling}]}
";

fn only(body: &str) -> ProfileSettings {
    let mut profiles = good(body).profiles;
    assert_eq!(profiles.len(), 1);
    profiles.remove(0)
}

#[test]
fn a_file_with_gangs_at_three_points_loads_for_any_name() {
    for name in ["kubenexus-scheduler", "default-scheduler", "mine"] {
        let profile = only(&WRITTEN.replace("NAME", name));
        assert_eq!(at(&profile, Point::QueueSort), "Coscheduling", "{name}");
        assert_eq!(at(&profile, Point::Permit), "Coscheduling", "{name}");
        let before = at(&profile, Point::PreFilter);
        assert!(before.contains("Coscheduling") && before.contains("NodeResourcesFit"), "{before}");
        let is_ours = name == "kubenexus-scheduler";
        assert_eq!(before.contains("ProfileClassifier"), is_ours, "{name}: {before}");
    }
}

#[test]
fn defaults_may_be_disabled_in_part() {
    let parts = [
        "queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}",
        "multiPoint: {disabled: [{name: PrioritySort}, {name: ImageLocality}], \
         enabled: [{name: Coscheduling}]}",
    ];
    for name in ["kubenexus-scheduler", "default-scheduler"] {
        for part in parts {
            let body = format!("profiles: [{{schedulerName: {name}, plugins: {{{part}}}}}]\n");
            assert_eq!(at(&only(&body), Point::QueueSort), "Coscheduling", "{body}");
        }
    }
    // With kube-scheduler's defaults the other order must go, as it must there.
    let body = "profiles: [{plugins: {queueSort: {enabled: [{name: Coscheduling}]}}}]\n";
    let expected = "line 3: profiles[0].plugins.queueSort: expected exactly one plugin, found \
                    PrioritySort, Coscheduling";
    assert_eq!(read(body).expect_err("two").to_string(), expected);
}

#[test]
fn what_is_not_built_is_refused_beside_it() {
    let body = WRITTEN.replace("NAME", "kubenexus-scheduler")
        + "    score: {enabled: [{name: BackfillScheduler, weight: 10}]}\n";
    let expected = "line 10: profiles[0].plugins.score.enabled[0].name: plugin \
                    \"BackfillScheduler\" is not built yet";
    assert_eq!(read(&body).expect_err("not built").to_string(), expected);
}

#[test]
fn zones_count_in_a_profile_that_names_them_at_score() {
    for name in ["NUMATopology", "NodeResourceTopology"] {
        let body = WRITTEN.replace("NAME", "batch")
            + &format!("    score: {{enabled: [{{name: {name}, weight: 10}}]}}\n");
        let profile = only(&body);
        assert!(at(&profile, Point::Score).ends_with("NUMATopology:10"), "{name}");
        assert!(!at(&profile, Point::Filter).contains("NUMATopology"), "{name}");
    }
}

#[test]
fn our_order_yields_to_one_that_is_asked_for() {
    for part in ["queueSort", "multiPoint"] {
        let body = format!(
            "profiles: [{{schedulerName: kubenexus-scheduler, plugins: {{{part}: {{enabled: \
             [{{name: PrioritySort}}]}}}}}}, {{schedulerName: default-scheduler}}]\n"
        );
        let settings = good(&body);
        assert_eq!(at(&settings.profiles[0], Point::QueueSort), "PrioritySort", "{part}");
        assert!(at(&settings.profiles[0], Point::Permit).contains("Coscheduling"), "{part}");
        check_written(&settings);
    }
}

#[test]
fn profiles_of_both_orders_share_a_queue() {
    let body = "profiles: [{schedulerName: kubenexus-scheduler}, {schedulerName: \
                default-scheduler}]\n";
    let settings = good(body);
    let [ours, kube] = &settings.profiles[..] else { panic!("two profiles") };
    assert_eq!(at(ours, Point::QueueSort), "Coscheduling");
    let (known, other) = (super::known(), &defaults(&super::known()).profiles);
    assert_eq!((kube, ours), (&other[0], &other[1]));
    assert_eq!(from_json(&write(&settings, &known), &known).expect("valid"), settings);
}

pub(super) const ARGS: &str = "
profiles:
- schedulerName: kubenexus-scheduler
  pluginConfig:
  - name: Coscheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: CoschedulingArgs
      permitWaitingTimeSeconds: 20
      bindRetries: 5
      onPartialFailure: requeue
      keepRoomSeconds: 60
      podGroupBackoffSeconds: 5
      starvation: {orderAfterSeconds: 90}
      tierOrderBoost: {gold: 5}
      namespacePriority:
      - {namespaces: [a, b], offset: 7}
      - {namespaceSelector: {matchLabels: {team: x}}, offset: -3}
  - name: ProfileClassifier
    args:
      tenants:
      - name: research
        namespaces: [lab]
        namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}
        tier: gold
        mayRefusePreemption: true
      - {name: guests, namespaceSelector: {}, clusterQueues: [guest, guest.example.com]}
      - {name: queued, clusterQueues: [gpu]}
      priorityClasses: [{name: urgent, tier: silver}]
      preemptiblePriorityClasses: [spot]
";

fn requirement(key: &str, operator: LabelOperator, values: &[&str]) -> LabelSelector {
    let values = values.iter().map(|&value| value.to_owned()).collect();
    LabelSelector { requirements: vec![RequirementSpec { key: key.into(), operator, values }] }
}

#[test]
fn arguments_are_read_and_written() {
    let settings = good(ARGS);
    let profile = &settings.profiles[0];
    let by_team = requirement("team", LabelOperator::In, &["x"]);
    let offset = |names: &[&str], selector, offset| NamespaceOffset {
        namespaces: Namespaces { names: names.iter().map(|&n| n.to_owned()).collect(), selector },
        offset,
    };
    let args = CoschedulingArgs {
        permit_timeout: Millis::seconds(20),
        bind_retries: 5,
        on_partial_failure: OnPartialFailure::Requeue,
        room_kept: Millis::seconds(60),
        group_backoff: Millis::seconds(5),
        starving_after: Millis::seconds(90),
        tier_boosts: TierBoosts { gold: 5, silver: 10, bronze: 0 },
        offsets: vec![offset(&["a", "b"], None, 7), offset(&[], Some(by_team), -3)],
    };
    assert_eq!(profile.args_of("Coscheduling"), Some(&Args::Coscheduling(args)));
    assert_eq!(settings.gang_args().permit_timeout, Millis::seconds(20));
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let tenant = |name: &str, names: &[&str], selector, queues: &[&str], tier| Tenant {
        name: name.into(),
        namespaces: Namespaces { names: texts(names), selector },
        cluster_queues: texts(queues),
        tier,
        may_refuse_preemption: tier.is_some(),
    };
    let by_team = requirement("team", LabelOperator::Exists, &[]);
    let args = ClassifierArgs {
        tenants: vec![
            tenant("research", &["lab"], Some(by_team), &[], Some(Tier::Gold)),
            tenant(
                "guests",
                &[],
                Some(LabelSelector::default()),
                &["guest", "guest.example.com"],
                None,
            ),
            tenant("queued", &[], None, &["gpu"], None),
        ],
        tiers_by_class: vec![("urgent".into(), Tier::Silver)],
        preemptible_classes: vec!["spot".into()],
    };
    assert_eq!(profile.args_of("ProfileClassifier"), Some(&Args::Classifier(args)));
    assert!(settings.names_cluster_queues() && !good("").names_cluster_queues());
    check_written(&settings);
}

#[test]
fn the_time_for_parts_of_gangs_is_ten_seconds_and_one_for_all() {
    assert_eq!(good("").gang_args().permit_timeout, Millis::seconds(10));
    assert_eq!(defaults(&super::known()).gang_args().permit_timeout, Millis::seconds(10));
    // A profile without gangs has nothing to say.
    let both = format!("{ARGS}- schedulerName: default-scheduler\n");
    assert_eq!(good(&both).gang_args().permit_timeout, Millis::seconds(20));
    let other =
        "- schedulerName: mine\n  plugins:\n    permit: {enabled: [{name: Coscheduling}]}\n";
    let found = read(&format!("{ARGS}{other}")).expect_err("two times").to_string();
    let differ = [
        ("permitWaitingTimeSeconds", "20", "10"),
        ("bindRetries", "5", "3"),
        ("onPartialFailure", "requeue", "evictBound"),
        ("keepRoomSeconds", "60", "300"),
    ];
    for (name, first, second) in differ {
        let expected = format!(
            "line 34: profiles[1].pluginConfig[Coscheduling].args.{name}: must be the same as in \
             profile \"kubenexus-scheduler\": expected {first}, found {second}"
        );
        assert!(found.contains(&expected), "{expected}\nin\n{found}");
    }
}

fn check_written(settings: &crate::config::Settings) {
    let known = super::known();
    let written = write(settings, &known);
    let read = from_json(&written, &known);
    assert_eq!(read.unwrap_or_else(|error| panic!("{error}\n{written:#}")), *settings);
}
