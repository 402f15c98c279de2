//! One function for every sort of job: its size, its constraints, when it comes, how long it runs.

use model::topology::{ContainerAsk, ContainerRole, PodAsk};
use model::{
    Effect, HostPort, LabelOperator, Millis, NodeTerm, Operator, PodSpec, Preference, Protocol,
    RequirementSpec, Time, Toleration,
};

use super::Kind;
use crate::cluster::{DISK, GPU_TAINT, Group, POOL, SPOT_TAINT, ZONE, ZONES};
use crate::dice::Dice;
use crate::plan::{Gates, Job, Life};
use crate::quantities::{GIB_IN_MIB, GPU, requests};

/// Draws a job that arrives within a span.
pub(super) type Shape = fn(&mut Dice, Millis) -> Job;

/// Jobs that still wait at the end: no node can take them, or they are kept back.
pub(super) const STRANDED: [Shape; 4] = [oversized, foreign, unprotected, kept_back];

/// The profile that schedules the demo.
const SCHEDULER: &str = "kubenexus-scheduler";
/// The name of every scheduling gate.
const GATE: &str = "demo.kubenexus.io/quota";
const MINUTE_MS: u64 = 60_000;

/// A deployment of three to twenty replicas that stays.
pub(super) fn service(dice: &mut Dice, span: Millis) -> Job {
    let cpu_milli = dice.pick(&[100, 250, 500, 1000, 2000]);
    let memory_mib = cpu_milli * dice.pick(&[2, 3, 4]);
    let name = dice.pick(&["web", "api", "auth", "cart", "search", "feed", "mail"]);
    let mut job = job(name, Kind::Service, early(dice, span), cpu_milli, memory_mib, 0);
    job.pods = dice.between(3, 20);
    match dice.between(0, 9) {
        0 => job.spec.node_selector = vec![(DISK.to_owned(), "ssd".to_owned())],
        1 => job.spec.required = Some(vec![label_in(ZONE, &ZONES[..2])]),
        2 | 3 => {
            let term = label_in(ZONE, &[dice.pick(&ZONES)]);
            job.spec.preferred = vec![Preference { weight: 50, term }];
        }
        4 => {
            let port = dice.pick(&[8080, 8443, 9100]);
            job.spec.ports = vec![HostPort { address: None, protocol: Protocol::Tcp, port }];
        }
        5 => job.gates = gated(dice.between(MINUTE_MS / 2, 3 * MINUTE_MS)),
        _ => {}
    }
    job
}

/// A cache or database: much memory, and a pool of its own.
pub(super) fn memory_service(dice: &mut Dice, span: Millis) -> Job {
    let memory_mib = dice.pick(&[16, 24, 32, 48]) * GIB_IN_MIB;
    let name = dice.pick(&["redis", "postgres", "index"]);
    let mut job = job(name, Kind::Service, early(dice, span), 1500, memory_mib, 0);
    job.pods = dice.between(3, 6);
    job.spec.node_selector = vec![(POOL.to_owned(), Group::Memory.name().to_owned())];
    job
}

/// Five to fifty pods that run for minutes; most of them do not mind spot nodes.
pub(super) fn batch(dice: &mut Dice, span: Millis) -> Job {
    let cpu_milli = dice.pick(&[500, 1000, 2000, 4000]);
    let memory_mib = cpu_milli * dice.pick(&[1, 2, 4]);
    let name = dice.pick(&["etl", "render", "report", "encode", "backup"]);
    let at = Time(dice.between(0, span.0.saturating_sub(1)));
    let mut job = job(name, Kind::Batch, at, cpu_milli, memory_mib, 0);
    job.pods = dice.between(5, 50);
    let shortest = dice.between(MINUTE_MS, 8 * MINUTE_MS);
    job.runs = Some((Millis(shortest), Millis(shortest + 2 * MINUTE_MS)));
    if dice.percent(70) {
        job.spec.tolerations = vec![tolerates(SPOT_TAINT, Effect::PreferNoSchedule)];
    }
    if dice.percent(5) {
        job.gates = gated(dice.between(MINUTE_MS / 2, 5 * MINUTE_MS));
    }
    job
}

/// A few pods with one or two GPUs each, early and for most of the time.
pub(super) fn tuning(dice: &mut Dice, span: Millis) -> Job {
    let gpus = dice.pick(&[1, 1, 1, 2]);
    let name = dice.pick(&["finetune", "distil", "sweep", "label"]);
    let at = Time(dice.between(0, super::eve(span).0 * 3 / 4));
    let mut job = with_gpus(name, Kind::Tuning, at, gpus);
    job.pods = dice.between(1, 3);
    job.runs = Some((Millis(span.0 / 2), Millis(span.0)));
    job
}

/// One pod with all GPUs of a machine, later.
pub(super) fn training(dice: &mut Dice, span: Millis) -> Job {
    let name = dice.pick(&["llm", "vision", "speech", "ranker"]);
    let at = Time(dice.between(super::eve(span).0, span.0 * 4 / 5));
    let mut job = with_gpus(name, Kind::Training, at, 8);
    job.runs = Some((Millis(span.0 / 10), Millis(span.0 / 5)));
    job
}

/// A job on machines whose GPUs reach each other well.
fn with_gpus(name: &str, kind: Kind, at: Time, gpus: i64) -> Job {
    let mut job = job(name, kind, at, gpus * 8000, gpus * 64 * GIB_IN_MIB, gpus);
    job.spec.tolerations = vec![tolerates(GPU_TAINT, Effect::NoSchedule)];
    job.spec.required = Some(vec![label_in(POOL, &[Group::GpuA100.name()])]);
    job.spec.ask = Some(Box::new(guaranteed(gpus)));
    job
}

/// What the container of a Guaranteed pod asks its kubelet for.
fn guaranteed(gpus: i64) -> PodAsk<String> {
    let gpus = u32::try_from(gpus).unwrap_or(0);
    let bytes = (u64::from(gpus) * 64) << 30;
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: u64::from(gpus) * 8_000,
        memory: [("memory".to_owned(), bytes)].into(),
        devices: [(GPU.to_owned(), gpus)].into(),
    };
    PodAsk { is_exclusive: true, containers: [container].into() }
}

/// Replicas that answer with a model, on small GPUs if there are any left.
pub(super) fn inference(dice: &mut Dice, span: Millis) -> Job {
    let gpus = dice.pick(&[1, 1, 1, 1, 2, 4]);
    let name = dice.pick(&["chat", "embed", "detect", "translate"]);
    let at = early(dice, span);
    let mut job = job(name, Kind::Inference, at, gpus * 6000, gpus * 24 * GIB_IN_MIB, gpus);
    job.pods = dice.between(2, 6);
    job.spec.tolerations = vec![tolerates(GPU_TAINT, Effect::NoSchedule)];
    if dice.percent(85) {
        job.spec.node_selector = vec![(POOL.to_owned(), Group::GpuL4.name().to_owned())];
    } else {
        let term = label_in(POOL, &[Group::GpuL4.name()]);
        job.spec.preferred = vec![Preference { weight: 100, term }];
    }
    job
}

/// Larger than any node.
fn oversized(dice: &mut Dice, span: Millis) -> Job {
    job("oversized", Kind::Batch, early(dice, span), 256_000, 512 * GIB_IN_MIB, 0)
}

/// For an architecture that no node has.
fn foreign(dice: &mut Dice, span: Millis) -> Job {
    let mut job = job("foreign", Kind::Service, early(dice, span), 250, 512, 0);
    job.spec.node_selector = vec![("kubernetes.io/arch".to_owned(), "riscv64".to_owned())];
    job.pods = 3;
    job
}

/// Asks for a GPU, but forgets to tolerate the taint of the nodes that have one.
fn unprotected(dice: &mut Dice, span: Millis) -> Job {
    let mut job = job("notebook", Kind::Inference, early(dice, span), 2000, 8 * GIB_IN_MIB, 1);
    job.pods = 2;
    job
}

/// Arrives late, with a gate that outlasts the run.
fn kept_back(_: &mut Dice, span: Millis) -> Job {
    let at = Time(span.0 * 95 / 100);
    let mut job = job("rollout", Kind::Service, at, 500, 1024, 0);
    job.pods = 6;
    job.gates = gated(span.0);
    job
}

/// A job of one pod without constraints that stays.
fn job(name: &str, kind: Kind, at: Time, cpu_milli: i64, memory_mib: i64, gpus: i64) -> Job {
    let spec = PodSpec {
        scheduler: SCHEDULER.to_owned(),
        namespace: kind.name().to_owned(),
        requests: requests(cpu_milli, memory_mib, gpus),
        ..PodSpec::default()
    };
    let (name, priority, life) = (name.to_owned(), kind.priority(), Life::default());
    Job {
        name,
        at,
        pods: 1,
        followers: 0,
        spec,
        labels: Default::default(),
        priority,
        node: None,
        runs: None,
        gates: None,
        life,
        gang: None,
    }
}

/// Gates that are lifted some time after the arrival.
fn gated(lifted_after_ms: u64) -> Option<Gates> {
    Some(Gates { names: [GATE.into()].into(), lifted_after: Some(Millis(lifted_after_ms)) })
}

/// Some time before nine tenths of the span, more often early than late.
fn early(dice: &mut Dice, span: Millis) -> Time {
    let draw = dice.between(0, 999);
    Time(span.0 * 9 / 10 * draw * draw / 1_000_000)
}

fn label_in(key: &str, values: &[&str]) -> NodeTerm {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    let requirement = RequirementSpec { key: key.to_owned(), operator: LabelOperator::In, values };
    NodeTerm { expressions: vec![requirement], fields: Vec::new() }
}

fn tolerates(key: &str, effect: Effect) -> Toleration<String> {
    Toleration {
        key: Some(key.to_owned()),
        value: String::new(),
        operator: Operator::Exists,
        effect: Some(effect),
    }
}
