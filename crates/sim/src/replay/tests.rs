//! Journals of random stories, replayed.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use engine::{Backoff, Options};
use journal::{Closer, Journal};
use model::{Attempt, Millis};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::{Script, draw};

use super::*;

/// A scheduler whose journal is kept, in a folder that goes with it.
struct Recorded {
    script: Script,
    journal: Journal,
    closer: Option<Closer>,
    folder: PathBuf,
    known: usize,
}

fn defaults() -> Settings {
    k8s::config::defaults(plugins::known())
}

/// The same settings, except that full nodes are better.
fn packing() -> Settings {
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\n\
                kind: KubeSchedulerConfiguration\n\
                profiles:\n\
                - schedulerName: default-scheduler\n\
                \x20 pluginConfig:\n\
                \x20 - name: NodeResourcesFit\n\
                \x20   args: {scoringStrategy: {type: MostAllocated}}\n";
    k8s::config::load(text, plugins::known()).unwrap()
}

impl Recorded {
    fn new(name: &str, segment_bytes: u64) -> Self {
        let folder = std::env::temp_dir().join(format!("replay-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let backoff = Backoff { flush: Millis::seconds(20), ..Backoff::default() };
        let options = Options { backoff, seed: 3, ..Options::default() };
        let (mut journal, closer) = Journal::open(journal::Options {
            folder: folder.clone(),
            bytes_max: 1 << 30,
            segment_bytes,
            version: "test".into(),
            started_unix_ms: 1_000_000,
            engine: options,
            config: k8s::config::write(&defaults(), plugins::known()),
        })
        .unwrap();
        let script = Script::new(&defaults().profiles, options);
        journal.begin(script.now, script.scheduler.checkpoint());
        Self { script, journal, closer: Some(closer), folder, known: 0 }
    }

    fn act(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_answer = matches!(words[0], "confirm" | "refuse");
        if !is_answer || self.script.assumed(words[1]).is_some() {
            self.script.command(line);
        }
        for event in self.script.events[self.known..].iter().cloned() {
            self.journal.applied(self.script.now, event);
        }
        self.known = self.script.events.len();
        self.rotate();
    }

    /// Decides about one unit, and writes down what `tell` makes of it.
    fn step(&mut self, tell: impl FnOnce(&mut Vec<Decided>)) -> bool {
        let mut decided = step(&mut self.script.scheduler, self.script.now);
        if decided.is_empty() {
            return false;
        }
        tell(&mut decided);
        self.journal.stepped(self.script.now, decided);
        self.rotate();
        true
    }

    fn rotate(&mut self) {
        if self.journal.wants_checkpoint() {
            self.journal.begin(self.script.now, self.script.scheduler.checkpoint());
        }
    }

    fn replay(&mut self, other: Option<&Settings>) -> Replayed {
        if let Some(closer) = self.closer.take() {
            assert!(closer.close(Duration::from_secs(10)));
        }
        replay(&self.folder, other, |_| {}).unwrap()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A story with parked and cured pods, refusals, confirmations, nodes that come and go.
fn story(name: &str, seed: u64, segment_bytes: u64) -> Recorded {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let mut recorded = Recorded::new(name, segment_bytes);
    for at in 0..8 {
        recorded.act(&draw::node(at, dice.random()));
    }
    for _ in 0..400 {
        recorded.act(&draw::event(8, 40, dice.random()));
        recorded.script.now = recorded.script.now + Millis(dice.random_range(0..900));
        for _ in 0..dice.random_range(0..3) {
            recorded.step(|_| {});
        }
    }
    recorded
}

#[test]
fn a_journal_leads_to_the_same_decisions() {
    let mut waits = 0;
    for seed in 0..12 {
        let mut recorded = story(&format!("same-{seed}"), seed, 1 << 20);
        let replayed = recorded.replay(None);
        assert_eq!(replayed.difference, None);
        assert_eq!(replayed.notes, Vec::<String>::new());
        assert!(replayed.binds > 10, "{replayed:?}");
        waits += replayed.waits;
    }
    assert!(waits > 120, "{waits}");
}

#[test]
fn every_segment_can_be_replayed_alone() {
    let mut recorded = Recorded::new("alone", 1);
    // A segment is not ended before its records are more than its checkpoint.
    for at in 0..2000 {
        recorded.act(&draw::event(8, 40, at * 7919));
        recorded.script.now = recorded.script.now + Millis(300);
        recorded.step(|_| {});
        if at % 100 == 0 {
            std::thread::sleep(Duration::from_millis(30));
            recorded.journal.begin(recorded.script.now, recorded.script.scheduler.checkpoint());
        }
    }
    let all = recorded.replay(None);
    assert!(all.segments > 10 && all.difference.is_none(), "{all:?}");
    let files = journal::list(&recorded.folder).unwrap();
    assert_eq!(all.notes, Vec::<String>::new());
    fs::rename(&files[3].path, recorded.folder.join("aside")).unwrap();
    let notes = recorded.replay(None).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].ends_with("what followed the segment before it is not there"), "{notes:?}");
    fs::rename(recorded.folder.join("aside"), &files[3].path).unwrap();
    for file in &files[..files.len() - 1] {
        fs::remove_file(&file.path).unwrap();
    }
    let last = recorded.replay(None);
    assert_eq!((last.segments, last.difference), (1, None));
    assert!(last.records > 0 && last.records < all.records);
}

#[test]
fn a_decision_that_is_not_ours_is_shown() {
    let mut recorded = Recorded::new("tampered", 1 << 20);
    recorded.act("node a");
    recorded.act("node b cpu=1");
    recorded.act("pod web cpu=2");
    recorded.act("pod big cpu=64");
    recorded.script.now = Time(1500);
    recorded.step(|decided| {
        let (uid, attempt) = ("web".into(), Attempt(1));
        assert_eq!(*decided, [Decided::Bind { uid, node: "a".into(), attempt }]);
        decided[0] = Decided::Bind { uid: "web".into(), node: "b".into(), attempt };
    });
    recorded.step(|_| {});
    let replayed = recorded.replay(None);
    let difference = replayed.difference.unwrap();
    assert!(difference.segment.starts_with("000000001-"), "{difference:?}");
    let expected = Difference {
        segment: difference.segment.clone(),
        record: 5,
        unix_ms: 1_001_500,
        pod: "default/web (web)".into(),
        then: "node b, attempt 1".into(),
        now: "node a, attempt 1".into(),
    };
    assert_eq!(difference, expected);
}

/// Pod `high` is placed once `low` is gone, thirty seconds after the decision to evict it.
fn eviction(name: &str, is_told: bool) -> Replayed {
    let mut recorded = Recorded::new(name, 1 << 20);
    recorded.act("node a cpu=1");
    recorded.act("pod low on=a cpu=1");
    recorded.act("pod high cpu=1 priority=10");
    recorded.step(|decided| {
        assert!(matches!(decided[0], Decided::Preempt { .. }));
        if !is_told {
            decided.remove(0);
        }
    });
    recorded.script.now = Time(30_000);
    recorded.act("gone pod low");
    recorded.step(|decided| assert!(matches!(decided[0], Decided::Bind { .. })));
    recorded.replay(Some(&k8s::config::defaults(plugins::known())))
}

#[test]
fn evictions_are_replayed_and_those_of_another_configuration_carried_out() {
    let replayed = eviction("evictions", true);
    assert_eq!(replayed.difference, None);
    assert_eq!(replayed.instead.unwrap().same, 1);
    // As if the journal's scheduler had evicted nobody.
    let replayed = eviction("own-evictions", false);
    assert!(replayed.difference.is_some());
    assert_eq!(replayed.instead.unwrap().earlier, 1);
}

#[test]
fn words_and_pods_that_differ_are_shown() {
    let wait_for = |uid: &str, message: &str, codes: &[&str]| Decided::Wait {
        uid: uid.into(),
        message: message.into(),
        codes: codes.iter().map(|code| (*code).into()).collect(),
    };
    let wait = |uid: &str, message: &str| wait_for(uid, message, &[]);
    let table = [
        (vec![wait("a", "x")], vec![wait("a", "y")], ("a", "waits: x", "waits: y")),
        (vec![wait("a", "x")], vec![], ("a", "waits: x", "nothing")),
        (vec![wait("a", "x")], vec![wait("b", "x")], ("a", "waits: x", "pod b waits: x")),
        (vec![], vec![wait("b", "x")], ("b", "nothing", "waits: x")),
    ];
    for (then, now, expected) in table {
        let (uid, before, after) = first_difference(&then, &now).unwrap();
        assert_eq!((uid, before.as_str(), after.as_str()), expected);
    }
    assert_eq!(first_difference(&[wait("a", "x")], &[wait("a", "x")]), None);
    // Journals of before have no codes.
    assert_eq!(first_difference(&[wait("a", "x")], &[wait_for("a", "x", &["NoNodes"])]), None);
}

#[test]
fn the_same_configuration_would_have_done_the_same() {
    for seed in 20..32 {
        let mut recorded = story(&format!("shadow-{seed}"), seed, 1 << (12 + seed % 4));
        let replayed = recorded.replay(Some(&defaults()));
        assert_eq!(replayed.difference, None);
        let instead = replayed.instead.unwrap();
        assert_eq!(instead.differing, []);
        assert!(instead.same > 10, "{instead:?}");
    }
}

#[test]
fn another_configuration_puts_pods_elsewhere_and_finds_room_where_there_was_none() {
    let mut recorded = Recorded::new("packing", 1 << 20);
    recorded.act("node a cpu=4 memory=8Gi");
    recorded.act("node b cpu=4 memory=8Gi");
    for at in 0..4 {
        recorded.act(&format!("pod small{at} cpu=1 memory=2Gi"));
        recorded.script.now = recorded.script.now + Millis(10);
        assert!(recorded.step(|_| {}));
        let on = recorded.script.assumed(&format!("small{at}")).unwrap().0;
        recorded.act(&format!("confirm small{at} {on}"));
    }
    recorded.act("pod large cpu=4");
    recorded.script.now = recorded.script.now + Millis(10);
    recorded.step(|_| {});
    assert_eq!(recorded.script.assumed("large"), None, "spread pods leave no node empty");
    let instead = recorded.replay(Some(&packing())).instead.unwrap();
    let Instead { same, elsewhere, earlier, later, only_then, only_now, .. } = instead;
    assert_eq!((same + elsewhere, elsewhere > 0, only_then, only_now), (4, true, 0, 1));
    assert_eq!((earlier, later), (0, 0));
    let last = instead.differing.last().unwrap();
    assert_eq!((last.pod.as_str(), &last.then), ("default/large", &None));
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let empty = std::env::temp_dir().join(format!("replay-{}-empty", std::process::id()));
    fs::create_dir_all(&empty).unwrap();
    let error = replay(&empty, None, |_| {}).unwrap_err().to_string();
    assert!(error.contains("holds no segment of a journal"), "{error}");
    fs::remove_dir(&empty).unwrap();
    let error = replay(&empty, None, |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("reading the journal "), "{error}");
}
