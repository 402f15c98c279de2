//! What goes out: bindings, and why a pod has to wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{GangId, NodeId, PodId, ResourceId};
use crate::reason::Reason;
use crate::time::Time;
use crate::volume::ClaimRef;

/// Numbers the attempts of a scheduler, so that late answers are recognised.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Attempt(pub u64);

/// Something the shell has to carry out.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Bind the pod to the node. The engine already counts it there.
    Bind {
        /// Which pod.
        pod: PodId,
        /// To which node.
        node: NodeId,
        /// To be given back with the outcome.
        attempt: Attempt,
        /// How often its unit was tried, this time included.
        tries: u32,
        /// When its unit could first be tried: the start of what its owner waits for.
        arrived: Time,
    },
    /// Write what the pod needs before it can be bound, in this order, and tell what came of it.
    Prepare(Preparation),
    /// What the pod needed before it could be bound did not come about: it is on no node, and is
    /// tried again. Tell its owner.
    Unprepared {
        /// Which pod.
        pod: PodId,
        /// Why.
        why: Unprepared,
    },
    /// Evict pods so that another one finds room.
    Preempt(Preemption),
    /// The pod has to wait; tell its owner why.
    Wait(Waiting),
    /// A gang has some of its pods on nodes, and no room for the others: take these back.
    Disband(Disband),
    /// Something is different about a gang; tell its owner.
    Report(GangReport),
}

/// What a pod needs before it can be bound.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// Which pod.
    pub pod: PodId,
    /// To which node it goes.
    pub node: NodeId,
    /// To be given back with the outcome.
    pub attempt: Attempt,
    /// What is to be written, one after the other; the first refusal ends it.
    pub writes: Vec<Write>,
}

/// Something that is written before a pod is bound. What the API server accepted stays, whatever
/// becomes of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A volume is for a claim.
    BindVolume {
        /// The volume, by name.
        volume: Box<str>,
        /// The uid of the volume.
        uid: Box<str>,
        /// The state of the volume that this is about.
        version: Box<str>,
        /// The claim.
        claim: ClaimRef,
    },
    /// A volume is to be made for a claim where a node can use it.
    SelectNode {
        /// The claim.
        claim: ClaimRef,
        /// The state of the claim that this is about.
        version: Box<str>,
        /// The node, by name.
        node: Box<str>,
    },
}

/// Why a pod could not be bound after something was written for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unprepared {
    /// Its volumes did not come in time.
    TimedOut,
    /// The node is gone.
    NodeGone(Box<str>),
    /// A claim is gone; its name.
    ClaimGone(Box<str>),
    /// A volume is gone; its name.
    VolumeGone(Box<str>),
    /// A volume is not for the claim any more; its name.
    Unclaimed(Box<str>),
    /// Whoever makes volumes gave the node back; the name of the claim.
    NotMade(Box<str>),
    /// A volume cannot be used from the node.
    NodeConflict {
        /// The volume.
        volume: Box<str>,
        /// The node.
        node: Box<str>,
    },
}

/// A gang that cannot be completed.
#[derive(Clone, Debug)]
pub struct Disband {
    /// Which gang.
    pub gang: GangId,
    /// Pods to delete, which their controller makes again. Each failure is to be told.
    pub evicted: Vec<PodId>,
    /// Pods that nobody would make again, and which stay.
    pub bare: Vec<PodId>,
}

/// What is different about a gang.
#[derive(Clone, Debug)]
pub struct GangReport {
    /// Which gang.
    pub gang: GangId,
    /// How it is now.
    pub state: GangState,
}

/// How a gang is.
#[derive(Clone, Debug)]
pub enum GangState {
    /// Enough of its pods are on nodes, for the first time.
    Started,
    /// It has fewer pods on nodes than it needs, after it had enough.
    Degraded,
    /// Room is kept for this many pods that another one of it is to make; for none any more.
    Room(usize),
    /// A binding was refused, and there is no other node: it is tried there again, later.
    Refused,
    /// Its pods say different times for which it may be incomplete, in seconds: the least and the
    /// most. The most counts.
    TimeoutsDiffer(u32, u32),
    /// It has to wait.
    Waiting(Arc<Diagnosis>),
}

/// Pods that have to go for another one.
#[derive(Clone, Debug)]
pub struct Preemption {
    /// The pod that finds room then. The engine already proposes the node for it.
    pub pod: PodId,
    /// On which node.
    pub node: NodeId,
    /// The pods to evict, the most important first. Each failure is to be told.
    pub victims: Vec<PodId>,
    /// Less important pods for which the node is not proposed any more.
    pub outranked: Vec<PodId>,
}

/// A pod that has to wait.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which pod.
    pub pod: PodId,
    /// Why.
    pub diagnosis: Arc<Diagnosis>,
}

/// Why no node would take a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Diagnosis {
    /// How many nodes there are.
    pub nodes: usize,
    /// The reason that speaks for all nodes, if the pod was turned away before any was looked at.
    pub rejection: Option<Reason>,
    /// How many nodes gave which reason, each reason once.
    pub counts: Vec<(Reason, usize)>,
    /// What else was tried for the pod.
    pub rescue: Rescue,
    /// What is missing for its gang, if it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
}

impl Diagnosis {
    /// The same diagnosis where resources have other numbers; nothing if one has none.
    #[must_use]
    pub fn renumbered(
        self,
        number: &mut impl FnMut(ResourceId) -> Option<ResourceId>,
    ) -> Option<Self> {
        let Self { nodes, rejection, counts, rescue, shortfall } = self;
        let rejection = match rejection {
            Some(reason) => Some(reason.renumbered(number)?),
            None => None,
        };
        let counts = renumbered(counts, number)?;
        let rescue = match rescue {
            Rescue::NoCandidates { without_victims, counts, considered } => {
                let counts = renumbered(counts, number)?;
                Rescue::NoCandidates { without_victims, counts, considered }
            }
            Rescue::NotAsked
            | Rescue::Silent
            | Rescue::ClaimsUnknown
            | Rescue::NotPreempting
            | Rescue::NoVictims(_)
            | Rescue::VictimsLeaving
            | Rescue::Preempts { .. } => rescue,
        };
        Some(Self { nodes, rejection, counts, rescue, shortfall })
    }
}

fn renumbered(
    counts: Vec<(Reason, usize)>,
    number: &mut impl FnMut(ResourceId) -> Option<ResourceId>,
) -> Option<Vec<(Reason, usize)>> {
    let counts = counts.into_iter().map(|(reason, n)| Some((reason.renumbered(number)?, n)));
    counts.collect()
}

/// What becomes of pods of a gang that are on nodes when its time is over and it is not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnPartialFailure {
    /// Those that a controller makes again are evicted; the others stay.
    #[default]
    EvictBound,
    /// All stay, and the rest is tried on.
    Requeue,
}

impl OnPartialFailure {
    /// What configurations say.
    pub const WORDS: [(&'static str, Self); 2] =
        [("evictBound", Self::EvictBound), ("requeue", Self::Requeue)];

    /// What configurations say of it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::EvictBound => "evictBound",
            Self::Requeue => "requeue",
        }
    }
}

/// Why a gang cannot be placed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shortfall {
    /// The gang's name.
    pub gang: Box<str>,
    /// How many have to start together.
    pub min: u32,
    /// For how many there is room, those included that are on nodes.
    pub fitting: u32,
    /// The first pod for which there is none: the diagnosis is about it.
    pub member: Box<str>,
    /// What would help.
    pub outlook: Outlook,
}

/// What would help a gang that cannot be placed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outlook {
    /// It is not known.
    #[default]
    Unknown,
    /// Nothing: it would not fit if all nodes were empty and open.
    Never,
    /// No way to fit it was found, and not every way was tried.
    NotFound,
    /// It would fit if nodes were open that are closed to its pods by a cordon or by taints.
    WhenOpen {
        /// The first of these nodes by name.
        nodes: Box<[Box<str>]>,
        /// How many there are beyond those.
        more: usize,
        /// How many nodes must be free beside that.
        free: usize,
    },
    /// It would fit if all less important pods were evicted.
    AfterPreemption,
    /// It would fit if this many nodes were free.
    WhenFree(usize),
}

/// What came of asking who could help a pod that fits nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rescue {
    /// Nobody is asked in such a case.
    // Journals of versions that evicted nobody have the other word.
    #[default]
    #[serde(alias = "NotSupported")]
    NotAsked,
    /// Somebody is asked, and says nothing.
    Silent,
    /// Whoever could give up claims of the pod never came to look at them.
    ClaimsUnknown,
    /// The pod does not want others to be evicted for it.
    NotPreempting,
    /// Evicting does not help: on this many nodes nobody is less important than the pod, and on
    /// the others no room would be of use.
    NoVictims(usize),
    /// Evicting does not help, though there are less important pods.
    NoCandidates {
        /// On how many nodes nobody is less important than the pod.
        without_victims: usize,
        /// Why the pod does not even fit without those who are: how many nodes give which reason.
        counts: Vec<(Reason, usize)>,
        /// On how many nodes evicting was considered.
        considered: usize,
    },
    /// Pods on the node that is proposed for the pod are leaving for its sake already.
    VictimsLeaving,
    /// Pods are evicted for it.
    Preempts {
        /// From this node.
        node: Box<str>,
        /// How many, those included that are leaving anyway.
        victims: usize,
    },
}

impl Rescue {
    /// Whether others are leaving for the pod.
    #[must_use]
    pub fn is_making_room(&self) -> bool {
        matches!(self, Self::Preempts { .. } | Self::VictimsLeaving)
    }
}

impl Diagnosis {
    /// All reasons that keep the pod waiting.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.rejection.iter().chain(self.counts.iter().map(|(reason, _)| reason))
    }

    /// The words of these reasons, each once.
    #[must_use]
    pub fn words(&self) -> BTreeSet<&'static str> {
        self.reasons().map(Reason::word).collect()
    }

    /// All reasons whose end could help the pod: also those for which evicting does not help.
    #[must_use]
    pub fn curable(&self) -> BTreeSet<&Reason> {
        let hopeless: &[(Reason, usize)] = match &self.rescue {
            Rescue::NoCandidates { counts, .. } => counts,
            Rescue::NotAsked
            | Rescue::Silent
            | Rescue::ClaimsUnknown
            | Rescue::NotPreempting
            | Rescue::NoVictims(_)
            | Rescue::VictimsLeaving
            | Rescue::Preempts { .. } => &[],
        };
        self.reasons().chain(hopeless.iter().map(|(reason, _)| reason)).collect()
    }

    /// Whether a node that was proposed for the pod is not proposed any more.
    #[must_use]
    pub fn ends_nomination(&self) -> bool {
        match self.rescue {
            Rescue::NotAsked | Rescue::NoVictims(_) | Rescue::NoCandidates { .. } => true,
            Rescue::Silent
            | Rescue::ClaimsUnknown
            | Rescue::NotPreempting
            | Rescue::VictimsLeaving
            | Rescue::Preempts { .. } => false,
        }
    }
}
