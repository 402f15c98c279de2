//! Journals on disk: written, read, cut, damaged.

mod damage;
mod disk;
mod format;
mod fuzz;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::Checkpoint;
use model::{Attempt, Event, Kind, Moment, Outcome, Present, Time};

use crate::{Closer, Decided, Journal, Options, Record, Segment, Tail, What, list};

/// A folder of a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("journal-{}-{count}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn options(&self, segment_bytes: u64, bytes_max: u64) -> Options {
        Options {
            folder: self.0.clone(),
            bytes_max,
            segment_bytes,
            version: "1.2.3".into(),
            started_unix_ms: 5,
            engine: engine::Options::default(),
            config: serde_json::json!({"kind": "KubeSchedulerConfiguration"}),
        }
    }

    fn open(&self) -> (Journal, Closer) {
        Journal::open(self.options(1 << 20, 1 << 30)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An event of every kind, some said twice.
fn events() -> Vec<Event> {
    let node = |words: &str| Event::seen(testkit::node(words));
    let pod = |words: &str| Event::seen(testkit::pod(words));
    let web = "web cpu=1 select=zone:x tolerate=spot port=80/UDP@10.0.0.1 priority=7 gate=quota";
    vec![
        node("a zone=x taint=spot=1:NoSchedule image=web@900Mi feature=VolumeBindMountOptions"),
        node("b gpu=2 closed"),
        Event::Listed(Kind::Node, Present::Names(["a".into(), "b".into()].into())),
        pod(web),
        pod("db cpu=1 prefer=5:zone:in:x,y require=disk:exists&@metadata.name:in:a on=a"),
        node("b gpu=2 closed"),
        pod(web),
        pod("web-2 cpu=1 select=zone:x tolerate=spot port=80/UDP@10.0.0.1 priority=7 gate=quota"),
        Event::Outcome(Outcome::BindRefused { uid: "web".into(), attempt: Attempt(3) }),
        Event::Listed(Kind::Pod, Present::Names(["web".into(), "web-2".into()].into())),
        pod("db cpu=1 prefer=5:zone:in:x,y require=disk:exists&@metadata.name:in:a on=a"),
        Event::gone(Kind::Pod, "web"),
        pod(web),
        Event::gone(Kind::Node, "b"),
        node("b gpu=2 closed"),
    ]
}

fn decisions() -> Vec<Decided> {
    let wait = Decided::Wait {
        uid: "web".into(),
        message: "0/2 nodes are available".into(),
        codes: Vec::new(),
    };
    vec![Decided::Bind { uid: "db".into(), node: "a".into(), attempt: Attempt(9) }, wait]
}

/// All records of the events and the decisions, as they must come back.
fn records() -> Vec<Record> {
    let what = events().into_iter().map(What::Applied).chain([What::Stepped(decisions())]);
    let number = |(at, what)| {
        let at = at as u64;
        Record { number: at + 1, at: Time(at), wall_ms: 5 + at, what }
    };
    what.enumerate().map(number).collect()
}

fn write(journal: &mut Journal) {
    journal.begin(Time(0), Checkpoint::default());
    for Record { at, wall_ms, what, .. } in records() {
        match what {
            What::Applied(event) => journal.applied(Moment { at, wall_ms }, event),
            What::Stepped(decisions) => journal.stepped(at, decisions),
        }
    }
}

fn close(closer: Closer) {
    assert!(closer.close(Duration::from_secs(20)), "the writer ends in time");
}

/// All records of a segment, and how it ends.
fn read(path: &Path) -> (Vec<Record>, Option<Tail>) {
    let mut segment = Segment::open(path).unwrap().expect("there is a header");
    let mut records = Vec::new();
    while let Some(record) = segment.next_record().unwrap() {
        records.push(record);
    }
    (records, segment.tail())
}

fn only_segment(folder: &Folder) -> PathBuf {
    let mut files = list(&folder.0).unwrap();
    assert_eq!(files.len(), 1);
    files.remove(0).path
}

#[test]
fn codes_of_reasons_come_back_and_may_be_missing() {
    let wait = |codes: &[&str]| Decided::Wait {
        uid: "web".into(),
        message: "x".into(),
        codes: codes.iter().map(|code| (*code).into()).collect(),
    };
    let written = r#"{"wait":{"uid":"web","message":"x","codes":["NoNodes"]}}"#;
    assert_eq!(serde_json::to_string(&wait(&["NoNodes"])).unwrap(), written);
    assert_eq!(serde_json::from_str::<Decided>(written).unwrap(), wait(&["NoNodes"]));
    let before = r#"{"wait":{"uid":"web","message":"x"}}"#;
    let before: Decided = serde_json::from_str(before).unwrap();
    assert_eq!(before, wait(&[]));
    assert!(before.is_same_as(&wait(&["NoNodes"])));
}

#[test]
fn the_clock_on_the_wall_comes_back_where_it_jumped() {
    let folder = Folder::new("wall");
    let (mut journal, closer) = folder.open();
    journal.begin(Time(0), Checkpoint::default());
    let event = Event::seen(testkit::node("a"));
    // As it was at the start, with the time since; then an hour ahead, also where nothing is new.
    let walls = [5, 3_600_006, 3_600_007, 8];
    for (at, wall_ms) in walls.into_iter().enumerate() {
        journal.applied(Moment { at: Time(at as u64), wall_ms }, event.clone());
    }
    close(closer);
    let (records, _) = read(&only_segment(&folder));
    assert_eq!(records.iter().map(|record| record.wall_ms).collect::<Vec<_>>(), walls);
}
