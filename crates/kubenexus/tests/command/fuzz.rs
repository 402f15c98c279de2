//! Spoils cases in every way and demands an answer to each: never a crash, never a missing line,
//! and a message that leads to the mistake.

mod answer;
mod mutation;

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::runner::judge;
use answer::{Asked, check};
use mutation::{pointers, spoiled, spoiled_at, with_raw};

/// Between them, these have every field that is read.
const CASES: [&str; 2] = [include_str!("fuzz/rich.json"), include_str!("fuzz/needy.json")];

fn case(text: &str) -> Value {
    serde_json::from_str(text).expect("a committed case is JSON")
}

/// Puts all lines to one process and checks every answer.
fn check_all(asked: &[Asked]) {
    let mut input = Vec::new();
    for one in asked {
        assert!(!one.line.contains(&b'\n'), "a case is one line");
        input.extend_from_slice(&one.line);
        input.push(b'\n');
    }
    let ran = judge(input);
    let answers: Vec<&str> = ran.out.lines().collect();
    let last = || asked.get(answers.len()).map(|one| String::from_utf8_lossy(&one.line[..]));
    let is_judged = answers.iter().any(|answer| answer.contains("\"error\":null"));
    assert_eq!(ran.code, Some(i32::from(!is_judged)), "it died on {:?}\n{}", last(), ran.err);
    let mut others = ran.err.lines().filter(|line| !line.starts_with("warning: "));
    let said = is_judged || others.next().is_some_and(|line| line.contains("none could be judged"));
    assert!(said, "{}", ran.err);
    assert_eq!(others.next(), None, "nothing else is written to standard error");
    assert_eq!(answers.len(), asked.len(), "one answer per case");
    asked.iter().zip(answers).for_each(|(one, answer)| check(one, answer));
}

fn asked(line: impl Into<Vec<u8>>) -> Asked {
    Asked { line: line.into(), spoiled: None }
}

#[test]
fn the_cases_are_sound_and_have_every_field_that_is_read() {
    let lines: Vec<Asked> = CASES.map(|text| asked(case(text).to_string())).into();
    check_all(&lines);
    let input = lines.iter().flat_map(|one| [&one.line[..], b"\n"].concat()).collect();
    for answer in judge(input).out.lines() {
        assert_eq!(case(answer)["error"], Value::Null, "{answer}");
    }
    let cases = CASES.map(case);
    let all = cases.iter().flat_map(pointers);
    let keys: BTreeSet<String> = all.filter_map(|p| p.rsplit('/').next().map(Into::into)).collect();
    for field in fields_read() {
        assert!(keys.contains(&field), "no case has {field}, which is read from objects");
    }
}

/// Fields that objects spell in another way.
const RENAMED: [&str; 8] = [
    "host_ip",
    "volume_id",
    "disk_uri",
    "class",
    "bind_completed",
    "selected_node",
    "migrated_plugins",
    "fingerprint",
];

/// The fields of the structs that objects are read into, as JSON spells them.
fn fields_read() -> Vec<String> {
    let source = include_str!("../../../k8s/src/ingest/view.rs");
    let (_, views) = source.split_once("\nviews! {\n").expect("the structs are in one macro");
    let (views, _) = views.split_once("\n}\n").expect("the macro ends");
    let names = views
        .split(|c: char| c.is_whitespace() || c == '{')
        .filter_map(|word| word.strip_suffix(':').map(|name| name.trim_start_matches("r#")));
    let names = names.filter(|name| !RENAMED.contains(name));
    let names: Vec<String> = names.map(camel).collect();
    assert!(names.len() > 80 && names.contains(&"hostPort".into()), "{names:?}");
    names
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
}

#[test]
fn every_value_is_replaced_deleted_and_doubled() {
    let all: Vec<Asked> = CASES.iter().flat_map(|text| spoiled(&case(text))).collect();
    assert!(all.len() > 5000, "{}", all.len());
    // Two processes for two cores.
    let (first, second) = all.split_at(all.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| check_all(first));
        scope.spawn(|| check_all(second));
    });
}

#[test]
fn what_json_does_not_allow_is_refused_wherever_it_stands() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let deep_object = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
    let raws: [&[u8]; 10] = [
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"0x10",
        b"01",
        b"\"\xff\xfe\"",
        b"\"\\ud800\"",
        b"'a'",
        deep.as_bytes(),
        deep_object.as_bytes(),
    ];
    let mut all = Vec::new();
    for text in CASES {
        let case = case(text);
        for (at, pointer) in pointers(&case).enumerate() {
            let line = with_raw(&case, &pointer, raws[at % raws.len()]);
            all.push(asked(line));
        }
    }
    check_all(&all);
}

#[test]
fn a_megabyte_where_a_word_was_expected_is_not_repeated() {
    let long = "x".repeat(1 << 20);
    let rich = case(CASES[0]);
    let places = [
        "/id",
        "/pod",
        "/pod/kind",
        "/pod/metadata/name",
        "/pod/spec/schedulerName",
        "/pod/spec/priority",
        "/pod/spec/containers/0/resources/requests/cpu",
        "/pod/spec/nodeSelector/pool",
        "/objects",
        "/objects/0/kind",
        "/objects/0/apiVersion",
        "/objects/0/metadata/name",
        "/objects/0/spec/unschedulable",
        "/objects/0/status/images/0/names/0",
        "/config/profiles/0/schedulerName",
        "/config/profiles/0/plugins/score/enabled/0/name",
        "/config/kind",
        "/config/percentageOfNodesToScore",
    ];
    let mut all = Vec::new();
    for place in places {
        let mut long_value = rich.clone();
        *long_value.pointer_mut(place).expect("the case has it") = json!(long);
        all.push(asked(long_value.to_string()));
    }
    for place in ["", "/pod", "/pod/spec/nodeSelector", "/config", "/objects/0/status/allocatable"]
    {
        let mut long_key = rich.clone();
        long_key.pointer_mut(place).expect("the case has it")[&long] = json!(true);
        all.push(asked(long_key.to_string()));
    }
    check_all(&all);
}

#[test]
fn names_and_uids_may_repeat_and_nodes_may_be_missing() {
    let rich = case(CASES[0]);
    let objects = rich["objects"].as_array().expect("a list");
    let with = |objects: Vec<Value>| {
        let mut case = rich.clone();
        case["objects"] = json!(objects);
        asked(case.to_string())
    };
    let again = |object: &Value, pointer: &str, value: Value| {
        let mut other = object.clone();
        *other.pointer_mut(pointer).expect("the object has it") = value;
        other
    };
    let (node, pod) = (&objects[0], &objects[2]);
    let mut many = vec![node.clone()];
    many.extend((0..500).map(|at| again(pod, "/metadata/uid", json!(format!("pod-{}", at % 50)))));
    check_all(&[
        with(vec![]),
        with(vec![node.clone(), node.clone(), node.clone()]),
        with(vec![pod.clone(), node.clone(), pod.clone()]),
        with(vec![pod.clone(), again(pod, "/spec/nodeName", json!("gone")), node.clone()]),
        with(vec![again(pod, "/spec/nodeName", json!("gone")), pod.clone(), node.clone()]),
        with(vec![pod.clone(), again(pod, "/status/phase", json!("Failed")), node.clone()]),
        with(vec![pod.clone(), again(pod, "/spec/nodeName", json!("")), node.clone()]),
        with(vec![again(pod, "/metadata/uid", json!("")), again(pod, "/metadata/uid", json!(""))]),
        with(vec![node.clone(), again(pod, "/metadata/uid", json!("pod-2"))]),
        with(many),
    ]);
}

/// Cases that can be judged, large and small.
fn sound_cases() -> Vec<Value> {
    let examples = [
        include_str!("../../../../examples/verdict/fits-on-some.jsonl"),
        include_str!("../../../../examples/verdict/fits-nowhere.jsonl"),
        include_str!("../../../../examples/verdict/packing.jsonl"),
    ];
    let examples = examples.into_iter().flat_map(str::lines);
    CASES.into_iter().chain(examples).map(case).collect()
}

#[test]
fn broken_text_is_answered_line_by_line() {
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let mut all = Vec::new();
    for case in sound_cases().iter().cycle().take(400) {
        let sound = case.to_string().into_bytes();
        let mut flipped = sound.clone();
        for _ in 0..dice.random_range(1..4) {
            let at = dice.random_range(0..flipped.len());
            flipped[at] ^= 1u8 << dice.random_range(0..8);
        }
        let cut = sound[..dice.random_range(1..sound.len())].to_vec();
        let mut swapped = sound.clone();
        let (from, to) = (dice.random_range(0..sound.len()), dice.random_range(0..sound.len()));
        swapped.swap(from, to);
        for mut line in [flipped, cut, swapped] {
            line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
            all.push(asked(line));
        }
    }
    check_all(&all);
}

#[test]
fn several_mistakes_at_once_are_answered() {
    let mut dice = ChaCha8Rng::seed_from_u64(11);
    let mut all = Vec::new();
    for sound in sound_cases().iter().cycle().take(400) {
        let mut case = sound.clone();
        for _ in 0..dice.random_range(2..5) {
            let places: Vec<String> = pointers(&case).filter(|p| p != "/pod").collect();
            let mut more = spoiled_at(&case, &places[dice.random_range(0..places.len())]);
            let one = more.swap_remove(dice.random_range(0..more.len()));
            // Nesting on top of nesting can be too deep to read.
            case = serde_json::from_slice(&one.line).unwrap_or(case);
        }
        all.push(asked(case.to_string()));
    }
    check_all(&all);
}

#[test]
fn cases_that_are_nearly_right_are_answered() {
    let lines = testkit::fuzz::json_lines(1_500, &sound_cases());
    check_all(&lines.into_iter().map(asked).collect::<Vec<_>>());
}

#[test]
fn empty_lines_are_skipped_and_the_last_needs_no_end() {
    let ran = judge(
        b"\n  \n{\"id\":1,\"pod\":{\"spec\":{}}}\r\n\t\n{\"id\":2,\"pod\":{\"spec\":{}}}".to_vec(),
    );
    let ids: Vec<Value> = ran.out.lines().map(|line| case(line)["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    assert_eq!(judge(Vec::new()).out, "");
}
