//! Each way a file can be wrong, with the line that names it. The cases are in `refusals.txt`.

use super::{HEAD, known, read};
use crate::config::load;

/// The problems of a body, which starts at line 3.
fn refusal(body: &str) -> String {
    read(body).expect_err(body).to_string()
}

/// Puts the text of a case where it belongs. Arguments start at line 7.
fn body_at(place: &str, text: &str) -> String {
    match place.strip_prefix("arguments of ") {
        Some(plugin) => {
            let args = text.lines().map(|line| format!("      {line}\n")).collect::<String>();
            format!("profiles:\n- pluginConfig:\n  - name: {plugin}\n    args:\n{args}")
        }
        None if place == "profiles" => format!("profiles:\n{text}"),
        None => text.to_owned(),
    }
}

#[test]
fn bad_values_are_named_with_path_and_line() {
    let mut place = "";
    let mut count = 0;
    let cases = include_str!("refusals.txt").split("\n\n").map(str::trim_end);
    for case in cases.skip_while(|case| !case.starts_with("## ")) {
        if let Some(title) = case.strip_prefix("## ") {
            place = title;
            continue;
        }
        let (expected, text): (Vec<_>, Vec<_>) =
            case.lines().partition(|line| line.starts_with("=> "));
        let expected: Vec<_> = expected.iter().map(|line| &line[3..]).collect();
        let plugin = place.strip_prefix("arguments of ").unwrap_or_default();
        let path = format!("profiles[0].pluginConfig[{plugin}].args");
        let found = refusal(&body_at(place, &(text.join("\n") + "\n")));
        assert_eq!(found.replace(&path, "~"), expected.join("\n"), "{place}: {case}");
        count += 1;
    }
    assert!(count > 70, "only {count} cases were read");
}

#[test]
fn another_kind_of_file_is_refused() {
    let text = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfig\n";
    let expected = "line 1: apiVersion: expected \"kubescheduler.config.k8s.io/v1\", found \
                    \"kubescheduler.config.k8s.io/v1beta3\"\n\
                    line 2: kind: expected \"KubeSchedulerConfiguration\", found \
                    \"KubeSchedulerConfig\"";
    assert_eq!(load(text, &known()).expect_err("refused").to_string(), expected);
    let error = load("- 1\n", &known()).expect_err("refused");
    assert_eq!(error.to_string(), "line 1: expected a map, found a list");
}

#[test]
fn a_plugin_without_its_preparation_is_refused() {
    let table = [
        ("NodePorts", "filter", "preFilter"),
        ("NodeResourcesFit", "filter", "preFilter"),
        ("NodeDeclaredFeatures", "filter", "preFilter"),
        ("TaintToleration", "score", "preScore"),
    ];
    for (plugin, point, before) in table {
        let off =
            format!("profiles:\n- plugins:\n    {before}: {{disabled: [{{name: {plugin}}}]}}\n");
        let expected = format!(
            "line 5: profiles[0].plugins.{before}.disabled[0].name: plugin \"{plugin}\" is enabled \
             at {point} but not at {before}, where it prepares; every pod would fail; enable it at \
             {before} or disable it at {point}"
        );
        assert_eq!(refusal(&off), expected);
        read(&format!("{off}    {point}: {{disabled: [{{name: {plugin}}}]}}\n")).expect("neither");
        let only = format!(
            "profiles:\n- plugins:\n    multiPoint: {{disabled: [{{name: {plugin}}}]}}\n    \
             {point}: {{enabled: [{{name: {plugin}}}]}}\n"
        );
        assert!(refusal(&only).starts_with("line 6: profiles[0].plugins."), "{}", refusal(&only));
    }
}

#[test]
fn every_problem_of_a_file_is_reported_in_its_order() {
    let body = "profiles:\n\
                - schedulerName: a\n  plugins:\n    score:\n      enabled:\n      - name: Nope\n\
                - schedulerName: a\n  pluginConfig:\n  - name: NodePorts\n    args: {x: 1}\n\
                parallelism: many\nextenders: [{}]\n";
    let expected = "line 8: profiles[0].plugins.score.enabled[0].name: unknown plugin \"Nope\"\n\
        line 9: profiles[1].schedulerName: another profile is named \"a\" already\n\
        line 12: profiles[1].pluginConfig[NodePorts].args: plugin \"NodePorts\" takes no \
        arguments\n\
        line 13: parallelism: expected an integer from 1 to 2147483647, found \"many\"\n\
        line 14: extenders: extenders are not supported; remove this field";
    assert_eq!(refusal(body), expected);
}

#[test]
fn profiles_are_bounded() {
    let profiles = |count| {
        let names = (0..count).map(|at| format!("- schedulerName: p{at}\n"));
        format!("profiles:\n{}", names.collect::<String>())
    };
    assert_eq!(read(&profiles(100)).expect("valid").profiles.len(), 100);
    let expected = "line 3: profiles: expected at most 100 profiles, found 101";
    assert_eq!(refusal(&profiles(101)), expected);
}

#[test]
fn hostile_files_are_refused_quickly() {
    let many = |line: &str| line.repeat(200_000 / line.len());
    let files = [
        format!(
            "{HEAD}profiles:\n- plugins:\n    multiPoint:\n      enabled:\n{}",
            many("      - name: NodeName\n")
        ),
        format!(
            "{HEAD}profiles:\n- plugins:\n    filter:\n      disabled:\n{}",
            many("      - name: Nodename\n")
        ),
        format!("{HEAD}{}", many("kind: a\n")),
        format!("{HEAD}profiles:\n{}", many("- schedulerName: a\n")),
        many("["),
        many("{a: "),
        many("? "),
        many("- - - -\n"),
    ];
    for text in files {
        let error = load(&text, &known()).expect_err("refused");
        assert!(!error.problems().is_empty());
    }
}
