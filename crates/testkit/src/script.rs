//! Scripts: a command on each line, and after it what it must answer, on lines that begin with `>`.
//! A long answer goes on after `>+`.
//!
//! ```text
//! node WORDS | pod WORDS          there is such a node or pod, or it is different now
//! gone node NAME | gone pod UID   it is gone
//! grouping WORDS                  there is such a service or controller, or it is different now
//! gone grouping KIND/NAME         it is gone
//! namespace WORDS                 there is such a namespace, or it has other labels now
//! gone namespace NAME             it is gone
//! podgroup WORDS                  there is such an object about gangs, or it is different now
//! gone podgroup KIND/NAME         it is gone
//! succeeded UID GANG [WORD ..]    a pod of a gang ran to a good end; with `failed` to another one;
//!                                 owner=KIND/NAME created=SECONDS min=3 group=KIND/NAME[/PART]
//! relist nodes NAME ..            these are all the nodes there are: others are gone
//! relist pods UID ..              the same for pods
//! relist KIND NAMESPACE/NAME ..   the same for services, or for controllers of one kind
//! confirm UID [NODE]              the API says that the pod is on its node, or on another
//! keep UID                        a pod that was to be evicted was not
//! budget WORDS                    there is such a disruption budget, or it is different now
//! gone budget NAMESPACE/NAME      it is gone
//! pv WORDS | pvc WORDS | ...      there is such an object of storage (see `storage`)
//! gone pv NAME | gone pvc KEY ..  it is gone
//! slice WORDS | claim WORDS       there is such a ResourceSlice or ResourceClaim (see `devices`)
//! gone slice NAME | gone claim KEY  it is gone
//! written UID [VERSION ..]        what a pod needs before it can be bound was written
//! unwritten UID                   that was refused
//! given UID                       what is given to the claims of a pod on its way
//! refuse UID [ATTEMPT]            the API refuses the pod's binding, or that of another attempt
//! after 1s | after 20ms           time passes
//! step [BUDGET]                   decisions: `web -> a`, `web on a: evicts b` or `web waits: why`
//! step in full                    the same, with what else was tried for pods that wait
//! judge WORDS                     a pod on every node: `a fits PLUGIN=score ..` or why not
//! profile UID                     what a pod is: tenant, tier, workload and hardware
//! queue                           how many units are where
//! load NODE                       what is taken of a node
//! next                            when a step can next do something
//! ```

use std::collections::BTreeMap;

use engine::{Checkpoint, Merits, NodeJudgement, Options, ResumeError, Scheduler};
use framework::ProfileSettings;
use k8s::render::{code_word, message, points, reason_text, unprepared_text};
use model::{
    Assignment, Attempt, Catalog, ClusterQueueFacts, Code, Decision, Diagnosis, Disband, Event,
    GangReport, GangState, JobFacts, Kind, LabelSelector, LocalQueueFacts, Millis, Outcome,
    PodFacts, PodId, PodState, Preemption, Preparation, Present, Reason, Rescue, SucceededFacts,
    Time, Waiting, Write,
};

use crate::facts::{grouping_key, grouping_kind};
use crate::gangs::group_key;
use crate::hardware::shown;
use crate::{
    budget, default_profile, grouping, namespace, node, node_resource_topology, pod, pod_group,
    storage_kind,
};

/// Runs a script with the default profile.
///
/// # Panics
/// When an answer is not the expected one.
pub fn check(script: &str) {
    check_with(&[default_profile()], script);
}

/// Runs a script with the given profiles.
///
/// # Panics
/// When an answer is not the expected one.
pub fn check_with(profiles: &[ProfileSettings], script: &str) {
    let mut run = Script::new(profiles, Options::default());
    let lines = script.lines().map(str::trim).enumerate();
    let mut lines = lines.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')).peekable();
    while let Some((at, line)) = lines.next() {
        let answers = run.command(line);
        let mut expected: Vec<String> = Vec::new();
        while let Some((_, answer)) = lines.next_if(|(_, line)| line.starts_with('>')) {
            match (answer.strip_prefix(">+"), expected.last_mut()) {
                (Some(rest), Some(answer)) => *answer = format!("{answer} {}", rest.trim()),
                _ => expected.push(answer[1..].trim().to_owned()),
            }
        }
        assert_eq!(answers, expected, "line {}: {line} (answered, expected)", at + 1);
    }
}

/// A scheduler that takes commands.
pub struct Script {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// What time it is.
    pub now: Time,
    /// Pods as they were last given, by uid.
    pub pods: BTreeMap<String, PodFacts>,
    /// Everything that was applied, in order.
    pub events: Vec<Event>,
}

impl Script {
    /// A scheduler that knows nothing yet.
    ///
    /// # Panics
    /// When a profile cannot be made.
    #[must_use]
    pub fn new(profiles: &[ProfileSettings], options: Options) -> Self {
        let mut catalog = Catalog::default();
        let build = |settings| plugins::build(settings, &mut catalog).expect("a valid profile");
        let profiles = profiles.iter().map(build).collect();
        let scheduler = Scheduler::new(catalog, profiles, options);
        let (now, pods, events) = (Time::default(), BTreeMap::new(), Vec::new());
        Self { scheduler, now, pods, events }
    }

    /// Another run that goes on from a checkpoint of a run at this moment.
    ///
    /// # Panics
    /// When a profile cannot be made.
    ///
    /// # Errors
    /// When the checkpoint makes no sense.
    pub fn resumed(
        &self,
        checkpoint: Checkpoint,
        profiles: &[ProfileSettings],
        options: Options,
    ) -> Result<Self, ResumeError> {
        let mut catalog = Catalog::default();
        // Other numbers for resources than those of the first run.
        catalog.resource("example.com/numbered-first");
        let build = |settings| plugins::build(settings, &mut catalog).expect("a valid profile");
        let profiles = profiles.iter().map(build).collect();
        let scheduler = Scheduler::resume(catalog, profiles, options, checkpoint)?;
        let (now, pods, events) = (self.now, self.pods.clone(), Vec::new());
        Ok(Self { scheduler, now, pods, events })
    }

    /// Runs one command and tells what it answers.
    ///
    /// # Panics
    /// When the command makes no sense.
    pub fn command(&mut self, line: &str) -> Vec<String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
        match words[..] {
            ["node", ..] => self.apply(&Event::seen(node(rest))),
            ["pod", ..] => {
                let facts = pod(rest);
                self.pods.insert(facts.key.uid.to_string(), facts.clone());
                self.apply(&Event::seen(facts));
            }
            ["gone", "node", name] => self.apply(&Event::gone(Kind::Node, name)),
            ["gone", "pod", uid] => {
                self.pods.remove(uid);
                self.apply(&Event::gone(Kind::Pod, uid));
            }
            ["gone", "budget", key] => self.apply(&Event::gone(Kind::Budget, key)),
            ["budget", ..] => self.apply(&Event::seen(budget(rest))),
            ["keep", uid] => self.apply(&Event::Outcome(Outcome::EvictionFailed(uid.into()))),
            ["relist", "nodes", ref names @ ..] => {
                let names = names.iter().map(|name| (*name).into()).collect();
                self.apply(&Event::Listed(Kind::Node, Present::Names(names)));
            }
            ["relist", "pods", ref uids @ ..] => {
                self.pods.retain(|uid, _| uids.contains(&uid.as_str()));
                let uids = uids.iter().map(|uid| (*uid).into()).collect();
                self.apply(&Event::Listed(Kind::Pod, Present::Names(uids)));
            }
            ["grouping", ..] => self.apply(&Event::seen(grouping(rest))),
            [kind, ..] | ["gone", kind, _] if AROUND.contains(&kind) => {
                self.apply(&around(&words, rest));
            }
            ["gone", "grouping", key] => self.apply(&Event::Gone(grouping_key(key).into())),
            ["relist", kind, ref names @ ..] => {
                let names = Present::Names(names.iter().map(|name| (*name).into()).collect());
                self.apply(&Event::Listed(Kind::Grouping(grouping_kind(kind)), names));
            }
            ["written" | "unwritten", ..] => self.write(&words),
            ["given", uid] => return vec![self.given(uid)],
            [what @ ("inside" | "free" | "gpus"), node] => {
                return shown(&self.scheduler, what, node);
            }
            [kind, ..] | ["gone", kind, _] if storage_kind(kind).is_some() => {
                self.apply(&crate::storage::event(&words, rest));
            }
            ["confirm", uid] => self.confirm(uid, None),
            ["confirm", uid, node] => self.confirm(uid, Some(node)),
            ["refuse", uid] => {
                let attempt = self.assumed(uid).expect("a pod that is refused was sent").1;
                self.apply(&Event::Outcome(Outcome::BindRefused { uid: uid.into(), attempt }));
            }
            ["refuse", uid, attempt] => {
                let attempt = Attempt(attempt.parse().expect("an attempt is a number"));
                self.apply(&Event::Outcome(Outcome::BindRefused { uid: uid.into(), attempt }));
            }
            ["after", span] => self.now = self.now + millis(span),
            ["step"] => return self.step(usize::MAX, text),
            ["step", "in", "full"] => return self.step(usize::MAX, full_text),
            ["step", budget] => {
                return self.step(budget.parse().expect("a budget is a number"), text);
            }
            ["judge", ..] => return self.judge(&pod(rest)),
            ["profile", uid] => return vec![self.profile(uid)],
            ["queue"] => return vec![self.queue()],
            ["spared"] => return vec![self.scheduler.spared().join(" ")],
            ["load", node] => return vec![self.load(node)],
            ["next"] => return vec![self.next()],
            _ => panic!("there is no command {line:?}"),
        }
        Vec::new()
    }

    /// Takes in an event now.
    pub fn apply(&mut self, event: &Event) {
        self.events.push(event.clone());
        self.scheduler.apply(event, self.now);
    }

    /// The node and attempt of a pod whose binding is not answered yet.
    #[must_use]
    pub fn assumed(&self, uid: &str) -> Option<(String, Attempt)> {
        let catalog = self.scheduler.catalog();
        match catalog.pod(catalog.find_pod(uid)?).state {
            PodState::Assumed(node, attempt) => Some((catalog.node_name(node).into(), attempt)),
            PodState::Waiting | PodState::Bound(_) => None,
        }
    }

    fn confirm(&mut self, uid: &str, node: Option<&str>) {
        let assumed = self.assumed(uid).map(|(node, _)| node);
        let facts = self.pods.get_mut(uid).expect("a pod that is confirmed was given");
        facts.node = node.map(Into::into).or(assumed);
        let event = Event::seen(facts.clone());
        self.apply(&event);
    }

    fn step(&mut self, budget: usize, text: fn(&Decision, &Catalog) -> String) -> Vec<String> {
        let mut decisions = Vec::new();
        self.scheduler.step(self.now, budget, &mut decisions);
        decisions.iter().map(|decision| text(decision, self.scheduler.catalog())).collect()
    }

    fn judge(&mut self, pod: &PodFacts) -> Vec<String> {
        let Some(judgement) = self.scheduler.judge(pod) else {
            return vec!["no profile".into()];
        };
        let catalog = self.scheduler.catalog();
        let says = |who: &str, reasons: &[Reason]| {
            let texts: Vec<_> = reasons.iter().map(|r| reason_text(r, catalog)).collect();
            let code = Code::worst(reasons).unwrap_or(Code::Error);
            format!("{who} {}: {}", code_word(code), texts.join(", ")).trim_start().to_owned()
        };
        if let Some((plugin, reason)) = judgement.refusal {
            return vec![format!("refused {}", says(plugin, &[reason]))];
        }
        let verdict = |verdict: NodeJudgement| match verdict {
            NodeJudgement::Unfit(plugin, reasons) => says(plugin, &reasons),
            NodeJudgement::Fits(Merits { scores, is_last_resort }) => {
                let points = |score: i32| points(score, judgement.per_point);
                let parts =
                    scores.iter().map(|(name, score)| format!(" {name}={}", points(*score)));
                let last = if is_last_resort { " as a last resort" } else { "" };
                format!("fits{}{last}", parts.collect::<String>())
            }
        };
        let nodes = judgement.nodes.into_iter();
        let mut lines: Vec<_> =
            nodes.map(|(node, v)| format!("{} {}", catalog.node_name(node), verdict(v))).collect();
        if let Some(preemption) = judgement.preemption {
            for (node, victims, violations) in preemption.candidates {
                let is_best = if node == preemption.node { "best" } else { "candidate" };
                let names: Vec<_> = victims.iter().map(|pod| &*catalog.pod(*pod).key.uid).collect();
                let against = match violations {
                    0 => String::new(),
                    _ => format!(", {violations} against a budget"),
                };
                let node = catalog.node_name(node);
                lines.push(format!("{is_best} {node}: {}{against}", names.join(", ")));
            }
        }
        lines.extend(judgement.fault.map(|reason| says("fault", &[reason])));
        lines
    }

    /// Tells what became of what a pod needs before it can be bound.
    fn write(&mut self, words: &[&str]) {
        let uid = words[1];
        let attempt = self.assumed(uid).expect("a pod that is prepared was sent").1;
        let versions = words[2..].iter().map(|it| it.parse().expect("a version")).collect();
        let uid = uid.into();
        let outcome = match words[0] {
            "written" => Outcome::Prepared { uid, attempt, versions },
            _ => Outcome::PrepareRefused { uid, attempt },
        };
        self.apply(&Event::Outcome(outcome));
    }

    fn given(&self, uid: &str) -> String {
        let pod = self.scheduler.catalog().find_pod(uid);
        let given = pod.and_then(|pod| self.scheduler.usage().assigned().of(pod));
        let Some((_, given)) = given else { return "nothing".into() };
        let text = |it: &Assignment| match &it.volume {
            Some(volume) => format!("{volume} for {}", it.claim),
            None => format!("a new one for {}", it.claim),
        };
        given.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    fn queue(&self) -> String {
        let counts = self.scheduler.waiting();
        let places = [
            ("active", counts.active),
            ("backoff", counts.backoff),
            ("parked", counts.parked),
            ("gated", counts.gated),
        ];
        let used = places.iter().filter(|(_, count)| *count > 0);
        let words: Vec<_> = used.map(|(place, count)| format!("{count} {place}")).collect();
        if words.is_empty() { "empty".into() } else { words.join(", ") }
    }

    fn profile(&self, uid: &str) -> String {
        let pod = self.scheduler.catalog().find_pod(uid).expect("a pod that is asked about");
        let Some(profile) = self.scheduler.profile(pod) else { return "not classified".into() };
        let preemptible = if profile.is_preemptible.value { ", preemptible" } else { "" };
        format!(
            "{} is {}: {}, {}{preemptible}",
            profile.tenant.value,
            profile.tier.value.word(),
            profile.workload.value.word(),
            profile.hardware.value.word(),
        )
    }

    fn load(&self, node: &str) -> String {
        let catalog = self.scheduler.catalog();
        let node = catalog.find_node(node).expect("a node whose load is asked for is there");
        let load = self.scheduler.usage().load(node);
        format!("{} pods, {}m cpu, {} memory", load.pods, load.cpu, load.memory)
    }

    fn next(&self) -> String {
        self.scheduler.next_wakeup().map_or("never".into(), |time| format!("{}ms", time.0))
    }
}

/// Objects that something happens to around nodes and pods.
const AROUND: [&str; 9] = [
    "namespace",
    "podgroup",
    "succeeded",
    "job",
    "localqueue",
    "clusterqueue",
    "nrt",
    "slice",
    "claim",
];

/// What happened to a namespace, its queues, a gang, or what drivers tell of devices.
fn around(words: &[&str], rest: &str) -> Event {
    match *words {
        ["namespace", ..] => Event::seen(namespace(rest)),
        ["gone", "namespace", name] => Event::gone(Kind::Namespace, name),
        ["localqueue", key, cluster_queue] => {
            let (namespace, name) = key.split_once('/').expect("namespace/name");
            let (namespace, name) = (namespace.into(), name.into());
            let facts = LocalQueueFacts { namespace, name, cluster_queue: cluster_queue.into() };
            Event::seen(facts)
        }
        // For all namespaces, for those with labels, or for none.
        ["clusterqueue", name] => cluster_queue(name, Some("")),
        ["clusterqueue", name, "nobodys"] => cluster_queue(name, None),
        ["clusterqueue", name, labels] => cluster_queue(name, Some(labels)),
        ["slice", name, ref words @ ..] => Event::seen(crate::devices::slice(name, words)),
        ["gone", "slice", name] => Event::gone(Kind::ResourceSlice, name),
        ["claim", key, ref words @ ..] => Event::seen(crate::devices::claim(key, words)),
        ["gone", "claim", key] => Event::gone(Kind::ResourceClaim, key),
        ["gone", "clusterqueue", name] => Event::gone(Kind::ClusterQueue, name),
        ["gone", "localqueue", key] => Event::gone(Kind::LocalQueue, key),
        ["podgroup", ..] => Event::seen(pod_group(rest)),
        ["gone", "podgroup", key] => Event::Gone(group_key(key).into()),
        ["job", uid, pods] => {
            Event::seen(JobFacts { uid: uid.into(), pods: pods.parse().expect("a number") })
        }
        ["gone", "job", uid] => Event::gone(Kind::Job, uid),
        ["nrt", ..] => Event::seen(node_resource_topology(rest)),
        ["gone", "nrt", node] => Event::gone(Kind::NodeResourceTopology, node),
        ["gone", "succeeded", uid] => Event::gone(Kind::Succeeded, uid),
        ["succeeded", uid, gang, ref more @ ..] => {
            let (uid, gang) = (uid.into(), gang.into());
            let namespace = "default".into();
            let mut facts = SucceededFacts { uid, namespace, gang, ..SucceededFacts::default() };
            more.iter().for_each(|word| crate::gangs::set_ended(&mut facts, word));
            Event::seen(facts)
        }
        _ => panic!("nothing happened by {words:?}"),
    }
}

fn cluster_queue(name: &str, labels: Option<&str>) -> Event {
    let selector = |labels: &str| match labels {
        "" => LabelSelector::default(),
        labels => crate::terms::selector(labels),
    };
    Event::seen(ClusterQueueFacts { name: name.into(), namespaces: labels.map(selector) })
}

/// A decision without what else was tried for the pod.
fn text(decision: &Decision, catalog: &Catalog) -> String {
    match decision {
        Decision::Bind { .. }
        | Decision::Prepare(_)
        | Decision::Unprepared { .. }
        | Decision::Preempt(_)
        | Decision::Disband(_)
        | Decision::Report(_) => full_text(decision, catalog),
        Decision::Wait(Waiting { pod, diagnosis }) => {
            let alone = Diagnosis { rescue: Rescue::NotAsked, ..(**diagnosis).clone() };
            full_text(&Decision::Wait(Waiting { pod: *pod, diagnosis: alone.into() }), catalog)
        }
    }
}

fn write_text(write: &Write) -> String {
    match write {
        Write::BindVolume { volume, claim, .. } => format!("{volume} for {}", claim.key()),
        Write::SelectNode { claim, node, .. } => format!("{node} for {}", claim.key()),
    }
}

fn full_text(decision: &Decision, catalog: &Catalog) -> String {
    match decision {
        Decision::Bind { pod, node, .. } => {
            format!("{} -> {}", catalog.pod(*pod).key.uid, catalog.node_name(*node))
        }
        Decision::Prepare(Preparation { pod, node, writes, .. }) => {
            let writes: Vec<_> = writes.iter().map(write_text).collect();
            let (uid, node) = (&catalog.pod(*pod).key.uid, catalog.node_name(*node));
            let writes = if writes.is_empty() { "nothing".into() } else { writes.join(", ") };
            format!("{uid} -> {node} after {writes}")
        }
        Decision::Unprepared { pod, why } => {
            format!("{} not bound: {}", catalog.pod(*pod).key.uid, unprepared_text(why))
        }
        Decision::Preempt(Preemption { pod, node, victims, outranked }) => {
            let names = |pods: &[PodId]| -> String {
                let names: Vec<_> = pods.iter().map(|pod| &*catalog.pod(*pod).key.uid).collect();
                names.join(", ")
            };
            let evicts = match &victims[..] {
                [] => "evicts nobody".into(),
                victims => format!("evicts {}", names(victims)),
            };
            let over = match &outranked[..] {
                [] => String::new(),
                outranked => format!(", before {}", names(outranked)),
            };
            let (uid, node) = (&catalog.pod(*pod).key.uid, catalog.node_name(*node));
            format!("{uid} on {node}: {evicts}{over}")
        }
        Decision::Disband(Disband { gang, evicted, bare }) => {
            let names = |pods: &[PodId]| -> String {
                let names: Vec<_> = pods.iter().map(|pod| &*catalog.pod(*pod).key.uid).collect();
                names.join(", ")
            };
            let gang = &catalog.gang(*gang).name;
            format!("gang {gang} disbands: evicts [{}], leaves [{}]", names(evicted), names(bare))
        }
        Decision::Report(GangReport { gang, state }) => {
            let gang = &catalog.gang(*gang).name;
            match state {
                GangState::Started => format!("gang {gang} started"),
                GangState::Degraded => format!("gang {gang} degraded"),
                GangState::Refused => format!("gang {gang} was refused"),
                GangState::Room(pods) => format!("gang {gang} has room kept for {pods}"),
                GangState::TimeoutsDiffer(least, most) => {
                    format!("gang {gang} has timeouts from {least} to {most}")
                }
                GangState::Waiting(diagnosis) => {
                    format!("gang {gang} waits: {}", message(diagnosis, catalog))
                }
            }
        }
        Decision::Wait(waiting) => {
            let uid = &catalog.pod(waiting.pod).key.uid;
            format!("{uid} waits: {}", message(&waiting.diagnosis, catalog))
        }
    }
}

fn millis(text: &str) -> Millis {
    let number = |text: &str| text.parse().expect("a span of time is 1s or 20ms");
    match text.strip_suffix("ms") {
        Some(text) => Millis(number(text)),
        None => Millis::seconds(number(text.trim_end_matches('s'))),
    }
}
