//! What is probably not meant as it is written is said, and what is said by name keeps its name.

use super::*;

fn warnings(text: &str) -> Vec<String> {
    scenario(text).warnings().all().iter().map(ToString::to_string).collect()
}

#[test]
fn unknown_fields_are_warnings_with_file_and_line() {
    let text = format!(
        "{NODE}---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    \
         simulate.kubenexus.io/duraton: 5m\nspec:\n  nodeSelectr: {{a: b}}\n---\n\
         {HEAD}pools:\n- name: big\n  count: 1\n  template:\n    status: {{allocatble: {{}}}}\n\
         jobs:\n- template:\n    kind: Job\n    metadata: {{name: j}}\n    \
         spec: {{paralelism: 2, template: {{spec: {{}}}}}}\n"
    );
    let expected = [
        "a.yaml:10: metadata.annotations[\"simulate.kubenexus.io/duraton\"]: unknown key; did you \
         mean \"simulate.kubenexus.io/duration\"?",
        "a.yaml:12: spec.nodeSelectr: unknown field; did you mean \"nodeSelector\"?",
        "a.yaml:20: pools[0].template.status.allocatble: unknown field; did you mean \
         \"allocatable\"?",
        "a.yaml:25: jobs[0].template.spec.paralelism: unknown field; did you mean \"parallelism\"?",
    ];
    assert_eq!(warnings(&text), expected);
    assert_eq!(warnings(NODE), [""; 0]);
}

#[test]
fn warnings_about_many_pods_are_bounded() {
    let pod = |number: usize| {
        format!("---\nkind: Pod\nmetadata: {{name: p{number}}}\nspec: {{nodeSelectr: {{}}}}\n")
    };
    let pods: String = (0..1500).map(pod).collect();
    assert_eq!(warnings(&format!("{NODE}{pods}")).len(), 1000);
}

#[test]
fn what_would_happen_after_the_end_is_noted() {
    let pod = "template: {kind: Pod, metadata: {name: p}, spec: {}}";
    let text = format!(
        "{NODE}---\n{HEAD}span: 1h\npools:\n- {{name: a, count: 1, like: n1, joins: 2h}}\n\
         jobs:\n- {{at: 61m, {pod}}}\n- {{at: 1h, {pod}}}\n- {{between: 2h..3h, {pod}}}\n\
         nodes:\n- {{at: 2h, do: close, node: n1}}\n"
    );
    let never = "after the end of the span, so it never happens";
    let expected = ["9: pools[0].joins", "11: jobs[0].at", "13: jobs[2].at", "15: nodes[0].at"];
    let expected: Vec<String> =
        expected.iter().map(|place| format!("a.yaml:{place}: {never}")).collect();
    assert_eq!(plan(&text).1, expected);
}

#[test]
fn the_same_file_twice_is_refused() {
    let twice = [source("a.yaml", NODE), source("a.yaml", NODE)];
    let refused = read(&twice).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused, "a.yaml:1: the file is given twice");
}

#[test]
fn pods_that_are_given_by_name_keep_their_names() {
    let text = format!(
        "{NODE}---\nkind: Pod\nmetadata: {{name: here}}\nspec: {{nodeName: n1}}\n---\n\
         kind: Pod\nmetadata: {{name: waits}}\nspec: {{nodeSelector: {{a: b}}}}\n---\n\
         kind: Pod\nmetadata: {{generateName: made-}}\nspec: {{}}\n---\n\
         kind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {{}}}}}}\n---\n\
         {HEAD}jobs:\n- {{count: 2, template: {{kind: Pod, metadata: {{name: p}}, spec: {{}}}}}}\n"
    );
    let mut run = Run::new(plan(&text).0);
    run.run_until(Time(60_000)).expect("no rule is broken");
    let mut names: Vec<&str> = run.world().pods().map(|(_, pod)| &*pod.key.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["here", "made-00002", "p-1", "p-2", "waits", "web-00003"]);
}
