//! Segments that are nearly right: read or refused, and what is read is replayed or refused.

use serde_json::Value;
use testkit::{Script, fuzz, own_profile};

use super::*;
use crate::frame::pack;

/// A problem is told in less than this.
const MESSAGE_MAX: usize = 1_000;

/// Gangs that gather, run and wait, room that is kept, pods on nodes and in every queue.
const CLUSTER: &str = "
    node a cpu=4 memory=8Gi pods=10 zone=x
    node b cpu=4 memory=8Gi pods=10 zone=y gpu=2
    namespace team
    grouping service/web app:web
    budget web label=app:web
    pod web cpu=1 label=app:web on=a
    pod big cpu=64
    pod gated cpu=1 gate=quota
    pod train-0 cpu=1 gang=train/2
    pod train-1 cpu=1 gang=train/2
    pod wide-0 cpu=3 gang=wide/3
    pod wide-1 cpu=3 gang=wide/3
    step
    after 2s
";

/// A segment with a checkpoint of a busy scheduler, and what happened to it later.
fn busy() -> Vec<Value> {
    let mut run = Script::new(&[own_profile()], engine::Options::default());
    for line in CLUSTER.lines().map(str::trim).filter(|line| !line.is_empty()) {
        run.command(line);
    }
    let folder = Folder::new("fuzz");
    let (mut journal, closer) = folder.open();
    journal.begin(run.now, run.scheduler.checkpoint());
    for Record { at, what, .. } in records() {
        let at = Time(run.now.0 + at.0);
        match what {
            What::Applied(event) => journal.applied(at, event),
            What::Stepped(decisions) => journal.stepped(at, decisions),
        }
    }
    close(closer);
    let bytes = fs::read(only_segment(&folder)).unwrap();
    let mut text = String::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
    std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
    lines(&text)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Does what a replay does with a segment, as far as it goes.
fn replay(text: &str) -> Result<(), String> {
    let told = |error: crate::ReadError| error.to_string();
    let segment = Segment::read(Path::new("segment"), pack(text.as_bytes())).map_err(told)?;
    let Some(mut segment) = segment else { return Ok(()) };
    let Some(checkpoint) = segment.checkpoint.take() else { return Ok(()) };
    let nothing = Script::new(&[], engine::Options::default());
    let resumed = nothing.resumed(checkpoint, &[own_profile()], segment.header.options);
    let mut run = resumed.map_err(|error| error.to_string())?;
    while let Some(record) = segment.next_record().map_err(told)? {
        run.now = record.at;
        match record.what {
            What::Applied(event) => run.apply(&event),
            What::Stepped(_) => drop(run.command("step 100")),
        }
    }
    let _ = run.scheduler.checkpoint();
    Ok(())
}

#[test]
fn a_segment_is_replayed_or_refused_with_a_reason() {
    let first = lines(include_str!("format/1.jsonl"));
    let documents = [Value::Array(busy()), Value::Array(first)];
    for document in &documents {
        replay(&text(document)).expect("it is sound");
    }
    fuzz::json(500, &documents, |bytes| {
        let text = match serde_json::from_slice(bytes) {
            Ok(document) => text(&document),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        if let Err(error) = replay(&text) {
            assert!(!error.is_empty() && error.len() < MESSAGE_MAX, "{error}");
        }
    });
}

/// The lines of a list, or a value in a line.
fn text(document: &Value) -> String {
    let lines = document.as_array().map_or(std::slice::from_ref(document), Vec::as_slice);
    lines.iter().map(|line| format!("{line}\n")).collect()
}
