//! The lines of a segment.
//!
//! What was ever written stays readable: a field that is added has a default, one that is renamed
//! keeps its old name as an alias, and `tests/format.rs` reads a segment of every format. A field
//! or variant that is not known is an error: it was written by a later version, and leaving it out
//! would replay something else.

use engine::Checkpoint;
use model::{Attempt, Catalog, Disband, Event, NodeId, PodId, PodSpec, Preemption, Time, Waiting};
use serde::{Deserialize, Serialize};

/// The format that is written. It grows when a reader of before would misunderstand it.
pub const FORMAT: u32 = 2;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A part of the checkpoint.
    Checkpoint(Box<Checkpoint>),
    /// The checkpoint is complete.
    Begin,
    /// What follows refers to this spec by its number, until the number is given again.
    Spec(u32, Box<PodSpec>),
    /// An event was applied.
    Applied {
        at: Time,
        /// What the clock on the wall says, in milliseconds since 1970, if it is not what it said
        /// at the start and the time since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wall: Option<u64>,
        /// The number of the spec of the pod that the event is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<u32>,
        event: Event,
    },
    /// The same was applied to a node or pod as the last time.
    Again {
        at: Time,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wall: Option<u64>,
        of: Again,
    },
    /// The engine decided about the unit whose turn it was.
    Stepped { at: Time, decisions: Vec<Decided> },
    /// The last line.
    End(End),
}

/// What an event is about that says nothing else than the last time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Again {
    /// A node, by name.
    Node(Box<str>),
    /// A pod, by uid.
    Pod(Box<str>),
}

/// What a segment begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format of the segment.
    pub format: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// When the engine's time was zero, in milliseconds since 1970. Segments of one run share it.
    pub started_unix_ms: u64,
    /// The engine's time at the checkpoint.
    pub at: Time,
    /// Why the segment was begun.
    pub cause: Cause,
    /// Choices of the engine.
    pub options: engine::Options,
    /// The configuration, a KubeSchedulerConfiguration.
    pub config: serde_json::Value,
}

/// Why a segment is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A scheduler started.
    Start,
    /// The one before was large enough.
    Rotation,
    /// Some records before it could not be written.
    Gap,
}

/// How a segment ends in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The next segment goes on without a gap.
    Rotated,
    /// The scheduler ended.
    Closed,
    /// Records that follow could not be written.
    Gap,
}

/// A decision, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Decided {
    /// A pod goes to a node.
    Bind {
        /// The pod's uid.
        uid: Box<str>,
        /// The node's name.
        node: Box<str>,
        /// Which attempt it is.
        attempt: Attempt,
    },
    /// Pods have to go for another one.
    Preempt {
        /// The uid of the pod they go for.
        uid: Box<str>,
        /// The node that is proposed for it.
        node: Box<str>,
        /// The uids of the pods that go.
        victims: Vec<Box<str>>,
        /// The uids of the pods for which the node is not proposed any more.
        outranked: Vec<Box<str>>,
    },
    /// A gang that was not completed is taken back.
    Disband {
        /// The uid of a pod of it.
        uid: Box<str>,
        /// Its namespace and name, with a slash between them.
        gang: Box<str>,
        /// The uids of the pods that go.
        evicted: Vec<Box<str>>,
    },
    /// A pod has to wait.
    Wait {
        /// The pod's uid.
        uid: Box<str>,
        /// What its owner is told.
        message: Box<str>,
        /// The words of its reasons, each once. Segments of before have none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        codes: Vec<Box<str>>,
    },
}

impl Decided {
    /// That a pod goes to a node.
    #[must_use]
    pub fn bind(catalog: &Catalog, pod: PodId, node: NodeId, attempt: Attempt) -> Self {
        let uid = catalog.pod(pod).key.uid.clone();
        Self::Bind { uid, node: catalog.node_name(node).into(), attempt }
    }

    /// That pods have to go for another one.
    #[must_use]
    pub fn preempt(catalog: &Catalog, preemption: &Preemption) -> Self {
        let uid = |pod: &PodId| catalog.pod(*pod).key.uid.clone();
        let Preemption { pod, node, victims, outranked } = preemption;
        Self::Preempt {
            uid: uid(pod),
            node: catalog.node_name(*node).into(),
            victims: victims.iter().map(uid).collect(),
            outranked: outranked.iter().map(uid).collect(),
        }
    }

    /// That a gang is taken back.
    #[must_use]
    pub fn disband(catalog: &Catalog, disband: &Disband) -> Self {
        let gang = catalog.gang(disband.gang);
        let uid = |pod: &PodId| catalog.pod(*pod).key.uid.clone();
        let first = disband.evicted.iter().chain(&disband.bare).map(uid).next();
        let evicted = disband.evicted.iter().map(uid).collect();
        let gang = format!("{}/{}", gang.namespace, gang.name).into();
        Self::Disband { uid: first.unwrap_or_default(), gang, evicted }
    }

    /// That a pod has to wait, and what its owner is told.
    #[must_use]
    pub fn wait(catalog: &Catalog, waiting: &Waiting, message: &str) -> Self {
        let codes = waiting.diagnosis.words().into_iter().map(Into::into).collect();
        let uid = catalog.pod(waiting.pod).key.uid.clone();
        Self::Wait { uid, message: message.into(), codes }
    }

    /// Whether two decisions come to the same. The codes of a wait say no more than its message
    /// does, and are not in all segments.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        if let Self::Wait { uid, message, .. } = self
            && let Self::Wait { uid: whom, message: told, .. } = other
        {
            return (uid, message) == (whom, told);
        }
        self == other
    }

    /// Whom it is about.
    #[must_use]
    pub fn uid(&self) -> &str {
        match self {
            Self::Bind { uid, .. }
            | Self::Preempt { uid, .. }
            | Self::Disband { uid, .. }
            | Self::Wait { uid, .. } => uid,
        }
    }
}

impl Line {
    /// Adds the line to a block.
    pub(crate) fn write(&self, block: &mut Vec<u8>) {
        serde_json::to_writer(&mut *block, self).expect("records are plain data");
        block.push(b'\n');
    }
}
