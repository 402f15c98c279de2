//! Tenants and the hardware of their tier, with the whole default profile.

use framework::{
    Args, ClassifierArgs, Namespaces, PluginChoice, Point, ProfileSettings, TenantHardwareArgs,
    TierRule,
};
use model::{HardwareTier, Millis, Tier};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, check_with, own_profile, with_args};

use crate::cold_path::{check_none_oversleeps, config, forgetful, patient, step_judged};

const SCHEMA: &str = "tenant.kubenexus.io/tier";

fn with(change: impl FnOnce(&mut TenantHardwareArgs)) -> ProfileSettings {
    let mut args = TenantHardwareArgs::default();
    change(&mut args);
    with_args(own_profile(), "TenantHardware", Args::TenantHardware(args))
}

fn strict() -> ProfileSettings {
    with(|args| {
        args.rules.gold.overflows = false;
        args.rules.silver.overflows = false;
        args.rules.bronze.overflows = false;
    })
}

/// Our profile, in which nobody is ruled out by tiers.
fn ranking_only() -> ProfileSettings {
    let mut profile = own_profile();
    for (point, choices) in &mut profile.points {
        if matches!(point, Point::PreFilter | Point::Filter) {
            choices.retain(|choice: &PluginChoice| choice.name != "TenantHardware");
        }
    }
    profile
}

fn run(profile: &ProfileSettings, story: &str) {
    check_with(std::slice::from_ref(profile), &story.replace("TIER", SCHEMA));
}

/// Pods take all GPUs of a node, so that only the tier tells nodes apart.
const CLUSTER: &str = "
    namespace gold TIER:gold
    namespace silver TIER:silver
    namespace bronze TIER:bronze
    node h100 cpu=32 nvidia.com/gpu=8 model=NVIDIA-H100-80GB-HBM3
    node a100 cpu=32 nvidia.com/gpu=8 model=NVIDIA-A100-SXM4-80GB
    node l4 cpu=32 nvidia.com/gpu=8 model=NVIDIA-L4
    ";

#[test]
fn every_tenant_gets_the_hardware_of_its_tier_whoever_comes_first() {
    let pods = ["bronze", "silver", "gold"];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let homes = ["l4", "a100", "h100"];
    for order in orders {
        let mut story = CLUSTER.to_owned();
        for at in order {
            let (name, home) = (pods[at], homes[at]);
            story += &format!("pod {name} namespace={name} cpu=1 nvidia.com/gpu=8\nstep\n");
            story += &format!("> {name} -> {home}\n");
        }
        run(&own_profile(), &story);
        run(&strict(), &story);
        // Classes of several tiers share what facts say only where they say the same.
        run(&ranking_only(), &story);
    }
}

#[test]
fn tenants_overflow_where_nothing_better_is_left_and_never_if_that_is_denied() {
    let first = "
        pod bronze-1 namespace=bronze cpu=1 nvidia.com/gpu=8
        step
        > bronze-1 -> l4
        pod gold-1 namespace=gold cpu=1 nvidia.com/gpu=8
        step
        > gold-1 -> h100
        pod bronze-2 namespace=bronze cpu=1 nvidia.com/gpu=8
        step
        ";
    run(&own_profile(), &format!("{CLUSTER}{first}\n> bronze-2 -> a100\n"));
    let waits = "
        > bronze-2 waits: 0/3 nodes are available: 1 node(s) were of a hardware tier that the tenant
        >+may not use, 2 Insufficient nvidia.com/gpu.
        # Silver may use economy, though it is cheaper.
        pod silver-1 namespace=silver cpu=1 nvidia.com/gpu=8
        step
        > silver-1 -> a100
        gone pod bronze-1
        after 10s
        step
        > bronze-2 -> l4
        pod gold-2 namespace=gold cpu=1 nvidia.com/gpu=8
        pod silver-2 namespace=silver cpu=1 nvidia.com/gpu=8
        gone pod bronze-2
        step
        > gold-2 -> l4
        > silver-2 waits: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.
        ";
    run(&strict(), &format!("{CLUSTER}{first}{waits}"));
}

#[test]
fn a_tier_that_a_pod_writes_can_only_lower_what_it_may_use() {
    run(
        &strict(),
        &format!(
            "{CLUSTER}
            pod boast namespace=bronze tier=gold cpu=1 nvidia.com/gpu=8 target=h100
            step
            > boast waits: 0/3 nodes are available: 1 node(s) were of a hardware tier that the
            >+tenant may not use, 2 node(s) didn't satisfy plugin(s) [NodeName].
            pod modest namespace=gold tier=bronze cpu=1 nvidia.com/gpu=8
            step
            > modest -> l4
            # It is held to both: a node that is reserved for others stays so.
            node kept cpu=4 reserved=bronze
            node own cpu=4 reserved=gold
            pod lowered namespace=gold tier=bronze cpu=1 target=kept
            pod raised namespace=bronze tier=gold cpu=1 target=own
            pod gold namespace=gold cpu=1 target=own
            pod bronze namespace=bronze cpu=1 target=kept
            step
            > gold -> own
            > raised waits: 0/5 nodes are available: 1 node(s) were reserved for another tenant
            >+tier, 4 node(s) didn't satisfy plugin(s) [NodeName].
            > bronze -> kept
            > lowered waits: 0/5 nodes are available: 1 node(s) were reserved for another tenant
            >+tier, 4 node(s) didn't satisfy plugin(s) [NodeName].
            "
        ),
    );
}

/// Whatever the rules are: gold has less to choose from than bronze here.
#[test]
fn a_pod_that_lowers_its_tier_is_held_to_the_rules_of_both() {
    let profile = with(|args| {
        args.rules.gold = TierRule { allowed: vec![HardwareTier::Premium], overflows: false };
        args.rules.bronze = TierRule { allowed: vec![HardwareTier::Economy], overflows: false };
    });
    let waits = "
        pod lowered namespace=gold tier=bronze cpu=1 nvidia.com/gpu=8
        step
        > lowered waits: 0/3 nodes are available: 3 node(s) were of a hardware tier that the tenant
        >+may not use.
        pod bronze namespace=bronze cpu=1 nvidia.com/gpu=8
        step
        > bronze -> l4
        ";
    run(&profile, &format!("{CLUSTER}{waits}"));
}

#[test]
fn as_long_as_nobody_has_a_tier_nothing_is_said_of_pods_with_accelerators() {
    let story = "
        node h100 cpu=32 nvidia.com/gpu=8 hardware=premium reserved=gold
        pod a cpu=1 nvidia.com/gpu=1
        step
        > a -> h100
        pod b cpu=1 nvidia.com/gpu=1
        namespace other TIER:silver
        step
        > b waits: 0/1 nodes are available: 1 node(s) were reserved for another tenant tier.
        # Whatever says so: a namespace that loses its label is like one that is gone.
        namespace other team:a
        after 10s
        step
        > b -> h100
        ";
    run(&strict(), story);
    // Tenants of the configuration have tiers too, and so have priority classes.
    let tenant = framework::Tenant {
        name: "lab".into(),
        namespaces: Namespaces { names: vec!["lab".into()], selector: None },
        cluster_queues: Vec::new(),
        tier: Some(Tier::Gold),
        may_refuse_preemption: false,
    };
    let by_tenants = ClassifierArgs { tenants: vec![tenant.clone()], ..Default::default() };
    let classes = vec![("urgent".to_owned(), Tier::Gold)];
    let by_classes = ClassifierArgs { tiers_by_class: classes, ..Default::default() };
    let start = "
        namespace lab team:a
        node h100 cpu=32 nvidia.com/gpu=8 hardware=premium
        pod p cpu=1 nvidia.com/gpu=1
        step
        > p waits: 0/1 nodes are available: 1 node(s) were of a hardware tier that the tenant may
        >+not use.
        ";
    let gold = "
        pod q namespace=lab class=urgent cpu=1 nvidia.com/gpu=1
        step
        > q -> h100
        ";
    for args in [by_tenants, by_classes] {
        let profile = with_args(strict(), "ProfileClassifier", Args::Classifier(args));
        run(&profile, &format!("{start}{gold}"));
    }
    // One without a tier gives none.
    let tenants = vec![framework::Tenant { tier: None, ..tenant }];
    let args = ClassifierArgs { tenants, ..Default::default() };
    let profile = with_args(strict(), "ProfileClassifier", Args::Classifier(args));
    run(
        &profile,
        "node h100 nvidia.com/gpu=8 hardware=premium\npod p nvidia.com/gpu=1\nstep\n> p -> h100",
    );
}

#[test]
fn without_a_classifier_nobody_has_a_tier() {
    let mut profile = strict();
    for (_, choices) in &mut profile.points {
        choices.retain(|choice: &PluginChoice| choice.name != "ProfileClassifier");
    }
    run(
        &profile,
        "
        namespace default TIER:bronze
        node h100 nvidia.com/gpu=8 hardware=premium reserved=gold
        pod p nvidia.com/gpu=1
        step
        > p -> h100
        ",
    );
}

#[test]
fn nodes_are_reserved_for_tenants_of_a_tier_whatever_pods_ask_for() {
    run(
        &own_profile(),
        "
        namespace gold TIER:gold
        namespace silver TIER:silver
        namespace kube-system team:a
        node own cpu=4 reserved=gold
        pod a namespace=gold cpu=1
        pod b namespace=silver cpu=1
        pod c namespace=kube-system cpu=1
        step
        > a -> own
        > b waits: 0/1 nodes are available: 1 node(s) were reserved for another tenant tier.
        > c -> own
        # Nobody but the system.
        node own cpu=4 reserved=system
        pod d namespace=gold cpu=1
        pod e namespace=kube-system cpu=1
        step
        > d waits: 0/1 nodes are available: 1 node(s) were reserved for another tenant tier.
        > e -> own
        ",
    );
    // Which namespaces are the system's is an argument.
    run(
        &with(|args| args.system_namespaces = vec!["monitoring".into()]),
        "
        namespace gold TIER:gold
        node own cpu=4 reserved=system
        pod a namespace=monitoring cpu=1
        pod b namespace=kube-system cpu=1
        step
        > a -> own
        > b waits: 0/1 nodes are available: 1 node(s) were reserved for another tenant tier.
        ",
    );
}

#[test]
fn pods_without_accelerators_go_elsewhere_or_are_kept_off() {
    let story = "
        node a cpu=4 nvidia.com/gpu=1
        node b cpu=4
        pod p cpu=1
        pod q cpu=1 workload=batch
        pod r cpu=1 workload=interactive
        step
        > p -> b
        > q -> b
        > r -> b
        pod full cpu=1
        step
        > full -> b
        pod last cpu=1
        step
        ";
    run(&own_profile(), &format!("{story}> last -> a\n"));
    run(
        &with(|args| args.reserves_accelerators = true),
        &format!(
            "{story}> last waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had
            >+accelerators, which are reserved for pods that ask for some.
            pod g cpu=1 nvidia.com/gpu=1
            pod s cpu=1 namespace=kube-system
            step
            > s -> a
            > g -> a
            "
        ),
    );
}

/// The plugin without any other that ranks nodes.
fn alone() -> ProfileSettings {
    let mut profile = testkit::only("TenantHardware");
    let own = own_profile();
    let classifier = own.at(Point::PreFilter).iter().find(|it| it.name == "ProfileClassifier");
    let at = profile.points.iter_mut().find(|(point, _)| *point == Point::PreFilter);
    at.expect("it filters").1.extend(classifier.cloned());
    profile
}

/// A label of the tier, then the costliest product, then the cost.
#[test]
fn tiers_of_nodes_by_table() {
    run(
        &alone(),
        "
        namespace default TIER:silver
        node a nvidia.com/gpu=1 hardware=premium model=NVIDIA-L4
        node b nvidia.com/gpu=1 model=NVIDIA-L40S cost=9
        node c nvidia.com/gpu=1 model=NVIDIA-A10 cost=9
        node d nvidia.com/gpu=1 model=NVIDIA-A10G cost=3
        node e nvidia.com/gpu=1 cost=1
        node f nvidia.com/gpu=1 cost=0.999
        node g nvidia.com/gpu=1
        node h
        judge p nvidia.com/gpu=1
        > a fits TenantHardware=10
        > b fits TenantHardware=100
        > c fits TenantHardware=60
        > d fits TenantHardware=10
        > e fits TenantHardware=100
        > f fits TenantHardware=60
        > g fits TenantHardware=50
        > h fits TenantHardware=50
        judge q
        > a fits TenantHardware=0
        > b fits TenantHardware=0
        > c fits TenantHardware=0
        > d fits TenantHardware=0
        > e fits TenantHardware=0
        > f fits TenantHardware=0
        > g fits TenantHardware=0
        > h fits TenantHardware=100
        ",
    );
}

/// Products that ResourceSlices tell of, several on one node: the costliest counts.
#[test]
fn products_of_slices_count_as_those_of_labels() {
    run(
        &alone(),
        "
        namespace default TIER:bronze
        node mixed nvidia.com/gpu=2
        node plain nvidia.com/gpu=2
        slice mixed on=mixed devices=0,0 models=NVIDIA-L4,NVIDIA-H100-PCIe
        slice plain on=plain devices=0,0 models=NVIDIA-L4,NVIDIA-L4
        judge p nvidia.com/gpu=1
        > mixed fits TenantHardware=10
        > plain fits TenantHardware=100
        gone slice mixed
        judge p nvidia.com/gpu=1
        > mixed fits TenantHardware=50
        > plain fits TenantHardware=100
        ",
    );
}

/// What is kept of a class follows the tier of its namespace, in either direction.
#[test]
fn kept_results_follow_the_tier_of_a_namespace() {
    let mut script = Script::new(&[strict()], Default::default());
    let mut run = |line: &str| script.command(&line.replace("TIER", SCHEMA));
    run("node h100 cpu=32 nvidia.com/gpu=8 hardware=premium");
    run("node l4 cpu=32 nvidia.com/gpu=8 hardware=economy");
    run("namespace a TIER:gold");
    run("namespace b TIER:gold");
    let mut number = 0;
    let mut placed = |namespace: &str, run: &mut dyn FnMut(&str) -> Vec<String>| {
        number += 1;
        run(&format!("pod p{number} namespace={namespace} cpu=1 nvidia.com/gpu=2"));
        let answer = run("step").pop().unwrap_or_default();
        answer.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(placed("a", &mut run), "h100");
    assert_eq!(placed("b", &mut run), "h100");
    run("namespace a TIER:bronze");
    assert_eq!(placed("a", &mut run), "l4");
    assert_eq!(placed("b", &mut run), "h100");
    run("namespace a TIER:gold");
    assert_eq!(placed("a", &mut run), "h100");
    // With nobody left who has a tier there are no rules, and again there are.
    run("gone namespace b");
    run("namespace a team:x");
    run("node l4 cpu=32 nvidia.com/gpu=0 hardware=economy");
    run("gone pod p1");
    assert_eq!(placed("a", &mut run), "h100");
    run("gone pod p2");
    run("namespace other TIER:silver");
    assert_eq!(placed("a", &mut run), "use.");
}

/// Something that happens to a node, a namespace or a pod.
fn event(dice: u64) -> String {
    let pick = |from: u64, words: &[&'static str]| {
        words[usize::try_from(dice / from).unwrap_or(usize::MAX) % words.len()]
    };
    let namespace = pick(11, &["a", "b", "c"]);
    match dice % 10 {
        0..=3 => {
            let asks = pick(37, &["", "nvidia.com/gpu=1", "nvidia.com/gpu=2", "nvidia.com/gpu=2"]);
            let wish = pick(151, &["", "", "", "tier=gold", "tier=bronze"]);
            let priority = pick(1_009, &["", "", "", "priority=5"]);
            let number = dice / 7_919 % 12;
            format!("pod p{number} namespace={namespace} cpu=1 {asks} {wish} {priority}")
        }
        4 => format!("gone pod p{}", dice / 7_919 % 12),
        5 | 6 => {
            let offers = pick(11, &["", "nvidia.com/gpu=2", "nvidia.com/gpu=4"]);
            let tier = pick(37, &["", "hardware=premium", "hardware=standard", "hardware=economy"]);
            let cost = pick(151, &["", "cost=0.5", "cost=2", "cost=9"]);
            let reserved = pick(1_009, &["", "", "reserved=gold", "reserved=bronze"]);
            format!("node n{} cpu=4 {offers} {tier} {cost} {reserved}", dice / 7_919 % 5)
        }
        7 | 8 => {
            let label = pick(37, &["TIER:gold", "TIER:silver", "TIER:bronze", "TIER:x", "team:x"]);
            format!("namespace {namespace} {}", label.replace("TIER", SCHEMA))
        }
        _ => format!("gone namespace {namespace}"),
    }
}

proptest! {
    #![proptest_config(config(96))]

    /// Whatever happens to namespaces and nodes, what is kept is what asking anew would say.
    #[test]
    fn what_is_kept_of_tiers_is_what_asking_anew_would_say(
        events in vec(any::<u64>(), 40..90),
        is_forgetful in any::<bool>(),
    ) {
        let profile = with(|args| {
            args.rules.silver.overflows = false;
            args.rules.bronze.overflows = false;
            args.reserves_accelerators = true;
        });
        let mut run = if is_forgetful { forgetful(&profile) } else { patient(&profile) };
        run.command("node n9 cpu=4 nvidia.com/gpu=4");
        for dice in events {
            let line = event(dice);
            let gone = line.strip_prefix("gone pod ");
            let is_idle = gone.is_some_and(|uid| !run.pods.contains_key(uid));
            if !is_idle {
                run.command(&line);
            }
            run.now = run.now + Millis::seconds(11);
            step_judged(&mut run);
            check_none_oversleeps(&mut run);
        }
    }
}
