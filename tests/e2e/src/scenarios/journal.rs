//! Journals of the scheduler on a real API server, and snapshots of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use control_plane::{Fault, Signal};
use journal::{Decided, Journal, Options, Segment, What};
use serde_json::{Value, json};

use super::volumes;
use crate::check::{self, Expected};
use crate::objects::{Election, config, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

/// A journal of a day with faults: nodes that come, pods that wait and are cured, binds that are
/// refused, segments that are full, a scheduler that is killed, and one that ends.
pub(crate) fn journal(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let folder = world.plane.folder().join(format!("{}-folder", world.namespace));
        record(world, &folder).await?;
        let replayed = replay(world, &folder, &[]).await?;
        ensure!(replayed.status.code() == Some(0), "{}", text(&replayed));
        let said = text(&replayed);
        ensure!(said.contains("all decisions are the same"), "{said}");
        // Killed in the middle of a segment, or between two.
        let is_told = said.contains(": not ended; ") || said.contains(" is not there");
        ensure!(is_told, "nothing is said of the kill: {said}");
        check_counts(&said, 140)?;

        let other = world.plane.folder().join("spreading.yaml");
        fs::write(&other, Start::plain(Election::Off).spreading().config.to_string())?;
        let said = replay(world, &folder, &["--config", &other.display().to_string()]).await?;
        ensure!(said.status.code() == Some(2), "{}", text(&said));
        ensure!(text(&said).contains("instead of node-"), "{}", text(&said));

        let tampered = folder.with_extension("tampered");
        let (uid, node) = tamper(&folder, &tampered)?;
        let said = replay(world, &tampered, &[]).await?;
        ensure!(said.status.code() == Some(2), "{}", text(&said));
        let said = text(&said);
        let is_told = said.contains(&uid) && said.contains(&format!("then  node {node}, attempt"));
        ensure!(is_told && said.contains("000000001-"), "{uid} on {node}: {said}");

        damage(&folder)?;
        let said = replay(world, &folder, &[]).await?;
        ensure!(said.status.code() == Some(1), "{}", text(&said));
        ensure!(text(&said).contains(".jsonl.gz: byte "), "{}", text(&said));
        Ok(())
    })
}

/// Keeps a journal of two schedulers, one after the other.
async fn record(world: &mut World, folder: &Path) -> Result<()> {
    world.create_nodes(4, &node("node", "1", "16Gi", 110)).await?;
    let flags = vec![
        format!("--journal={}", folder.display()),
        "--journal-segment-size=4Ki".into(),
        "--journal-max-size=64Mi".into(),
    ];
    let proxy = world.proxy()?;
    let through = |flags: &Vec<String>| Start {
        flags: flags.clone(),
        ..Start::through(&proxy, Election::Off)
    };
    let first = world.run_scheduler(through(&flags)).await?;
    proxy.inject(Fault::Answer(409).every(5, 8));
    // Room for 40 of them, until two more nodes come.
    world.create_pods(many(&pod("pod", "100m", "64Mi"), 60)).await?;
    world.wait_bound(40, 30).await?;
    world.create_nodes(2, &node("late", "1", "16Gi", 110)).await?;
    world.wait_bound(60, 30).await?;
    check::settled(world, &Expected::bound(60)).await?;
    let rotated = || async {
        let count = journal::list(folder)?.len();
        Ok((count > 1).then_some(()).ok_or(format!("there are {count}")))
    };
    until("a second segment", Duration::from_secs(20), rotated).await?;
    world.delete_pods().await?;
    world.create_pods(many(&pod("again", "100m", "64Mi"), 40)).await?;
    world.wait_bound(40, 30).await?;
    let all_written = || async {
        let count = bindings(folder)?;
        Ok((count >= 100).then_some(()).ok_or(format!("{count} are")))
    };
    until("100 bindings to be written", Duration::from_secs(20), all_written).await?;
    // What has not been written for a second yet goes with the process.
    world.create_pods(many(&pod("lost", "100m", "64Mi"), 10)).await?;
    world.wait_bound(50, 30).await?;
    world.kill(first)?;
    // The folder is free: the lock went with the process.
    let second = world.run_scheduler(through(&flags)).await?;
    world.create_pods(many(&pod("then", "100m", "64Mi"), 10)).await?;
    world.create_pods([pod("too-large", "2", "64Mi")].into_iter()).await?;
    world.wait_bound(60, 30).await?;
    world.wait_waiting("too-large", "Unschedulable", "6 Insufficient cpu").await?;
    world.replicas[second].scheduler.signal(Signal::Terminate)?;
    world.must_exit(second, 0, 30).await
}

/// How many bindings are in a journal.
fn bindings(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for file in journal::list(folder)? {
        let Some(mut segment) = Segment::open(&file.path)? else { continue };
        while let Some(record) = segment.next_record()? {
            let What::Stepped(decisions) = record.what else { continue };
            count += decisions.iter().filter(|it| matches!(it, Decided::Bind { .. })).count();
        }
    }
    Ok(count)
}

/// Whether bindings and waits are in the journal; bindings of the last second before the kill may
/// be missing.
fn check_counts(said: &str, binds_max: usize) -> Result<()> {
    let line = said.lines().find(|line| line.contains(" bindings, "));
    let counts: Vec<usize> = line
        .context("no line counts the bindings")?
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [binds, waits] = counts[..] else { bail!("no counts in {line:?}") };
    ensure!(binds >= 110 && binds <= binds_max && waits >= 10, "{binds} bindings, {waits} waits");
    Ok(())
}

async fn replay(world: &World, folder: &Path, more: &[&str]) -> Result<Output> {
    let folder = folder.display().to_string();
    world.command(&[&["replay", folder.as_str()], more].concat()).await
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{:?}\n{out}{err}", output.status.code())
}

/// Writes the first segment anew, with another node in its third binding; tells which.
fn tamper(folder: &Path, to: &Path) -> Result<(String, String)> {
    let first = journal::list(folder)?.into_iter().next().context("no segment")?;
    let mut segment = Segment::open(&first.path)?.context("an empty segment")?;
    let header = segment.header.clone();
    let (mut journal, closer) = Journal::open(Options {
        folder: to.into(),
        bytes_max: 1 << 30,
        segment_bytes: 1 << 20,
        version: header.version,
        started_unix_ms: header.started_unix_ms,
        engine: header.options,
        config: header.config,
    })?;
    let (mut binds, mut changed) = (0, None);
    journal.begin(header.at, segment.checkpoint.take().context("no checkpoint")?);
    while let Some(record) = segment.next_record()? {
        match record.what {
            What::Applied(event) => journal.applied(record.at, event),
            What::Stepped(mut decisions) => {
                for decided in &mut decisions {
                    if let Decided::Bind { uid, node, .. } = decided {
                        binds += 1;
                        if binds == 3 {
                            let other = if &**node == "node-0" { "node-1" } else { "node-0" };
                            *node = other.into();
                            changed = Some((uid.to_string(), other.to_owned()));
                        }
                    }
                }
                journal.stepped(record.at, decisions);
            }
        }
    }
    ensure!(closer.close(Duration::from_secs(10)), "the copy was not written");
    changed.context("fewer than three bindings")
}

/// Spoils a byte in the middle of the first segment.
fn damage(folder: &Path) -> Result<()> {
    let first = journal::list(folder)?.into_iter().next().context("no segment")?;
    let mut bytes = fs::read(&first.path)?;
    bytes[200] ^= 0x55;
    Ok(fs::write(&first.path, bytes)?)
}

/// A snapshot has what the scheduler sees, and a pod is judged by it as by one without names.
pub(crate) fn snapshot(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let mut template = node("node", "1", "16Gi", 110);
        template["metadata"]["labels"] = json!({"example.com/row": "seven"});
        world.create_nodes(2, &template).await?;
        world.create_nodes(1, &node("other", "1", "16Gi", 110)).await?;
        // Nothing fills up the node that the volume is on.
        world.run_scheduler(Start::plain(Election::Off).spreading()).await?;
        let mut selective = pod("selective", "700m", "64Mi");
        selective["spec"]["nodeSelector"] = json!({"example.com/row": "seven"});
        world.create_pods([selective, pod("too-large", "2", "64Mi")].into_iter()).await?;
        world.create_pods(many(&pod("small", "100m", "64Mi"), 4)).await?;
        volumes::keep_on(world, "node-1").await?;
        world.wait_bound(6, 30).await?;
        let plain = taken(world, "plain", &[]).await?;
        let nameless = taken(world, "nameless", &["--anonymise"]).await?;
        let text = nameless.to_string();
        let names = ["node-0", "other-0", "selective", "small", "kept", "example.com", "seven"];
        for name in names.into_iter().chain([world.namespace.as_str()]) {
            ensure!(!text.contains(name), "{name} is in the anonymised snapshot");
        }
        let (own, other) = (feasible(world, &plain).await?, feasible(world, &nameless).await?);
        ensure!(own == other && own.contains(&2), "fit on {own:?} nodes, without names {other:?}");
        for (name, items) in [("plain", &plain), ("nameless", &nameless)] {
            would_fit(world, name).await?;
            stays(world, name, items).await?;
        }
        volumes::clear(world).await
    })
}

/// Simulates a job on the cluster of a snapshot: its pods fit, and who waits goes on waiting.
async fn would_fit(world: &World, name: &str) -> Result<()> {
    let job = world.plane.folder().join("job.json");
    let container = json!({"name": "c", "resources": {"requests": {"cpu": "100m"}}});
    let manifest = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "tonight"},
        "spec": {"parallelism": 2, "completions": 2, "template": {
            "metadata": {"annotations": {"simulate.kubenexus.io/duration": "1h"}},
            "spec": {"restartPolicy": "Never", "containers": [container]}}},
    });
    fs::write(&job, manifest.to_string())?;
    let snapshot = world.plane.folder().join(format!("{name}.json"));
    let [snapshot, job] = [snapshot, job].map(|path| path.display().to_string());
    let output = world.command(&["simulate", &snapshot, &job, "--json"]).await?;
    ensure!(output.status.success(), "{}", self::text(&output));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let counts = ["created", "given", "placed", "waiting"].map(|key| &report["pods"][key]);
    ensure!(counts == [9, 6, 2, 1], "created, bound, placed and waiting are {counts:?}");
    Ok(())
}

/// Simulates two more pods with the claim of a snapshot: the one that asks for the node of the
/// volume is placed, the one that asks for another node waits because of the volume.
async fn stays(world: &World, name: &str, items: &Value) -> Result<()> {
    let of = |kind: &str| {
        let items = items.as_array().into_iter().flatten();
        items.filter(|it| it["kind"] == kind).collect::<Vec<_>>()
    };
    let kinds = ["PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Namespace"];
    let missing = kinds.into_iter().find(|kind| of(kind).is_empty());
    ensure!(missing.is_none(), "{missing:?} is not in the snapshot");
    let [budgets, services] = ["PodDisruptionBudget", "Service"].map(&of);
    ensure!(budgets.iter().any(|it| it["spec"]["minAvailable"] == "50%"), "{budgets:?}");
    ensure!(services.iter().any(|it| it["spec"]["selector"].is_object()), "{services:?}");
    let path = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
    let own = of("PersistentVolume")[0].pointer(path).context("a volume of a node")?;
    let hosts =
        of("Node").into_iter().map(|it| &it["metadata"]["labels"]["kubernetes.io/hostname"]);
    let other = hosts.into_iter().find(|host| *host != own).context("another node")?;
    let claim = &of("PersistentVolumeClaim")[0]["metadata"];
    let more = [own, other].into_iter().enumerate().map(|(at, host)| {
        let mut pod = pod(&format!("more-{at}"), "10m", "1Mi");
        pod["metadata"]["namespace"] = claim["namespace"].clone();
        pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": host});
        let source = json!({"claimName": claim["name"]});
        pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": source}]);
        pod
    });
    let file = world.plane.folder().join("more.json");
    let more = json!({"apiVersion": "v1", "kind": "List", "items": more.collect::<Vec<_>>()});
    fs::write(&file, more.to_string())?;
    let snapshot = world.plane.folder().join(format!("{name}.json"));
    let [snapshot, file] = [snapshot, file].map(|path| path.display().to_string());
    let output = world.command(&["simulate", &snapshot, &file, "--json"]).await?;
    ensure!(output.status.success(), "{}", self::text(&output));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let counts = ["given", "placed", "waiting"].map(|key| &report["pods"][key]);
    ensure!(counts == [6, 1, 2], "bound, placed and waiting are {counts:?}");
    let codes = report["waiting"].to_string();
    ensure!(codes.contains("VolumeNodeAffinityConflict"), "{codes}");
    Ok(())
}

/// The objects of a snapshot that is written to a file only its owner may read.
async fn taken(world: &World, name: &str, more: &[&str]) -> Result<Value> {
    let path: PathBuf = world.plane.folder().join(format!("{name}.json"));
    let file = path.display().to_string();
    let output = world.command(&[&["snapshot", "--output", file.as_str()], more].concat()).await?;
    ensure!(output.status.success(), "{}", self::text(&output));
    let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "the mode is {mode:o}");
    let mut list: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    ensure!(list["kind"] == "List", "{list}");
    let items = list["items"].take();
    let of = |kind: &str| -> Vec<&Value> {
        let items = items.as_array().into_iter().flatten();
        items.filter(|it| it["kind"] == kind).collect()
    };
    let pods = of("Pod");
    let bound = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
    let counts = (of("Node").len(), pods.len(), bound);
    ensure!(counts == (3, 7, 6), "nodes, pods and bound pods are {counts:?}");
    Ok(items)
}

/// On how many nodes each pod of a snapshot fits, by its own judgement of the others.
async fn feasible(world: &World, items: &Value) -> Result<Vec<usize>> {
    let items = items.as_array().context("items are a list")?;
    let config = config(Election::Off);
    let mut cases = String::new();
    for pod in items.iter().filter(|it| it["kind"] == "Pod") {
        let mut judged = pod.clone();
        let spec = judged["spec"].as_object_mut().context("a pod has a spec")?;
        spec.remove("nodeName");
        let others: Vec<_> = items.iter().filter(|it| *it != pod).collect();
        let case = json!({"config": config, "objects": others, "pod": judged});
        cases.push_str(&format!("{case}\n"));
    }
    let file = world.plane.folder().join("cases.jsonl");
    fs::write(&file, cases)?;
    let output = world.command(&["verdict", &file.display().to_string()]).await?;
    let mut counts = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let verdict: Value = serde_json::from_str(line)?;
        let nodes = verdict["nodes"].as_object().with_context(|| format!("no nodes: {verdict}"))?;
        counts.push(nodes.values().filter(|node| node["feasible"] == true).count());
    }
    counts.sort_unstable();
    Ok(counts)
}
