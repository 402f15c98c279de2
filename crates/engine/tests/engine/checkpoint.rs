//! A scheduler that goes on from a checkpoint decides what the first would have decided.

use kubenexus_engine::{Backoff, Checkpoint, Options};
use model::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, default_profile, draw, own_profile};

use crate::cold_path::{act, config, profiles};

/// Parked units are tried again soon, so that it happens in a story.
fn options() -> Options {
    let backoff = Backoff { flush: Millis::seconds(9), ..Backoff::default() };
    Options { backoff, seed: 7, ..Options::default() }
}

/// The checkpoint of a run, after it was written down in parts and read back.
fn written(run: &Script) -> Checkpoint {
    let (expected, mut read) = (run.scheduler.checkpoint(), Checkpoint::default());
    for part in expected.clone().parts(7) {
        let text = serde_json::to_string(&part).expect("plain data");
        read.extend(serde_json::from_str(&text).expect("what was written"));
    }
    assert_eq!(read, expected);
    read
}

/// A line of a story, and what is done after it.
#[derive(Clone, Debug)]
struct Turn {
    line: String,
    pause: u64,
    step: &'static str,
}

fn turn(nodes: usize) -> impl Strategy<Value = Turn> {
    let steps = ["step in full", "step 1", "step 1", "next"];
    (any::<u64>(), any::<u8>(), 0usize..4).prop_map(move |(dice, more, step)| {
        let mut line = draw::event(nodes, 24, dice);
        if line.starts_with("pod ") && more.is_multiple_of(4) {
            line.push_str(&format!(" nominated=n{}", usize::from(more) % nodes));
        }
        match more {
            1..9 => line = "namespace shy tenant.kubenexus.io/tier:gold".into(),
            9..17 => line = "gone namespace shy".into(),
            17..25 => line = "namespace default tenant.kubenexus.io/tier:silver".into(),
            25..60 => line = draw::node_resource_topology(nodes, 24, dice),
            _ => {}
        }
        Turn { line, pause: u64::from(more) * 10, step: steps[step] }
    })
}

fn play(run: &mut Script, turn: &Turn) -> Vec<String> {
    act(run, &turn.line);
    run.now = run.now + Millis(turn.pause);
    let mut said = if turn.step == "next" { Vec::new() } else { run.command(turn.step) };
    said.extend(run.command("queue"));
    let nodes = run.scheduler.catalog().nodes().to_vec();
    for node in nodes {
        let name = run.scheduler.catalog().node_name(node).to_owned();
        said.extend(run.command(&format!("inside {name}")));
        said.extend(run.command(&format!("gpus {name}")));
    }
    said.push(format!("{:?}", run.scheduler.catalog().gpu_demand()));
    let sent = run.pods.keys().filter_map(|uid| run.assumed(uid));
    said.extend(sent.map(|(node, attempt)| format!("{node} {attempt:?}")));
    said
}

fn check(profile: usize, nodes: &[u64], turns: &[Turn], cuts: &[usize]) {
    let profiles = [profiles().swap_remove(profile)];
    let mut first = Script::new(&profiles, options());
    for (at, dice) in nodes.iter().enumerate() {
        first.command(&draw::node(at, *dice));
    }
    let mut others: Vec<Script> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        if cuts.contains(&at) {
            let resumed = first.resumed(written(&first), &profiles, options());
            others.push(resumed.expect("a checkpoint that makes sense"));
        }
        let expected = play(&mut first, turn);
        for other in &mut others {
            assert_eq!(play(other, turn), expected, "after line {at}");
        }
    }
}

proptest! {
    #![proptest_config(config(160))]

    #[test]
    fn a_resumed_scheduler_goes_on_as_the_first_does(
        profile in 0usize..6,
        (nodes, turns) in (1usize..24).prop_flat_map(|count| {
            (vec(any::<u64>(), count), vec(turn(count), 60..90))
        }),
        cut in 5usize..50,
    ) {
        check(profile, &nodes, &turns, &[cut, cut + 13]);
    }
}

#[test]
fn who_has_which_gpus_and_what_was_learnt_of_them_stay() {
    let mut run = Script::new(&[own_profile()], options());
    run.command("node a cpu=64 nvidia.com/gpu=8 replicas=2 model=L vram=40Gi");
    run.command("node b cpu=64 nvidia.com/gpu=4 gpus=0,0,1,1 nvlink=0,0,1,1 model=H vram=80Gi");
    for node in ["c", "d"] {
        let rack = "label=topology.kubernetes.io/rack:r";
        run.command(&format!("node {node} cpu=64 amd.com/gpu=8 {rack}"));
    }
    for (at, words) in
        ["=1 fraction=0.7", "=1 fraction=0.3", "=1", "=2 vram=60Gi", "=1 gpu-memory=10Gi"]
            .iter()
            .enumerate()
    {
        run.command(&format!("pod p{at} cpu=1 nvidia.com/gpu{words}"));
        run.command("step");
    }
    run.command("gone pod p0");
    let shown = |run: &mut Script| {
        let mut said = [run.command("gpus a"), run.command("gpus b")].concat();
        said.push(format!("{:?}", run.scheduler.catalog().gpu_demand()));
        said
    };
    let expected = shown(&mut run);
    let super_island = r#"("topology.kubernetes.io/rack", "r", 1)"#;
    assert!(expected.len() == 5 && expected[4].contains(super_island), "{expected:?}");
    let other = run.resumed(written(&run), &[own_profile()], options());
    assert_eq!(shown(&mut other.expect("a checkpoint that makes sense")), expected);
}

/// Ends a story where it is, and goes on with another scheduler.
fn resumed(run: &Script) -> Script {
    let resumed = run.resumed(written(run), &[default_profile()], options());
    resumed.expect("a checkpoint that makes sense")
}

#[test]
fn free_places_and_places_of_nodes_that_are_not_there_stay() {
    let mut run = Script::new(&[default_profile()], options());
    for at in 0..300 {
        run.command(&format!("node n{at}"));
    }
    for at in [3, 77, 299] {
        run.command(&format!("gone node n{at}"));
    }
    run.command("pod elsewhere on=unknown cpu=1");
    let mut other = resumed(&run);
    for at in 0..40 {
        let lines = [format!("pod p{at} cpu=1"), format!("node m{at}"), "step".into()];
        let answers = |run: &mut Script| lines.clone().map(|line| run.command(&line));
        assert_eq!(answers(&mut run), answers(&mut other));
    }
}

#[test]
fn a_refusal_of_a_binding_from_before_counts() {
    let mut run = Script::new(&[default_profile()], options());
    run.command("node a cpu=1");
    run.command("pod web cpu=1");
    assert_eq!(run.command("step"), ["web -> a"]);
    let mut other = resumed(&run);
    assert_eq!(other.command("load a"), ["1 pods, 1000m cpu, 0 memory"]);
    other.command("refuse web");
    assert_eq!(other.command("queue"), ["1 backoff"]);
    other.command("after 1s");
    assert_eq!(other.command("step"), ["web -> a"]);
}

#[test]
fn a_reason_is_about_the_same_resource_as_before() {
    let mut run = Script::new(&[default_profile()], options());
    run.command("node a gpu=1 memory=8Gi");
    run.command("pod train gpu=2");
    assert_eq!(run.command("step").len(), 1);
    let mut other = resumed(&run);
    other.command("node a gpu=1 memory=9Gi");
    assert_eq!(other.command("queue"), ["1 parked"]);
    other.command("node a gpu=2 memory=9Gi");
    assert_eq!(other.command("queue"), ["1 backoff"]);
}

#[test]
fn pods_of_a_profile_that_is_not_there_are_left_alone() {
    let mut batch = default_profile();
    batch.scheduler = "batch".into();
    let mut run = Script::new(&[default_profile(), batch], options());
    run.command("node a");
    run.command("pod sent cpu=1 scheduler=batch");
    run.command("step");
    run.command("pod waits scheduler=batch");
    run.command("pod ours cpu=64 priority=5");
    run.command("step 1");
    let mut other = resumed(&run);
    assert_eq!(other.command("load a"), ["1 pods, 1000m cpu, 0 memory"]);
    other.command("refuse sent");
    other.command("after 20s");
    other.command("step");
    assert_eq!(other.command("queue"), ["1 parked"]);
}

#[test]
fn a_checkpoint_that_contradicts_itself_is_refused() {
    let mut run = Script::new(&[default_profile()], options());
    run.command("node a");
    run.command("pod web cpu=64");
    run.command("pod db cpu=1 on=a");
    run.command("step");
    type Spoil = fn(&mut Checkpoint);
    let table: [(&str, Spoil); 9] = [
        ("has two places", |it| it.nodes.push(it.nodes[0].clone())),
        ("holds", |it| it.nodes[0].as_mut().expect("a node").name = "b".into()),
        ("spec that is not listed", |it| it.pods[0].spec = 9),
        ("is there twice", |it| it.pods.push(it.pods[0].clone())),
        ("was sent nowhere", |it| it.pods[0].attempt = Some(it.attempt)),
        ("pod that is not listed", |it| it.units[0].pods = vec![9]),
        ("in two units", |it| it.units.push(it.units[0].clone())),
        ("where its pods cannot be", |it| it.units[0].pods = vec![1]),
        ("resource that is not listed", |it| it.resources.clear()),
    ];
    for (expected, spoil) in table {
        let mut checkpoint = run.scheduler.checkpoint();
        spoil(&mut checkpoint);
        let resumed = run.resumed(checkpoint, &[default_profile()], options());
        let error = resumed.err().expect(expected).to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
