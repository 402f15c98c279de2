//! Namespaces of users' files.

use model::Labels;

use super::{HEAD, NODE, plan};
use crate::run::Run;

/// Two pods, of which each takes the whole node for a minute; the first one is of `poor`.
fn contest(namespaces: &str) -> String {
    let pod = |namespace: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: {namespace}, namespace: {namespace}, labels: \
             {{tenant.kubenexus.io/tier: gold}}}}\nspec: {{containers: [{{name: c, resources: \
             {{requests: {{cpu: 4}}}}}}]}}\n"
        )
    };
    let head = format!("{HEAD}span: 5m\nduration: 1m\nschedulerName: kubenexus-scheduler\n");
    format!("{head}---\n{NODE}{}{}{namespaces}", pod("poor"), pod("rich"))
}

fn first(namespaces: &str) -> String {
    let mut run = Run::new(plan(&contest(namespaces)).0);
    run.run_until(run.end()).unwrap();
    let first = run.pods().min_by_key(|pod| pod.placed).unwrap();
    first.job.to_owned()
}

#[test]
fn the_label_of_a_namespace_says_how_its_pods_are_served() {
    let namespace = |tier: &str| {
        let labels = format!("labels: {{tenant.kubenexus.io/tier: {tier}}}");
        format!("---\nkind: Namespace\nmetadata: {{name: rich, {labels}}}\n")
    };
    assert_eq!(first(&namespace("gold")), "rich");
    assert_eq!(first(&namespace("silver")), "rich");
    assert_eq!(first(&namespace("platinum")), "poor");
    assert_eq!(first(""), "poor");
}

#[test]
fn every_namespace_with_pods_is_there_and_has_its_name() {
    let (plan, notes) = plan(&contest("---\nkind: Namespace\nmetadata: {name: idle}\n"));
    let found: Vec<(&str, &Labels)> =
        plan.namespaces.iter().map(|one| (&*one.name, one.states[0].1.as_ref().unwrap())).collect();
    let labels = |name: &str| Labels::from([("kubernetes.io/metadata.name".into(), name.into())]);
    let expected = ["idle", "poor", "rich"].map(|name| (name, labels(name)));
    assert_eq!(found, expected.each_ref().map(|(name, labels)| (*name, labels)));
    assert_eq!(notes, Vec::<String>::new());
}
