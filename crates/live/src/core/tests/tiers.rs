//! Whose tier is in doubt, and how often that is told.

use super::*;

const OURS: &str = "kubenexus-scheduler";
const UNKNOWN: &str = "tier bronze: the namespace is not known, so the lowest";

/// A core of our own profile with a node that holds eight pods; everything is listed.
fn ours() -> Bench {
    let text = format!(
        "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, \
         profiles: [{{schedulerName: {OURS}}}]}}"
    );
    let mut bench = bench_of(&k8s::config::load(&text, plugins::known()).expect("valid"));
    bench.core.take(Input::Await(vec![]));
    bench.see(node(8));
    bench.listed();
    bench
}

fn namespace(name: &str, labels: Value) -> Event {
    ingest::namespace(&json!({"metadata": {"name": name, "labels": labels}})).expect("a namespace")
}

fn tier(word: &str) -> Value {
    json!({"tenant.kubenexus.io/tier": word})
}

/// A pod of ours, which asks for a tier if there is a word.
fn asking(name: &str, namespace: &str, word: Option<&str>) -> Event {
    let labels = word.map_or(json!({}), tier);
    let Event::Seen(Fact::Pod(mut facts)) = pod(name, json!({}), labels, "") else {
        panic!("a pod")
    };
    facts.spec.scheduler = OURS.into();
    facts.spec.namespace = namespace.into();
    facts.key.namespace = namespace.into();
    Event::Seen(Fact::Pod(facts))
}

impl Bench {
    /// What comes of a pod: the warnings about it. It is placed or told why it waits in any case.
    fn warnings(&mut self, name: &str, namespace: &str, word: Option<&str>) -> Vec<String> {
        self.see(asking(name, namespace, word));
        let mut decided = self.decided();
        assert!([format!("bind {name}"), format!("tell {name}")].contains(&decided[0]));
        decided.remove(0);
        decided
    }
}

fn warning(pod: &str, note: &str) -> Vec<String> {
    vec![format!("warn {OURS} {pod}: {note}")]
}

fn unreadable(whose: &str, word: &str) -> String {
    format!(
        "tier bronze: {} is {word:?}, expected gold, silver or bronze, so the lowest",
        whose.replace("KEY", "tenant.kubenexus.io/tier")
    )
}

#[test]
fn of_a_namespace_whose_tier_means_nothing_the_first_pod_is_told() {
    let mut bench = ours();
    bench.see(namespace("team", tier("platinum")));
    let expected = warning("a", &unreadable("label KEY of the namespace", "platinum"));
    assert_eq!(bench.warnings("a", "team", None), expected);
    assert_eq!(bench.warnings("b", "team", None), [""; 0]);
    // The same labels are listed again, then there are others.
    bench.see(namespace("team", tier("platinum")));
    assert_eq!(bench.warnings("c", "team", None), [""; 0]);
    bench.see(namespace("team", tier("GOLD")));
    let expected = warning("d", &unreadable("label KEY of the namespace", "GOLD"));
    assert_eq!(bench.warnings("d", "team", None), expected);
    bench.see(namespace("team", tier("gold")));
    assert_eq!(bench.warnings("e", "team", None), [""; 0]);
}

#[test]
fn what_pods_say_is_told_once_for_every_word_and_not_without_end() {
    let mut bench = ours();
    bench.see(namespace("team", tier("gold")));
    let note = |word: &str| unreadable("KEY of the pod", word);
    assert_eq!(bench.warnings("a", "team", Some("x")), warning("a", &note("x")));
    assert_eq!(bench.warnings("b", "team", Some("x")), [""; 0]);
    assert_eq!(bench.warnings("c", "team", Some("y")), warning("c", &note("y")));
    assert_eq!(bench.warnings("d", "team", Some("bronze")), [""; 0], "that has a meaning");
    let words: Vec<String> = (0..100).map(|at| format!("w{at}")).collect();
    let told = words.iter().map(|word| bench.warnings(word, "team", Some(word)).len());
    assert_eq!(told.sum::<usize>(), 14);
}

#[test]
fn a_namespace_that_is_not_known_is_told_when_its_pod_is_decided_on() {
    let mut bench = ours();
    bench.see(asking("late", "there", None));
    bench.see(namespace("there", json!({})));
    assert_eq!(bench.decided(), ["bind late"], "it is known by then");
    assert_eq!(bench.warnings("a", "nowhere", None), warning("a", UNKNOWN));
    assert_eq!(bench.warnings("b", "nowhere", None), [""; 0]);
    bench.see(namespace("nowhere", json!({})));
    assert_eq!(bench.warnings("c", "nowhere", None), [""; 0]);
    bench.see(Event::gone(Kind::Namespace, "nowhere"));
    assert_eq!(bench.warnings("d", "nowhere", None), warning("d", UNKNOWN));
    bench.see(Event::Listed(Kind::Namespace, Present::Names(BTreeSet::new())));
    assert!(bench.core.state.tiers.0.is_empty(), "nothing is kept of what is not there");
}

#[test]
fn pods_that_wait_are_told_like_those_that_are_placed() {
    let mut bench = ours();
    bench.see(Event::gone(Kind::Node, "n"));
    assert_eq!(bench.warnings("a", "nowhere", None), warning("a", UNKNOWN));
}

#[test]
fn profiles_without_tiers_warn_nobody() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(8));
    bench.listed();
    bench.see(namespace("team", tier("platinum")));
    bench.see(pod("a", json!({}), json!({}), ""));
    assert_eq!(bench.decided(), ["bind a"]);
}

#[test]
fn a_word_of_a_pod_that_means_nothing_is_told_once() {
    let mut bench = ours();
    bench.see(namespace("team", tier("gold")));
    let said = |name: &str, key: &str, value: &str| {
        let event = pod(name, json!({}), json!({ key: value }), "");
        let Event::Seen(Fact::Pod(mut facts)) = event else { panic!("a pod") };
        facts.spec.scheduler = OURS.into();
        Event::Seen(Fact::Pod(facts))
    };
    let mut told = |name: &str, key: &str, value: &str| {
        bench.see(said(name, key, value));
        bench.decided()
    };
    const TYPE: &str = "workload.kubenexus.io/type";
    const PREEMPTIBLE: &str = "scheduling.kubenexus.io/preemptible";
    let note = "workload.kubenexus.io/type is \"traning\"; expected training, inference, batch, \
                service or interactive; it is ignored";
    let expected = ["bind a".to_owned(), format!("ignored {OURS} a: {note}")];
    assert_eq!(told("a", TYPE, "traning"), expected);
    assert_eq!(told("b", TYPE, "traning"), ["bind b"]);
    let note = "scheduling.kubenexus.io/preemptible is \"yes\"; expected \"true\" or \"false\"; \
                it is ignored";
    let expected = ["bind c".to_owned(), format!("ignored {OURS} c: {note}")];
    assert_eq!(told("c", PREEMPTIBLE, "yes"), expected);
    assert_eq!(told("d", PREEMPTIBLE, "true"), ["bind d"]);
}
