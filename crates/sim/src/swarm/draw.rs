//! What a seed draws: the cluster, what becomes of it, the workload, the faults.
//!
//! Small numbers of few values, so that conflicts, full nodes and ties are frequent.

mod batch;
mod company;
mod fabric;
mod gangs;
mod gpus;
mod hardware_tiers;
mod importance;
mod insides;
mod jobs;
mod nodes;
mod ranks;
pub(super) mod shapes;
mod spread;
pub(super) mod storage;
mod tiers;

use framework::Point;
use model::Millis;

use crate::dice::{Dice, Stream};
use crate::plan::{Fate, Faults, Plan};

/// The scheduler names of our profiles, and one that is not ours.
const OURS: [&str; 2] = ["default-scheduler", "kubenexus-scheduler"];
const OTHER: &str = "another-scheduler";

const LABELS: [(&str, &[&str]); 4] = [
    ("zone", &["a", "b", "c"]),
    ("disk", &["ssd", "hdd"]),
    ("cores", &["4", "16", "64", "many"]),
    ("arch", &["amd64", "arm64"]),
];
/// A label of namespaces.
const TEAM: &str = "team";
const TEAMS: [&str; 2] = ["sea", "sky"];
const TAINTS: [&str; 3] = ["spot", "gpu", "old"];
const IMAGES: [&str; 3] = ["web", "db", "model"];
const SCALARS: [&str; 3] = ["nvidia.com/gpu", "example.com/nic", "hugepages-2Mi"];
const MIB: i64 = 1 << 20;

/// Everything that follows from a seed.
pub(super) fn plan(seed: u64) -> Plan {
    let mut plan = plain(seed);
    shapes::add(&mut plan);
    batch::add(&mut plan);
    storage::add(&mut plan);
    insides::add(&mut plan);
    gpus::add(&mut plan);
    spread::add(&mut plan);
    hardware_tiers::add(&mut plan);
    fabric::add(&mut plan);
    plan
}

/// The same without what few worlds have.
fn plain(seed: u64) -> Plan {
    let mut dice = Dice::new(seed, Stream::Swarm);
    let span = Millis::seconds(dice.between(20, 240));
    let mut nodes = nodes::draw(&mut dice, span);
    let mut faults = faults(&mut dice);
    // In some worlds nobody but our scheduler can give a node more than it has.
    let is_room_ours = dice.percent(35);
    if is_room_ours {
        faults.second_scheduler = None;
        let is_resize = |fate: &Fate| matches!(fate, Fate::Resizes { .. });
        nodes.iter_mut().for_each(|node| node.fates.retain(|(_, fate)| !is_resize(fate)));
    }
    let mut jobs = jobs::draw(&mut dice, span, nodes.len(), faults.second_scheduler.is_some());
    if is_room_ours {
        jobs.iter_mut().for_each(|job| (job.node, job.life.resized) = (None, None));
    }
    let mut settings = k8s::config::defaults(plugins::known());
    if dice.percent(30) {
        settings.initial_backoff = Millis(dice.between(100, 3_000));
        settings.max_backoff = Millis(dice.between(3_000, 20_000));
    }
    let budgets = importance::draw(&mut dice, &mut jobs);
    let mut pod_groups = gangs::draw(&mut dice, &mut jobs, span);
    ranks::draw(seed, &jobs, &mut pod_groups);
    let namespaces = tiers::draw(&mut dice, (&mut jobs, span), &mut settings.profiles);
    // Jobs of both profiles may be gangs by their labels.
    let kube = settings.profiles.iter_mut().filter(|profile| profile.scheduler == OURS[0]);
    kube.for_each(|profile| profile.add(Point::Permit, "Coscheduling"));
    let groupings = Vec::new();
    let storage = Default::default();
    Plan {
        seed,
        span,
        nodes,
        jobs,
        budgets,
        pod_groups,
        groupings,
        namespaces,
        storage,
        fixed: Vec::new(),
        settings,
        faults,
    }
}

fn faults(dice: &mut Dice) -> Faults {
    let mut faults = Faults::NONE;
    // A few worlds without any fault show what the others owe to theirs.
    if dice.percent(5) {
        return faults;
    }
    if dice.percent(50) {
        let low = dice.between(1, 200);
        faults.request = (Millis(low), Millis(low + dice.between(1, 3_000)));
    }
    if dice.percent(70) {
        let most = dice.pick(&[20, 200, 2_000, 8_000]);
        faults.watch = (Millis(0), Millis(dice.between(1, most)));
    }
    let mut some_percent = |most| if dice.percent(40) { dice.between(1, most) } else { 0 };
    faults.refused_percent = some_percent(40);
    faults.lost_percent = some_percent(25);
    faults.unanswered_percent = some_percent(25);
    faults.broken_list_percent = some_percent(60);
    let mut once_in_a_while =
        |least, most| dice.percent(45).then(|| Millis(dice.between(least, most)));
    faults.watch_cut_every = once_in_a_while(2_000, 60_000);
    faults.leader_lost_every = once_in_a_while(8_000, 120_000);
    if dice.percent(50) {
        faults.second_scheduler = Some((Millis(0), Millis(dice.between(1, 5_000))));
    }
    faults
}

/// How many of something: mostly few.
fn few(dice: &mut Dice, most: u64) -> u64 {
    let limit = dice.between(1, most);
    dice.between(1, limit)
}
