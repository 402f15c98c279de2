//! Segments of every format that was ever written can be read, by every later version.
//!
//! The files stay as they are. One that cannot be read any more means that a field was renamed, or
//! added without a default, or that a variant is gone: keep the old name as an alias, give the
//! field a default, keep the variant.

use model::{GroupingKind, Kind, LocalQueueFacts, PodGroupKind};

use super::*;
use crate::frame::pack;
use crate::line::{End, FORMAT};

/// A segment with everything that can be in one.
const FIRST: &str = include_str!("format/1.jsonl");
/// All that comes after its header, about objects that are neither nodes nor pods.
const FIRST_KINDS: &str = include_str!("format/1-kinds.jsonl");

#[test]
fn the_first_format_is_read() {
    let bytes = pack(FIRST.as_bytes());
    let mut segment = Segment::read(Path::new("first"), bytes).unwrap().unwrap();
    assert_eq!((segment.header.format, FORMAT), (1, 2));
    // What was a number of totals is one of bytes now, which changes no decision.
    let options = engine::Options { board_bytes_max: 4 << 20, ..engine::Options::default() };
    assert_eq!(segment.header.options, options);
    let run = testkit::Script::new(&[], engine::Options::default());
    let checkpoint = segment.checkpoint.clone().unwrap();
    let profiles = [testkit::default_profile()];
    let mut run = run.resumed(checkpoint, &profiles, segment.header.options).unwrap();
    assert_eq!(run.command("queue"), ["1 active, 1 backoff, 2 parked, 1 gated"]);
    assert_eq!(run.command("load a"), ["1 pods, 1000m cpu, 0 memory"]);
    assert_eq!(run.assumed("again").unwrap().0, "a");
    for expected in records() {
        assert_eq!(segment.next_record().unwrap(), Some(expected));
    }
    assert_eq!(segment.next_record().unwrap(), None);
    assert_eq!(segment.tail(), Some(Tail::Ended(End::Closed)));
}

/// What happens to objects that are neither nodes nor pods.
const COMMANDS: [&str; 13] = [
    "namespace front team:a",
    "gone namespace front",
    "budget db allows=1 label=app:db",
    "gone budget default/db",
    "grouping service/web app:web",
    "gone grouping service/web",
    "podgroup native/g min=2 parent=c",
    "podgroup composite/c min=1",
    "gone podgroup native/g",
    "succeeded p1 prepare",
    "localqueue a/main gpu",
    "gone localqueue a/main",
    "keep low",
];

/// What happens to objects of kinds that the first format does not have.
const LATER_COMMANDS: [&str; 10] = [
    "succeeded p2 prepare job=j",
    "job j 2",
    "gone job j",
    "clusterqueue gpu",
    "nrt a update=7 zones=2x4 free=1,2 policy=restricted scope=pod pods=p",
    "gone nrt a",
    "slice s on=a devices=0,1x,?",
    "claim default/c a/gpu-0",
    "gone slice s",
    "gone claim default/c",
];

fn script<'a>(commands: impl Iterator<Item = &'a str>) -> testkit::Script {
    let mut run = testkit::Script::new(&[testkit::default_profile()], engine::Options::default());
    commands.for_each(|command| _ = run.command(command));
    run
}

/// Events about objects that are neither nodes nor pods.
fn about_kinds() -> Vec<Event> {
    let mut run = script(COMMANDS.into_iter());
    for (kind, name) in [
        (Kind::Namespace, "front"),
        (Kind::Budget, "default/db"),
        (Kind::Grouping(GroupingKind::Service), "default/web"),
        (Kind::PodGroup(PodGroupKind::Composite), "default/c"),
        (Kind::Succeeded, "p1"),
    ] {
        run.apply(&Event::Listed(kind, Present::Names([name.into()].into())));
    }
    let queues = Present::Facts(vec![LocalQueueFacts::of("a/main", "gpu").into()]);
    run.apply(&Event::Listed(Kind::LocalQueue, queues));
    run.events
}

fn read_all(mut segment: Segment) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(record) = segment.next_record().unwrap() {
        match record.what {
            What::Applied(event) => events.push(event),
            What::Stepped(_) => panic!("nothing was decided"),
        }
    }
    events
}

#[test]
fn what_the_first_format_says_of_every_kind_is_read() {
    let header = FIRST.lines().next().unwrap();
    let text = format!("{header}\n{FIRST_KINDS}");
    let segment = Segment::read(Path::new("kinds"), pack(text.as_bytes())).unwrap().unwrap();
    let all = script(COMMANDS.into_iter().filter(|command| !command.starts_with("gone")));
    assert_eq!(segment.checkpoint, Some(all.scheduler.checkpoint()));
    assert_eq!(read_all(segment), about_kinds());
}

#[test]
fn every_kind_is_read_as_it_was_written() {
    let folder = Folder::new("kinds");
    let (mut journal, closer) = folder.open();
    journal.begin(Time(0), Checkpoint::default());
    let mut all = about_kinds();
    all.extend(script(LATER_COMMANDS.into_iter()).events);
    all.push(Event::Listed(Kind::Job, Present::Names(["j".into()].into())));
    all.iter().for_each(|event| journal.applied(Time(0), event.clone()));
    drop(journal);
    close(closer);
    let files = list(&folder.0).unwrap();
    let segment = Segment::open(&files[0].path).unwrap().unwrap();
    assert_eq!((segment.header.format, read_all(segment)), (FORMAT, all));
}
