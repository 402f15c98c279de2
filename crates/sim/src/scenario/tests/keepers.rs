//! Who makes pods anew, who must stay, and who is spread by what.

use model::{GroupingKind, Owner};

use super::*;
use crate::plan::{Keeper, Stay};
use crate::world::PodRecord;

/// A second node beside the one of all tests.
const SECOND: &str =
    "---\nkind: Node\nmetadata: {name: n2}\nstatus: {allocatable: {cpu: 4, memory: 8Gi}}\n";

fn owned(kind: &str, version: &str) -> String {
    format!("ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: o, controller: true}}]")
}

/// One pod of each kind on a node, and what becomes of the node after a minute.
fn pods_after(deed: &str) -> Vec<(String, String)> {
    let pod = |name: &str, metadata: &str| {
        format!("---\nkind: Pod\nmetadata: {{name: {name}, {metadata}}}\nspec: {{nodeName: n1}}\n")
    };
    let pods = [
        pod("bare", "labels: {a: b}"),
        pod("daemon", &owned("DaemonSet", "apps/v1")),
        pod("mirror", "annotations: {kubernetes.io/config.mirror: x}"),
        pod("of-node", &owned("Node", "v1")),
        pod("web", &owned("ReplicaSet", "apps/v1")),
    ];
    let text = format!(
        "{NODE}{SECOND}{}---\n{HEAD}span: 10m\nnodes:\n- {{at: 1m, do: {deed}, node: n1}}\n",
        pods.concat()
    );
    let mut run = Run::new(plan(&text).0);
    run.run_until(Time(600_000)).expect("no rule is broken");
    let world = run.world();
    let there = world.pods().map(|(_, pod)| pod).filter(|pod| !pod.is_gone);
    let place = |pod: &PodRecord| {
        let node = pod.bound.map(|node| world.node(node).facts.name.clone());
        (pod.key.name.to_string(), node.unwrap_or_default())
    };
    let mut places: Vec<_> = there.map(place).collect();
    places.sort();
    places
}

#[test]
fn only_pods_of_controllers_are_made_again_when_their_node_is_lost_or_drained() {
    let row = |name: &str, node: &str| (name.to_owned(), node.to_owned());
    let moved = row("web-00005", "n2");
    for deed in ["leave", "die"] {
        assert_eq!(pods_after(deed), std::slice::from_ref(&moved), "{deed}");
    }
    let stay = ["daemon", "mirror", "of-node"].map(|name| row(name, "n1"));
    assert_eq!(pods_after("drain"), [&stay[..], &[moved]].concat());
}

/// A full node with one pod that is to stay, and a more important one that waits.
fn preempted(budget: &str) -> u64 {
    let pod = |name: &str, rest: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\n\
             spec: {{{rest}, containers: [{{name: c, resources: {{requests: {{cpu: 4}}}}}}]}}\n"
        )
    };
    let nodes = format!("{NODE}{SECOND}");
    let (kept, free) = (pod("kept", "nodeName: n1"), pod("other", "nodeName: n2, priority: 1"));
    let text = format!("{nodes}{kept}{free}{}{budget}", pod("urgent", "priority: 100"));
    let mut run = Run::new(plan(&text).0).until_settled();
    run.run_until(Time(u64::MAX)).expect("no rule is broken");
    let gone = run.world().pods().filter(|(_, pod)| pod.is_gone).map(|(_, pod)| &*pod.key.name);
    let gone: Vec<&str> = gone.collect();
    assert_eq!(gone.len(), 1, "{gone:?}");
    u64::from(gone == ["kept"])
}

#[test]
fn a_budget_protects_its_pods_from_being_evicted_for_others() {
    assert_eq!(preempted(""), 1, "the least important pod goes");
    for stay in ["minAvailable: 1", "maxUnavailable: 0", "minAvailable: 1%", "maxUnavailable: 0%"] {
        let budget = format!(
            "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b}}\n\
             spec: {{{stay}, selector: {{matchLabels: {{app: kept}}}}}}\n"
        );
        assert_eq!(preempted(&budget), 0, "{stay}");
    }
    let budget = "---\nkind: PodDisruptionBudget\nmetadata: {name: b}\n\
                  spec: {maxUnavailable: 1, selector: {matchLabels: {app: kept}}}\n";
    assert_eq!(preempted(budget), 1, "one may go");
}

#[test]
fn budgets_by_table() {
    // (what the budget says, how many must stay of ten)
    let table = [
        (Stay::AtLeast(3), 3),
        (Stay::AtLeastPercent(25), 3),
        (Stay::AllBut(3), 7),
        (Stay::AllButPercent(25), 7),
        (Stay::AllButPercent(100), 0),
    ];
    for (stay, expected) in table {
        assert_eq!(stay.of(10), expected, "{stay:?}");
    }
}

#[test]
fn drains_say_that_they_do_not_wait_for_budgets() {
    let budget = "kind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {selector: {}}\n";
    let text = format!("{NODE}---\n{budget}---\n{HEAD}nodes:\n- {{do: drain, at: 1m, node: n1}}\n");
    let note = "not simulated: a drain does not wait for PodDisruptionBudgets";
    assert_eq!(plan(&text).1, [note]);
}

#[test]
fn services_and_controllers_are_what_the_engine_spreads_pods_by() {
    let text = format!(
        "{NODE}---\nkind: Service\nmetadata: {{name: s}}\nspec: {{selector: {{app: web}}}}\n---\n\
         kind: Deployment\nmetadata: {{name: web, namespace: team}}\nspec:\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template: {{spec: {{}}}}\n---\n\
         {HEAD}jobs:\n- template:\n    kind: StatefulSet\n    metadata: {{name: db}}\n    \
         spec: {{template: {{metadata: {{labels: {{app: db}}}}, spec: {{}}}}}}\n"
    );
    let (plan, notes) = plan(&text);
    assert_eq!(notes, [""; 0]);
    let found = plan.groupings.iter().map(|facts| {
        let key = &facts.key;
        (key.kind, &*key.namespace, &*key.name, &*facts.selector.requirements[0].values[0])
    });
    let expected = [
        (GroupingKind::Service, "default", "s", "web"),
        (GroupingKind::ReplicaSet, "team", "web", "web"),
        (GroupingKind::StatefulSet, "default", "db", "db"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let owner = |kind, name: &str| Keeper::Controller(Some(Owner { kind, name: name.into() }));
    let keepers: Vec<&Keeper> = plan.jobs.iter().map(|job| &job.life.keeper).collect();
    let expected = [owner(GroupingKind::ReplicaSet, "web"), owner(GroupingKind::StatefulSet, "db")];
    assert_eq!(keepers, expected.iter().collect::<Vec<_>>());
}

/// Without the service nothing tells the engine that these pods belong together, and image and
/// room make one node the best for all of them.
#[test]
fn pods_of_a_service_are_spread_over_nodes_by_default() {
    let zone = |name: &str, cpu: u32| {
        format!(
            "kind: Node\nmetadata:\n  name: {name}\n  \
             labels: {{topology.kubernetes.io/zone: {name}}}\n\
             status: {{allocatable: {{cpu: {cpu}, memory: 64Gi}}}}\n---\n"
        )
    };
    let pod = |number: usize| {
        format!(
            "kind: Pod\nmetadata: {{name: p{number}, labels: {{app: web}}}}\nspec: {{containers: \
             [{{name: c, resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}}}]}}\n---\n"
        )
    };
    let service = "kind: Service\nmetadata: {name: s}\nspec: {selector: {app: web}}\n";
    let nodes = zone("large", 64) + &zone("small", 4);
    let pods: String = (0..6).map(pod).collect();
    let on_small = |text: &str| {
        let mut run = Run::new(plan(text).0);
        run.run_until(Time(60_000)).expect("no rule is broken");
        let small = run.world().find_node("small");
        run.world().pods().filter(|(_, pod)| pod.bound == small).count()
    };
    let alone = on_small(&format!("{nodes}{pods}"));
    let spread = on_small(&format!("{nodes}{pods}{service}"));
    assert!(spread > alone, "{spread} of 6 with the service, {alone} without");
}

#[test]
fn pods_whose_controllers_are_not_given_are_noted() {
    let web = owned("ReplicaSet", "apps/v1");
    let text =
        format!("{NODE}---\nkind: Pod\nmetadata: {{name: p, {web}}}\nspec: {{nodeName: n1}}\n");
    let note = "not simulated: 1 pods belong to controllers that are not among the files; they are \
                spread by default as if they had none";
    assert_eq!(plan(&text).1, [note]);
}
