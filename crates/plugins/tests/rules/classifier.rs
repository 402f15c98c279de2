//! `ProfileClassifier` by table: what a pod is, and how that is known.

use framework::{Args, ClassifierArgs, Namespaces, ProfileSettings, Tenant};
use model::{
    Hints, Ignored, Known, LabelOperator, LabelSelector, PodFacts, RequirementSpec, Said, Source,
    Tier, Workload, WorkloadProfile,
};
use testkit::{Script, own_profile, pod, with_args};

/// What a pod is in a run, by words and hints.
fn classify(run: &mut Script, words: &str, hints: Hints) -> WorkloadProfile {
    let mut facts: PodFacts = pod(words);
    facts.spec.hints = hints.if_any();
    let profile = run.scheduler.classify(&facts).expect("our profile classifies pods");
    (*profile).clone()
}

fn run(args: ClassifierArgs, namespaces: &[&str]) -> Script {
    let settings: ProfileSettings =
        with_args(own_profile(), "ProfileClassifier", Args::Classifier(args));
    let mut run = Script::new(&[settings], Default::default());
    for namespace in namespaces {
        run.command(&format!("namespace {namespace}"));
    }
    run
}

fn owner(workload: Workload, kind: &str) -> Hints {
    Hints { made_by: Some((workload, kind.into())), ..Hints::default() }
}

fn label(workload: Workload, key: &str) -> Hints {
    Hints { labelled: Some((workload, key.into())), ..Hints::default() }
}

fn declared(word: &str) -> Hints {
    Hints { declared: Some(Said::read(word, &Workload::WORDS)), ..Hints::default() }
}

/// Hints of several sources.
fn both(first: Hints, second: Hints) -> Hints {
    Hints {
        declared: first.declared.or(second.declared),
        made_by: first.made_by.or(second.made_by),
        labelled: first.labelled.or(second.labelled),
        ..Hints::default()
    }
}

#[test]
fn what_a_pod_does_and_wants_by_table() {
    use Workload::{Batch, Inference, Interactive, Service};
    let job = || owner(Batch, "Job");
    let web = || owner(Service, "ReplicaSet");
    let spark = || label(Batch, "spark-role");
    let owned = |kind: &str| Source::Owner(kind.into());
    let labelled = |key: &str| Source::Label(key.into());
    // (words, hints, what it does, how that is known, hardware)
    let table = [
        ("", Hints::default(), "service", Source::Nothing, "none"),
        ("gang=g/3", Hints::default(), "batch", Source::Gang, "none"),
        ("gang=g", Hints::default(), "batch", Source::Gang, "none"),
        ("", spark(), "batch", labelled("spark-role"), "none"),
        ("", label(Batch, "tf-replica-type"), "batch", labelled("tf-replica-type"), "none"),
        ("", label(Batch, "pytorch-job-name"), "batch", labelled("pytorch-job-name"), "none"),
        ("", job(), "batch", owned("Job"), "none"),
        ("gpu=1", job(), "training", Source::BatchWithGpus, "single-gpu"),
        ("gpu=8", spark(), "training", Source::BatchWithGpus, "multi-gpu"),
        ("gpu=8 gang=g/2", Hints::default(), "training", Source::BatchWithGpus, "multi-node"),
        ("gpu=1 gang=g/1", Hints::default(), "training", Source::BatchWithGpus, "single-gpu"),
        ("gpu=1", Hints::default(), "service", Source::Nothing, "single-gpu"),
        ("gpu=1", declared("batch"), "batch", Source::Pod, "single-gpu"),
        ("gang=g/3", declared("inference"), "inference", Source::Pod, "none"),
        ("", both(declared("interactive"), job()), "interactive", Source::Pod, "none"),
        ("", both(declared("sport"), job()), "batch", owned("Job"), "none"),
        ("", owner(Inference, "InferenceService"), "inference", owned("InferenceService"), "none"),
        ("gpu=2", owner(Interactive, "Notebook"), "interactive", owned("Notebook"), "multi-gpu"),
        ("", web(), "service", owned("ReplicaSet"), "none"),
        ("", both(web(), spark()), "service", owned("ReplicaSet"), "none"),
        ("gang=g/3", web(), "batch", Source::Gang, "none"),
        ("amd.com/gpu=1", job(), "training", Source::BatchWithGpus, "single-gpu"),
        ("nvidia.com/mig-1g.5gb=1", job(), "training", Source::BatchWithGpus, "single-gpu"),
        ("gpu.intel.com/i915=2", job(), "training", Source::BatchWithGpus, "multi-gpu"),
        ("example.com/gpus=1", job(), "batch", owned("Job"), "none"),
        ("example.com/gpu-mem=1", job(), "batch", owned("Job"), "none"),
    ];
    for (words, hints, workload, source, hardware) in table {
        let mut run = run(ClassifierArgs::default(), &["default"]);
        let found = classify(&mut run, &format!("p {words}"), hints.clone());
        assert_eq!(found.workload.value.word(), workload, "{words} {hints:?}");
        assert_eq!(found.workload.source, source, "{words} {hints:?}");
        assert_eq!(found.hardware.value.word(), hardware, "{words} {hints:?}");
    }
}

#[test]
fn a_workload_that_there_is_not_is_told() {
    let mut run = run(ClassifierArgs::default(), &["default"]);
    let found = classify(&mut run, "p", declared("sport"));
    assert_eq!(*found.ignored, [Ignored::Workload("sport".into())]);
}

fn administered() -> ClassifierArgs {
    let by_label = |key: &str, value: &str| {
        let requirement = RequirementSpec {
            key: key.into(),
            operator: LabelOperator::In,
            values: vec![value.into()],
        };
        Namespaces {
            names: vec!["unseen".into()],
            selector: Some(LabelSelector { requirements: vec![requirement] }),
        }
    };
    let tenant = |name: &str, namespaces, tier, may_refuse_preemption| Tenant {
        name: name.into(),
        namespaces,
        cluster_queues: Vec::new(),
        tier,
        may_refuse_preemption,
    };
    ClassifierArgs {
        tenants: vec![
            tenant("research", by_label("team", "research"), Some(Tier::Gold), true),
            tenant("sales", by_label("team", "sales"), None, false),
        ],
        tiers_by_class: vec![("urgent".into(), Tier::Gold)],
        preemptible_classes: vec!["spot".into()],
    }
}

#[test]
fn tiers_come_from_administrators_and_whatever_is_doubtful_is_bronze() {
    let namespaces = [
        "default",
        "lab team:research tenant.kubenexus.io/tier:bronze",
        "shop team:sales tenant.kubenexus.io/tier:silver",
        "golden tenant.kubenexus.io/tier:gold",
        "shouting tenant.kubenexus.io/tier:GOLD",
        "spaced tenant.kubenexus.io/tier:",
    ];
    let asks = |word: &str| Some(Said::read(word, &Tier::WORDS));
    let tenant = |name: &str| Source::Tenant(name.into());
    let odd = |word: &str| Source::NamespaceUnreadable(word.into());
    let class = || Source::PriorityClass("urgent".into());
    // (namespace, priority class, tier asked for, tier, how it is known, tenant)
    let table = [
        ("default", "", None, "bronze", Source::Nothing, "default"),
        ("default", "urgent", None, "gold", class(), "default"),
        ("default", "urgent-not", None, "bronze", Source::Nothing, "default"),
        ("default", "", asks("gold"), "bronze", Source::Nothing, "default"),
        ("default", "urgent", asks("silver"), "silver", Source::Pod, "default"),
        ("lab", "", None, "gold", tenant("research"), "research"),
        ("lab", "", asks("bronze"), "bronze", Source::Pod, "research"),
        ("lab", "", asks("Gold"), "bronze", Source::PodUnreadable("Gold".into()), "research"),
        ("shop", "urgent", None, "silver", Source::NamespaceLabel, "sales"),
        ("shop", "", asks("gold"), "silver", Source::NamespaceLabel, "sales"),
        ("golden", "", None, "gold", Source::NamespaceLabel, "golden"),
        ("shouting", "urgent", None, "bronze", odd("GOLD"), "shouting"),
        ("spaced", "urgent", None, "bronze", odd(""), "spaced"),
        // As after a list that failed: nothing is known, whatever else is said.
        ("unseen", "urgent", asks("gold"), "bronze", Source::NamespaceUnknown, "unseen"),
    ];
    for (namespace, class, asked, tier, source, tenant) in table {
        let mut run = run(administered(), &namespaces);
        let priority_class = (!class.is_empty()).then(|| class.into());
        let hints = Hints { priority_class, tier: asked, ..Hints::default() };
        let words = format!("p namespace={namespace}");
        let found = classify(&mut run, &words, hints.clone());
        let known = (found.tier.value.word(), found.tier.source, &*found.tenant.value);
        assert_eq!(known, (tier, source, tenant), "{namespace} {hints:?}");
    }
}

#[test]
fn a_tier_that_is_asked_for_in_vain_is_told() {
    let mut run = run(administered(), &["shop team:sales tenant.kubenexus.io/tier:silver"]);
    let hints = Hints { tier: Some(Said::Known(Tier::Gold)), ..Hints::default() };
    let found = classify(&mut run, "p namespace=shop", hints);
    assert_eq!(*found.ignored, [Ignored::Tier(Tier::Gold)]);
}

#[test]
fn a_namespace_that_goes_takes_its_tier_along() {
    let mut run = run(ClassifierArgs::default(), &["a tenant.kubenexus.io/tier:gold"]);
    assert_eq!(classify(&mut run, "p namespace=a", Hints::default()).tier.value, Tier::Gold);
    run.command("gone namespace a");
    let found = classify(&mut run, "p namespace=a", Hints::default());
    assert_eq!(found.tier, Known { value: Tier::Bronze, source: Source::NamespaceUnknown });
}

/// Tenants by ClusterQueue: one by namespace as well, one whose queue another has too.
fn with_queues() -> ClassifierArgs {
    let tenant = |name: &str, names: &[&str], queues: &[&str], tier| Tenant {
        name: name.into(),
        namespaces: Namespaces {
            names: names.iter().map(|&name| name.into()).collect(),
            selector: None,
        },
        cluster_queues: queues.iter().map(|&queue| queue.into()).collect(),
        tier,
        may_refuse_preemption: false,
    };
    let tenants = vec![
        tenant("research", &["lab"], &["gpu", "gpu-spot"], Some(Tier::Gold)),
        tenant("sales", &[], &["web", "gpu-spot"], Some(Tier::Silver)),
        tenant("guests", &[], &["guest"], None),
    ];
    ClassifierArgs { tenants, ..ClassifierArgs::default() }
}

#[test]
fn a_namespace_belongs_to_a_tenant_if_all_its_queues_lead_to_the_tenants() {
    let queue = |name: &str, queue: &str| Source::ClusterQueue(name.into(), queue.into());
    let nobody = ("team", Source::NamespaceName, "bronze", Source::Nothing);
    let research = |by: &str| ("research", queue("research", by), "gold", queue("research", by));
    // (LocalQueues of the namespace, tenant, how that is known, tier, how that is known)
    let table: [(&[&str], _); 9] = [
        (&[], nobody.clone()),
        (&["a gpu"], research("gpu")),
        (&["a gpu", "b gpu-spot", "c gpu"], research("gpu")),
        (&["a gpu-spot"], research("gpu-spot")),
        (
            &["a gpu-spot", "b web"],
            ("sales", queue("sales", "gpu-spot"), "silver", queue("sales", "gpu-spot")),
        ),
        (&["a gpu", "b web"], nobody.clone()),
        (&["a gpu", "b nobodys"], nobody.clone()),
        (&["a gpu2"], nobody.clone()),
        (&["a guest"], ("guests", queue("guests", "guest"), "bronze", Source::Nothing)),
    ];
    for (queues, expected) in table {
        let mut run = run(with_queues(), &["team"]);
        for queue in ["gpu", "gpu-spot", "web", "nobodys", "gpu2", "guest"] {
            run.command(&format!("clusterqueue {queue}"));
        }
        for words in queues {
            run.command(&format!("localqueue team/{words}"));
        }
        // Of another namespace, which is nothing to this one.
        run.command("localqueue other/a gpu");
        let found = classify(&mut run, "p namespace=team", Hints::default());
        let known =
            (&*found.tenant.value, found.tenant.source, found.tier.value.word(), found.tier.source);
        assert_eq!(known, expected, "{queues:?}");
    }
}

/// Whoever may create a LocalQueue cannot give a namespace what the administrator's ClusterQueue
/// does not.
#[test]
fn a_queue_counts_if_its_cluster_queue_is_there_and_is_for_the_namespace() {
    let mut run = run(with_queues(), &[]);
    let mut tier = |command: &str| {
        run.command(command);
        classify(&mut run, "p namespace=team", Hints::default()).tier.value
    };
    assert_eq!(tier("namespace team team:a"), Tier::Bronze);
    let (gold, bronze) = (Tier::Gold, Tier::Bronze);
    for (command, expected) in [
        ("localqueue team/a gpu", bronze),
        ("clusterqueue gpu", gold),
        ("clusterqueue gpu nobodys", bronze),
        ("clusterqueue gpu team:a", gold),
        ("namespace team team:b", bronze),
        ("clusterqueue gpu team:b", gold),
        ("localqueue team/b gpu-spot", bronze),
        ("clusterqueue gpu-spot team:a", bronze),
        ("clusterqueue gpu-spot", gold),
        ("clusterqueue other nobodys", gold),
        ("gone clusterqueue gpu", bronze),
        ("gone clusterqueue gpu", bronze),
        ("gone localqueue team/a", gold),
    ] {
        assert_eq!(tier(command), expected, "{command}");
    }
}

#[test]
fn the_queue_that_a_pod_names_means_nothing() {
    let tier = |queues: &[&str], named: &str| {
        let mut run = run(with_queues(), &["team"]);
        for queue in ["gpu", "gpu-spot", "nobodys"] {
            run.command(&format!("clusterqueue {queue}"));
        }
        for words in queues {
            run.command(&format!("localqueue team/{words}"));
        }
        let mut facts = pod("p namespace=team");
        facts.labels = [("kueue.x-k8s.io/queue-name".into(), named.into())].into();
        let profile = run.scheduler.classify(&facts).expect("our profile classifies pods");
        profile.tier.value
    };
    assert_eq!(tier(&[], "gpu"), Tier::Bronze);
    assert_eq!(tier(&["high gpu", "low nobodys"], "high"), Tier::Bronze);
    assert_eq!(tier(&["high gpu", "low gpu-spot"], "none"), Tier::Gold);
}

#[test]
fn namespaces_count_beside_queues_and_one_that_is_not_known_has_neither() {
    let mut run = run(with_queues(), &["lab"]);
    run.command("localqueue lab/a web");
    let found = classify(&mut run, "p namespace=lab", Hints::default());
    assert_eq!(found.tier, Known { value: Tier::Gold, source: Source::Tenant("research".into()) });
    run.command("localqueue unseen/a gpu");
    let found = classify(&mut run, "p namespace=unseen", Hints::default());
    assert_eq!(found.tier, Known { value: Tier::Bronze, source: Source::NamespaceUnknown });
}

#[test]
fn a_word_about_spreading_that_means_nothing_is_told() {
    let mut run = run(administered(), &["default"]);
    let says = |word: &str| Some(Said::read(word, &[("true", true), ("false", false)]));
    for (word, ignored) in [("true", None), ("false", None), ("yes", Some("yes"))] {
        let hints = Hints { spread: says(word), ..Hints::default() };
        let found = classify(&mut run, "p", hints);
        let ignored = ignored.map(|word| Ignored::Spread(word.into()));
        assert_eq!(found.ignored.first(), ignored.as_ref(), "{word}");
    }
}

#[test]
fn preemptible_pods_by_table() {
    let says = |word: &str| Some(Said::read(word, &[("true", true), ("false", false)]));
    let spot = || Source::PriorityClass("spot".into());
    // (namespace, priority class, label, preemptible, how that is known, in vain)
    let table = [
        ("default", "", None, false, Source::Nothing, None),
        ("default", "spot", None, true, spot(), None),
        ("default", "spots", None, false, Source::Nothing, None),
        ("default", "", says("true"), true, Source::Pod, None),
        ("default", "spot", says("false"), true, spot(), Some(Ignored::NotPreemptible)),
        ("lab", "spot", says("false"), false, Source::Pod, None),
        (
            "default",
            "",
            says("yes"),
            false,
            Source::Nothing,
            Some(Ignored::Preemptible("yes".into())),
        ),
    ];
    for (namespace, class, preemptible, expected, source, ignored) in table {
        let mut run = run(administered(), &["default", "lab team:research"]);
        let priority_class = (!class.is_empty()).then(|| class.into());
        let hints = Hints { priority_class, preemptible, ..Hints::default() };
        // Of the lowest priority there is, which alone means nothing.
        let words = format!("p namespace={namespace} priority=0");
        let found = classify(&mut run, &words, hints.clone());
        assert_eq!(found.is_preemptible, Known { value: expected, source }, "{hints:?}");
        assert_eq!(found.ignored.first(), ignored.as_ref(), "{hints:?}");
    }
}
