//! Cases about volumes: claims, persistent volumes, classes, CSI drivers and what pods mount.
//!
//! Each case has a subject, the question that most of its claims and volumes are about. Other
//! questions come up beside it at a low rate, and so do the constraints of ordinary cases. Never
//! drawn: a volume with two sources, because kube-scheduler takes the first it finds in a map.

mod claim;
mod class;
mod config;
mod node;
mod persistent;
mod pod;
mod source;

use serde_json::{Value, json};

use super::theme::World;
use super::{preemption, taint};
use crate::draw::Draw;

/// Cases of volumes have streams of choices of their own, behind those of ordinary cases.
const FIRST_STREAM: u64 = 1 << 40;

/// Zones in the form that cloud providers give them: the region and a letter.
const ZONES: [&str; 3] = ["us-east1-a", "us-east1-b", "us-west1-a"];

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The driver that most cases are about, and one beside it.
const DRIVERS: [&str; 2] = ["disk.csi.example.com", "file.csi.example.com"];

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Where volumes of bound claims can be reached.
    Bound,
    /// Which volumes a claim can be bound to.
    Matching,
    /// Whether a volume can be provisioned for a node.
    Provisioning,
    /// How many volumes a node takes.
    Limits,
    /// Disks that two pods must not mount on one node.
    Disks,
    /// Claims for one pod at a time.
    Once,
    /// All of it.
    Everything,
}

const SUBJECTS: [Subject; 17] = [
    Subject::Bound,
    Subject::Bound,
    Subject::Matching,
    Subject::Matching,
    Subject::Matching,
    Subject::Provisioning,
    Subject::Provisioning,
    Subject::Provisioning,
    Subject::Limits,
    Subject::Limits,
    Subject::Limits,
    Subject::Disks,
    Subject::Disks,
    Subject::Once,
    Subject::Once,
    Subject::Everything,
    Subject::Everything,
];

/// The storage of one case, filled as pods ask for it.
#[derive(Debug)]
struct Store {
    subject: Subject,
    /// The disk that most pods have, where disks are the subject.
    disk: &'static str,
    /// Whether things occur that an API server or a controller would not leave like that.
    is_odd: bool,
    /// Whether claims occur that no controller has looked after yet, or ever will.
    is_careless: bool,
    is_one_asked: bool,
    nodes: Vec<String>,
    classes: Vec<class::Class>,
    claims: Vec<Value>,
    volumes: Vec<Value>,
}

impl Store {
    /// Where only one of the plugins is asked, it finds what others would have found before it.
    fn draw(draw: &mut Draw, world: &World, subject: Subject, is_one_asked: bool) -> Store {
        Store {
            subject,
            disk: draw.pick::<&str>(&source::EXCLUSIVE),
            is_odd: draw.chance(15),
            is_careless: draw.chance(if is_one_asked { 80 } else { 35 }),
            is_one_asked,
            nodes: world.nodes.clone(),
            classes: class::all(draw, subject, is_one_asked),
            claims: Vec::new(),
            volumes: Vec::new(),
        }
    }

    fn has_claim(&self, namespace: &str, name: &str) -> bool {
        self.claims.iter().any(|claim| {
            claim["metadata"]["namespace"] == namespace && claim["metadata"]["name"] == name
        })
    }

    /// True in `percent` of 100 draws of a case in which claims are not looked after.
    fn carelessly(&self, draw: &mut Draw, percent: u64) -> bool {
        self.is_careless && draw.chance(percent)
    }

    /// True in `percent` of 100 draws of a case in which odd things occur.
    fn oddly(&self, draw: &mut Draw, percent: u64) -> bool {
        self.is_odd && draw.chance(percent)
    }
}

/// Case `number` of `seed`. The same arguments always give the same case.
pub(super) fn case(seed: u64, number: u64) -> Value {
    let mut draw = Draw::new(seed, FIRST_STREAM + number);
    let world = World::of_volumes(&mut draw);
    let subject = *draw.pick(&SUBJECTS);
    let (config, is_one_asked) = config::draw(&mut draw, subject);
    let mut store = Store::draw(&mut draw, &world, subject, is_one_asked);
    let mut objects = super::node::all(&mut draw, &world);
    node::label(&mut draw, &mut objects);

    let mut judged = super::pod::judged(&mut draw, &world, "default-scheduler");
    let mut pods = super::pod::existing(&mut draw, &world);
    pods.truncate(12);
    pod::judged(&mut draw, &mut store, &mut judged);
    for pod in &mut pods {
        pod::existing(&mut draw, &mut store, &judged, pod);
    }
    pod::part_claims(&store, &mut pods);
    persistent::free(&mut draw, &mut store);
    objects.extend(pods);
    preemption::part_ports(&mut objects);
    objects.extend(preemption::budgets(&mut draw, &world));
    objects.extend(class::objects(&mut draw, &store));
    objects.extend(node::csi_nodes(&mut draw, &store));
    objects.extend(node::attachments(&mut draw, &store));
    objects.append(&mut store.claims);
    objects.append(&mut store.volumes);
    draw.shuffle(&mut objects);

    let id = format!("volumes-{seed}-{number}");
    let mut case = json!({"id": id, "objects": objects, "pod": judged});
    if let Some(config) = config {
        case["config"] = config;
    }
    case
}

/// Lets a pod onto nodes whose taints are not what the case is about.
fn tolerate(draw: &mut Draw, pod: &mut Value) {
    if draw.chance(50) && pod["spec"].get("tolerations").is_none() {
        pod["spec"]["tolerations"] = json!(taint::tolerations(draw));
    }
}

/// One key of a node's or volume's place with a value that some node may have there.
fn place(draw: &mut Draw, store: &Store) -> (&'static str, String) {
    let keys = [
        HOSTNAME,
        HOSTNAME,
        ZONE,
        ZONE,
        BETA_ZONE,
        REGION,
        BETA_REGION,
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "disk",
    ];
    let key = *draw.pick(&keys);
    let value = match key {
        HOSTNAME => draw.pick(&store.nodes).clone(),
        "disk" => (*draw.pick(&["ssd", "hdd"])).to_owned(),
        REGION | BETA_REGION => region(draw.pick::<&str>(&ZONES)),
        _ => (*draw.pick(&ZONES)).to_owned(),
    };
    (key, value)
}

/// The region of a zone.
fn region(zone: &str) -> String {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region).to_owned()
}

#[cfg(test)]
mod tests;
