//! Lines of random clusters: a number becomes the words of a node, a pod or an event.
//!
//! Drawn so that conflicts, ties and full nodes are frequent. A smaller number says less, so that
//! property tests shrink towards plain lines.

/// A number that is used up choice by choice.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        let count = count as u64;
        let drawn = self.0 % count;
        self.0 /= count;
        usize::try_from(drawn).expect("a drawn number is small")
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

const TAINTS: [&str; 7] = [
    "",
    "taint=spot:PreferNoSchedule",
    "",
    "taint=spot:PreferNoSchedule taint=old:PreferNoSchedule",
    "taint=spot:NoSchedule",
    "",
    "taint=gpu=a100:NoExecute",
];

const ZONES: [&str; 8] = [
    "zone=x",
    "zone=y",
    "label=topology.kubernetes.io/zone:x zone=y",
    "",
    "label=topology.kubernetes.io/zone:y",
    "label=topology.kubernetes.io/zone:x label=topology.kubernetes.io/rack:r1",
    "label=topology.kubernetes.io/zone:z label=network.kubenexus.io/rack-id:r1",
    "label=topology.kubernetes.io/zone:x label=topology.kubernetes.io/rack:r2",
];

const IMAGES: [&str; 4] = ["", "image=web@900Mi", "image=web@300Mi image=db@500Mi", "image=db@2Gi"];

/// What is inside nodes, and what their kubelets say.
const INSIDES: [&str; 11] = [
    "",
    "",
    "zones=2x2 gpus=0,1 policy=restricted",
    "zones=2x8 policy=single-numa-node scope=pod",
    "zones=2x1 policy=best-effort held=p1:0:0 held=p2:1",
    "zones=1x16 gpus=0,x policy=none held=p3:2-3:x",
    "gpus=0,0,1,1 nvlink=0,0,1,1 model=A vram=40Gi",
    "replicas=2 model=B vram=16Gi",
    "replicas=2 vram=40Gi",
    "vram=16Gi",
    "gpus=0,0 zones=1x16 vram=16Gi held=p1::1 held=p2::0",
];

const BUDGETS: [&str; 4] = ["label=app:web", "", "label=app:db", "label=app:web disrupted=p3"];

/// What pods ask for beside cpu and memory.
const SHAPES: [&str; 45] = [
    "",
    "tolerate=spot",
    "prefer=10:zone:in:x prefer=3:disk:in:ssd",
    "gpu=1",
    "port=80",
    "select=zone:x",
    "image=web image=db",
    "prefer=1:zone:in:y tolerate=spot",
    "prefer=100:disk:exists prefer=1:zone:in:x,y",
    "require=zone:in:x,y&disk:exists require=cores:gt:8",
    "port=80@10.0.0.1 port=53/UDP",
    "tolerate=* image=web",
    "gpu=2 example.com/nic=1",
    "feature=VolumeBindMountOptions",
    "require=@metadata.name:in:n1&zone:in:x require=@metadata.name:in:n2",
    "namespace=shy",
    "namespace=shy label=app:web",
    "label=app:web",
    "label=app:db",
    "label=app:web spread=zone,1,app:web",
    "label=app:web owner=replicaset/web",
    "label=app:web owner=replicationcontroller/db",
    "label=app:db owner=statefulset/db",
    "label=app:web label=tier:back",
    "label=app:web spread=zone,1,app:web,soft",
    "label=app:db near=zone,app:web",
    "label=app:db near=zone,app:db",
    "label=app:web far=zone,app:web",
    "label=app:web far=host,app:db,*",
    "like=5,zone,app:web like=-3,host,app:db,*",
    "target=n3",
    "need=volumes",
    "prefer=5:zone:what:x",
    "require=@metadata.name:in:n1&@metadata.name:in:n2",
    "target=n1 require=@metadata.name:in:n2",
    "gpu=2",
    "gpu=1 vram=20Gi",
    "gpu=2 vram-total=30Gi",
    "gpu=1 fraction=0.5",
    "gpu=1 fraction=0.3 had-gpus=1",
    "gpu=1 gpu-memory=10Gi",
    "gpu=1 fraction=1",
    "label=app:web zones-spread=true",
    "label=app:db label=job-name:j zones-spread=true",
    "label=app:web owner=replicaset/web zones-spread=false",
];

/// A line for the node with this number.
#[must_use]
pub fn node(at: usize, dice: u64) -> String {
    let mut dice = Dice(dice);
    let words = [
        dice.pick(&["cpu=4", "cpu=2", "cpu=1", "cpu=16"]),
        dice.pick(&["memory=8Gi", "memory=4Gi", "memory=2Gi"]),
        dice.pick(&["pods=110", "pods=2", "pods=1", "pods=4"]),
        dice.pick(&ZONES),
        dice.pick(&TAINTS),
        dice.pick(&["", "disk=ssd", "disk=hdd", "cores=16"]),
        dice.pick(&["", "gpu=2", "gpu=1 example.com/nic=1", "gpu=4"]),
        dice.pick(&IMAGES),
        dice.pick(&["", "", "", "closed"]),
        dice.pick(&["", "feature=VolumeBindMountOptions"]),
        dice.pick(&["", "label=kubernetes.io/hostname:"]),
    ];
    let line = said(format!("node n{at}"), &words);
    let line = if line.ends_with(':') { format!("{line}n{at}") } else { line };
    said(line, &[dice.pick(&INSIDES)])
}

/// A line for the pod with this number, waiting or on `node`.
#[must_use]
pub fn pod(at: usize, node: Option<usize>, dice: u64) -> String {
    let mut dice = Dice(dice);
    let words = [
        // Few amounts and many plain pods, so that classes have several pods.
        dice.pick(&["cpu=500m memory=1Gi", "cpu=1", "cpu=2 memory=3Gi", ""]),
        if dice.below(2) == 0 { "" } else { dice.pick(&SHAPES) },
        dice.pick(&["", "", "priority=5", "priority=-1", "priority=9"]),
        dice.pick(&["", "", "", "", "", "", "gate=quota", "terminating", "finished", "preempted"]),
        dice.pick(&[
            "",
            "",
            "",
            "started=5",
            "started=9",
            "polite",
            "nominated=n1",
            "nominated=n3",
        ]),
        dice.pick(&["", "", "exclusive"]),
        dice.pick(&["", "", "workload=batch", "workload=interactive"]),
    ];
    let on = node.map_or(String::new(), |node| format!(" on=n{node}"));
    said(format!("pod p{at}{on}"), &words)
}

/// An event in a cluster of `nodes` nodes and up to `pods` pods. Confirmations and refusals are of
/// any pod, also of one that was not sent anywhere.
#[must_use]
pub fn event(nodes: usize, pods: usize, dice: u64) -> String {
    let mut dice = Dice(dice);
    let kind = dice.below(22);
    // One more than there are: a node that pods name and that is not there, or a new one.
    let (at, to) = (dice.below(pods), dice.below(nodes + 1));
    match kind {
        0..=4 => pod(at, None, dice.0),
        5..=6 => pod(at, Some(to), dice.0),
        7..=9 => format!("gone pod p{at}"),
        10..=12 => node(to, dice.0),
        13 => format!("gone node n{to}"),
        14..=15 => format!("confirm p{at}"),
        16 => format!("refuse p{at}"),
        17 => format!("keep p{at}"),
        18 => said("budget web".into(), &[dice.pick(&BUDGETS), dice.pick(&["", "allows=1"])]),
        19 => grouping(dice.0),
        20 => format!("gone {}", said("grouping".into(), &[Dice(dice.0).pick(&GROUPINGS)])),
        _ => format!("confirm p{at} n{to}"),
    }
}

/// What is told of the zones of a node, in one of many updates.
#[must_use]
pub fn node_resource_topology(nodes: usize, pods: usize, dice: u64) -> String {
    let mut dice = Dice(dice);
    let node = dice.below(nodes + 1);
    if dice.below(5) == 0 {
        return format!("gone nrt n{node}");
    }
    let words = [
        dice.pick(&["zones=2x2", "zones=2x2 free=1,2", "zones=2x2 free=0,2", "zones=1x16 free=3"]),
        dice.pick(&["", "policy=restricted", "policy=best-effort scope=pod"]),
        dice.pick(&["", "", "pods=", "exclusive"]),
    ];
    let line = said(format!("nrt n{node} update={}", dice.below(1_000)), &words);
    match dice.below(3) {
        0 => format!("{line} pods=p{},p{}", dice.below(pods), dice.below(pods)),
        1 => format!("{line} pods=p{}", dice.below(pods)),
        _ => line,
    }
}

const GROUPINGS: [&str; 5] =
    ["service/web", "replicaset/web", "service/db", "statefulset/db", "replicationcontroller/db"];

/// A line for a service or a controller.
fn grouping(dice: u64) -> String {
    let mut dice = Dice(dice);
    let words = [
        dice.pick(&GROUPINGS),
        dice.pick(&["app:web", "app:web", "app:db", "app:web tier:back", ""]),
        dice.pick(&["", "", "", "namespace=shy"]),
    ];
    said("grouping".into(), &words)
}

fn said(mut line: String, words: &[&str]) -> String {
    for word in words.iter().filter(|word| !word.is_empty()) {
        line.push(' ');
        line.push_str(word);
    }
    line
}
