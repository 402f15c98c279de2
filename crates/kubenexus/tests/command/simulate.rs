//! `kubenexus simulate FILE...`: the examples, what is printed about them, and bad files.

use std::path::Path;

use serde_json::Value;

use crate::runner::{Ran, arg, in_repository, run, scratch};

const DAY: &str = "examples/simulate/day.yaml";
const MACHINES: &str = "examples/simulate/machines.yaml";
const CLUSTER: &str = "examples/simulate/cluster.yaml";
const JOB: &str = "examples/simulate/training-job.yaml";

/// Runs `simulate` on files of the repository, with further arguments.
fn simulate(files: &[&str], more: &[&str]) -> Ran {
    let files: Vec<_> = files.iter().map(|file| in_repository(file)).collect();
    let files: Vec<&str> = files.iter().map(|file| arg(file)).collect();
    run(&[&["simulate"], &files[..], more].concat())
}

fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).expect("the result is JSON")
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let readme = std::fs::read_to_string(in_repository("README.md")).expect("there is a README");
    let command = format!("simulate {CLUSTER} {JOB}");
    let (_, after) = readme.split_once(&command).expect("the README shows the command");
    let (_, shown) = after.split_once("```text\n").expect("the report follows");
    let (shown, _) = shown.split_once("```").expect("the report ends");
    let ran = simulate(&[CLUSTER, JOB], &[]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    assert_eq!(ran.out, shown, "put what the command prints into the README");
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_waiting_is_no_failure() {
    let (one, other) = (simulate(&[DAY], &["--json"]), simulate(&[DAY], &["--json"]));
    assert_eq!(one.out, other.out);
    let report = json(&one);
    assert_eq!(report["pods"]["waiting"], 1, "the yearly report fits nowhere");
    assert_eq!(
        report["waiting"][0]["reason_codes"],
        serde_json::json!(["InsufficientResource", "UntoleratedTaint"])
    );
    assert!(report["pods"]["evicted"].as_u64() > Some(0), "a node failed");
    assert!(report["history"].as_array().is_some_and(|samples| samples.len() > 200));
}

#[test]
fn machines_show_who_holds_what_and_how_many_were_rejected() {
    let page = scratch("simulate-machines.html", b"");
    let ran = simulate(&[MACHINES], &["--html", arg(&page)]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    for text in ["had to align", "Inside nodes at the end", " gpu ", "reported"] {
        assert!(ran.out.contains(text), "{text}:\n{}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    let page = std::fs::read_to_string(&page).expect("the page was written");
    for text in ["<h2>Inside nodes</h2>", "Kubelets had to align", "reported</td>", "\nGPU "] {
        assert!(page.contains(text), "{text}");
    }
    let report = json(&simulate(&[MACHINES], &["--json"]));
    let kubelets = &report["kubelets"];
    assert!(kubelets["aligned"].as_u64() > Some(50), "{kubelets}");
    let devices = &report["held"]["nodes"][4]["pods"][0]["devices"][0];
    assert_eq!(devices["resource"], "nvidia.com/gpu", "{}", report["held"]);
    let config = in_repository("config/config.yaml");
    let both = simulate(&[MACHINES], &["--compare", arg(&config), arg(&config)]);
    assert!(both.out.contains("rejected of aligned"), "{}", both.out);
}

#[test]
fn two_configurations_are_compared() {
    let configs =
        [in_repository("config/config.yaml"), in_repository("examples/config/binpack.yaml")];
    let [a, b] = configs.each_ref().map(|path| arg(path));
    let page = scratch("simulate-compare.html", b"");
    let ran = simulate(&[DAY], &["--compare", a, b, "--html", arg(&page)]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    for text in ["All pods", "By namespace", "wait, p99", "B - A", "binpack.yaml", "gpu"] {
        assert!(ran.out.contains(text), "{text}:\n{}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(page.contains("<h3>A</h3>") && page.contains("<h3>B</h3>"));
    let both = json(&simulate(&[DAY], &["--compare", a, b, "--json"]));
    assert_ne!(both["a"]["report"]["decision_hash"], both["b"]["report"]["decision_hash"]);
    let same = json(&simulate(&[DAY], &["--compare", a, a, "--json"]));
    assert_eq!(same["a"], same["b"]);
}

#[test]
fn maps_are_drawn_at_the_times_asked_for() {
    let page = scratch("simulate-map.html", b"");
    let ran = simulate(&[CLUSTER, JOB], &["--html", arg(&page), "--map-at", "1h,2h30m"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let page = std::fs::read_to_string(page).expect("the page is there");
    for text in ["After 1 h 00 min", "After 2 h 30 min", "training/llama-0"] {
        assert!(page.contains(text), "{text}");
    }
    let ran = simulate(&[CLUSTER], &["--map-at", "1h"]);
    assert_eq!(ran.code, Some(2), "a map needs a page: {ran:?}");
}

#[test]
fn a_configuration_is_found_beside_the_scenario_that_names_it() {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    scratch("simulate-config.yaml", head.as_bytes());
    let scenario = |name: &str, config: &str| {
        let text = format!(
            "apiVersion: simulate.kubenexus.io/v1alpha1\nkind: Scenario\nconfig: {config}\n"
        );
        scratch(name, text.as_bytes())
    };
    let good = scenario("simulate-named.yaml", "simulate-config.yaml");
    assert_eq!(simulate(&[CLUSTER], &[arg(&good)]).code, Some(0));
    let bad = scenario("simulate-misnamed.yaml", "nowhere.yaml");
    let ran = simulate(&[CLUSTER], &[arg(&bad)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("simulate-misnamed.yaml: config: reading"), "{}", ran.err);
}

#[test]
fn help_names_every_argument() {
    let ran = run(&["simulate", "--help"]);
    assert_eq!(ran.code, Some(0));
    for word in ["[FILE]...", "--config", "--compare <A> <B>", "--html", "--map-at", "--json"] {
        assert!(ran.out.contains(word), "{word}:\n{}", ran.out);
    }
}

#[test]
fn bad_files_are_refused_with_file_line_and_key() {
    let bad =
        scratch("simulate-bad.yaml", b"kind: Pod\nmetadata: {name: p}\nspec: {priority: x}\n");
    let ran = simulate(&[CLUSTER], &[arg(&bad)]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert!(ran.err.contains("simulate-bad.yaml:3: spec.priority: expected"), "{}", ran.err);
    let ran = run(&["simulate"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("nothing to simulate: give files"), "{}", ran.err);
    let ran = run(&["simulate", "/nowhere.yaml"]);
    assert!(ran.err.starts_with("kubenexus: reading /nowhere.yaml"), "{}", ran.err);
    let bytes = scratch("simulate-bytes.yaml", b"\xff\xfe");
    assert!(run(&["simulate", arg(&bytes)]).err.contains("not UTF-8 text"));
}

#[test]
fn fields_that_nobody_knows_are_warnings_on_standard_error() {
    let pod = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeSelectr: {a: b}\n";
    let typo = scratch("simulate-typo.yaml", pod);
    let ran = simulate(&[CLUSTER], &[arg(&typo)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let end = "simulate-typo.yaml:5: spec.nodeSelectr: unknown field; did you mean \
               \"nodeSelector\"?\n";
    assert!(ran.err.starts_with("warning: ") && ran.err.ends_with(end), "{}", ran.err);
}

#[test]
fn flags_that_would_be_ignored_are_refused() {
    let cluster = in_repository(CLUSTER);
    let (cluster, philly) =
        (arg(&cluster), ["--trace", "philly", "--jobs", "x", "--nodes-file", "y"]);
    let philly = |more: [&'static str; 2]| [&philly[..], &more].concat();
    let only = |flag: &str, name: &str| format!("{flag}: only --trace {name} has it");
    // (arguments, exit code, message)
    let table: [(Vec<&str>, i32, String); 12] = [
        (vec!["--swarm", cluster], 1, "cannot be used with --swarm".into()),
        (vec!["--swarm", "--json"], 1, "cannot be used with --swarm".into()),
        (vec!["--swarm", "--html", "x"], 1, "cannot be used with --swarm".into()),
        (vec!["--swarm", "--config", "x"], 1, "cannot be used with --swarm".into()),
        (vec!["--swarm", "--trace", "openb"], 2, "cannot be used with".into()),
        (
            vec!["--trace", "openb", "--nodes", "x", "--pods", "y", cluster],
            1,
            "FILE: cannot be used with --trace".into(),
        ),
        (vec!["--seeds", "5", cluster], 1, "--seeds 5: expected --swarm or --trace".into()),
        (vec!["--policy", "fgd", cluster], 2, "--trace".into()),
        (vec!["--first", "3", cluster], 2, "--swarm".into()),
        (philly(["--seeds", "5"]), 1, only("--seeds", "openb")),
        (philly(["--policy", "fgd"]), 1, only("--policy", "openb")),
        (
            vec!["--trace", "openb", "--nodes", "x", "--pods", "y", "--limit", "5"],
            1,
            only("--limit", "philly"),
        ),
    ];
    for (args, code, text) in table {
        let ran = run(&[&["simulate"], &args[..]].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(&text), "{args:?} without {text:?}:\n{}", ran.err);
    }
    let ran = run(&["replay", "--list", "3", "/nowhere"]);
    assert!(ran.code == Some(2) && ran.err.contains("--config"), "{}", ran.err);
}

#[test]
fn a_map_of_a_time_after_the_end_is_noted() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate-late.html");
    let ran = simulate(&[CLUSTER], &["--html", arg(&page), "--map-at", "9h"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--map-at 9 h 00 min: all is over after 5 h 00 min"), "{}", ran.out);
}
