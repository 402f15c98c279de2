//! Gangs of users' files.

use super::{HEAD, NODE, plan, report};

/// A Job of so many pods of one CPU each.
fn job(pods: u32, labels: &str) -> String {
    format!(
        "kind: Job, metadata: {{name: j}}, spec: {{parallelism: {pods}, completions: {pods}, \
         template: {{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: c, \
         resources: {{requests: {{cpu: 1}}}}}}]}}}}}}"
    )
}

fn scenario(entry: &str) -> String {
    format!(
        "{HEAD}span: 5m\nschedulerName: kubenexus-scheduler\njobs:\n  - {{{entry}}}\n---\n{NODE}"
    )
}

#[test]
fn a_job_may_be_a_gang_by_an_entry() {
    let whole = scenario(&format!("gang: {{}}, template: {{{}}}", job(5, "")));
    assert_eq!(report(&whole).pods.placed, 0, "four of five would fit");
    let some = scenario(&format!("gang: {{min: 4}}, template: {{{}}}", job(5, "")));
    assert_eq!(report(&some).pods.placed, 4);
    let text = report(&whole).waiting[0].message.clone();
    assert!(text.contains("room for 4 of at least 5"), "{text}");
}

#[test]
fn a_job_may_be_a_gang_by_its_labels() {
    let labels = "pod-group.scheduling.kubenexus.io/name: g, \
                  pod-group.scheduling.kubenexus.io/min-available: '5'";
    assert_eq!(report(&scenario(&format!("template: {{{}}}", job(5, labels)))).pods.placed, 0);
    let twice = scenario(&format!("count: 2, template: {{{}}}", job(2, labels)));
    let gangs: Vec<_> = plan(&twice).0.jobs.into_iter().map(|job| job.gang.unwrap().gang).collect();
    assert_eq!(gangs, ["g-1".into(), "g-2".into()], "each arrival is a gang of its own");
}

#[test]
fn labels_that_a_profile_does_not_read_are_noted() {
    let labels = "pod-group.scheduling.kubenexus.io/name: g, \
                  pod-group.scheduling.kubenexus.io/min-available: '5'";
    let ours = scenario(&format!("template: {{{}}}", job(5, labels)));
    let is_noted = |text: &str| {
        let notes = plan(text).1;
        notes.iter().any(|note| note.starts_with("5 pods say by labels or annotations"))
    };
    assert!(!is_noted(&ours));
    let kube = ours.replace("kubenexus-scheduler", "default-scheduler");
    assert!(is_noted(&kube));
    assert_eq!(report(&kube).pods.placed, 4, "one by one");
    assert!(!is_noted(&kube.replace(labels, "app: a")));
}
