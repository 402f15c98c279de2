//! When a gang that others wait for has succeeded.

use kubenexus_engine::Options;
use testkit::{Script, default_profile};

/// Whether a pod that waits for gang `g` is placed, after these events.
fn follows(events: &[&str]) -> bool {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a");
    run.command("pod p after=g");
    run.command("step");
    events.iter().for_each(|event| _ = run.command(event));
    run.command("after 20s");
    run.command("step").contains(&"p -> a".to_owned())
}

#[test]
fn a_gang_succeeded_if_its_minimum_did_and_nobody_failed_or_lives() {
    assert!(follows(&["succeeded a g"]));
    assert!(follows(&["succeeded a g min=2", "succeeded b g min=2"]));
    assert!(!follows(&["succeeded a g min=2"]), "too few");
    assert!(!follows(&["succeeded a g", "pod b gang=g on=a"]), "one runs");
    assert!(!follows(&["succeeded a g", "pod b gang=g"]), "one waits");
    assert!(!follows(&["succeeded a g failed"]), "none succeeded");
    assert!(!follows(&["succeeded a g", "succeeded b g failed"]), "one failed");
    assert!(follows(&["succeeded a g", "succeeded b g failed", "succeeded b g"]));
    assert!(!follows(&["succeeded a other"]), "another gang");
}

#[test]
fn seven_of_eight_that_failed_are_no_success() {
    let failed = (1..8).map(|at| format!("succeeded p{at} g failed owner=Set/s created=5"));
    let mut events: Vec<String> = failed.collect();
    events.push("succeeded p0 g owner=Set/s created=5".into());
    assert!(!follows(&events.iter().map(String::as_str).collect::<Vec<_>>()));
}

/// By another pod of the same controller that was made later; each by one of its own.
#[test]
fn a_pod_that_failed_may_be_replaced() {
    let failed = "succeeded a g failed owner=Set/s created=5";
    let another = "succeeded b g failed owner=Set/s created=5";
    let later = "succeeded c g owner=Set/s created=6";
    assert!(follows(&[failed, later]));
    assert!(!follows(&[failed, "succeeded c g owner=Set/s created=5"]), "a sibling");
    assert!(!follows(&[failed, "succeeded c g owner=Set/t created=6"]), "of another owner");
    assert!(!follows(&[failed, another, later]), "one for two");
    assert!(follows(&[failed, another, later, "succeeded d g owner=Set/s created=7"]));
    assert!(!follows(&["succeeded a g failed created=5", "succeeded c g created=6"]), "no owner");
}

/// Such a controller does not say when it is through: a Job of Volcano, or one of a journal from
/// before Jobs were read.
#[test]
fn a_controller_may_make_more_pods_unless_several_start_together() {
    assert!(!follows(&["succeeded a g owner=Job/j"]));
    assert!(!follows(&["succeeded a g owner=Job/j min=1", "succeeded b g owner=Job/j min=1"]));
    let both = ["succeeded a g owner=Job/j min=2", "succeeded b g owner=Job/j min=2"];
    assert!(follows(&both));
    assert!(!follows(&both[..1]));
}

#[test]
fn pods_of_a_job_have_succeeded_when_it_is_complete() {
    let two = ["succeeded a g job=j min=2", "succeeded b g job=j min=2"];
    let with = |more: &[&str]| follows(&[&two[..], more].concat());
    assert!(!with(&[]), "it may make more");
    assert!(with(&["job j 2"]));
    assert!(with(&["succeeded c g job=j failed", "job j 2"]), "which fail is up to it");
    assert!(!with(&["job j 2", "gone job j"]));
    assert!(!with(&["job other 2"]));
    assert!(!with(&["job j 2", "pod c gang=g"]), "one waits");
    assert!(follows(&["job j 1", "succeeded a g job=j"]), "whichever is heard of first");
    assert!(follows(&["succeeded a g job=j", "job j 1"]));
    assert!(follows(&["succeeded a g job=j failed min=8", "job j 8"]), "by its success policy");
}

#[test]
fn all_jobs_of_a_gang_have_to_be_complete_and_all_others_of_it_succeed() {
    let pods = ["succeeded a g job=i min=3", "succeeded b g job=j min=3"];
    let with = |more: &[&str]| follows(&[&pods[..], more].concat());
    assert!(!with(&["job i 1"]));
    assert!(with(&["job i 1", "job j 2"]));
    assert!(!with(&["job i 1", "job j 1"]), "somebody is missing");
    assert!(with(&["job i 1", "job j 1", "succeeded c g min=3"]));
    assert!(!with(&["job i 1", "job j 2", "succeeded c g min=3 failed"]));
    assert!(!with(&["job i 2", "job j 2", "succeeded c g", "succeeded d g failed"]));
}

/// Whoever waits is woken by what ends the wait, and not minutes later.
#[test]
fn a_failure_that_is_deleted_does_not_count() {
    assert!(!follows(&["succeeded a g", "succeeded b g failed"]));
    assert!(follows(&["succeeded a g", "succeeded b g failed", "gone succeeded b"]));
}

#[test]
fn the_minimum_may_stand_in_an_object() {
    let pods = ["succeeded a g group=native/g", "succeeded b g group=native/g"];
    assert!(follows(&[&["podgroup native/g min=2"][..], &pods].concat()));
    assert!(!follows(&[&["podgroup native/g min=3"][..], &pods].concat()));
}
