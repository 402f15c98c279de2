//! What a pod says of the GPUs it wants, and why a node does not give it what it asks for.

use serde::{Deserialize, Serialize};

/// A whole GPU, in thousandths.
pub const WHOLE_MILLI: u16 = 1000;

/// What a pod says of the GPUs it wants, beside how many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GpuWish {
    /// Memory in bytes that each of its GPUs must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Memory in bytes that its GPUs must have together, in equal parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_total: Option<u64>,
    /// How much it uses of each of its GPUs, if it shares them with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<GpuShare>,
    /// What is wrong with what it asks for, so that it cannot be placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<GpuFault>,
}

/// A part of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GpuShare {
    /// In thousandths, from 10 to 1000.
    Milli(u16),
    /// So many bytes of its memory.
    Memory(u64),
}

/// Why a pod cannot have GPUs of a node, or of any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GpuFault {
    /// What it asks of their memory makes no sense; in words.
    InvalidMemory(Box<str>),
    /// What it asks of a part of a GPU makes no sense; in words.
    InvalidShare(Box<str>),
    /// It asks for a part of a GPU, and nothing on the node lets pods share one.
    NoSharing,
    /// It is not known how much memory the GPUs of the node have.
    MemoryUnknown,
    /// Too few GPUs of the node, all of one model, have as much memory as it asks for.
    MemoryTooSmall,
    /// Too few of those that do are free.
    NoneFree,
    /// Too few of those that do have as much left as it asks for.
    ShareFull,
}

impl GpuFault {
    /// The word that machines know it by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::InvalidMemory(_) => "InvalidVRAMRequest",
            Self::InvalidShare(_) => "InvalidGpuShare",
            Self::NoSharing => "NoGpuSharing",
            Self::MemoryUnknown => "GpuMemoryUnknown",
            Self::MemoryTooSmall => "GpuMemoryTooSmall",
            Self::NoneFree => "NoSuitableGpuFree",
            Self::ShareFull => "GpuShareFull",
        }
    }

    /// Whether what is asked for makes no sense, so that no node can help.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        match self {
            Self::InvalidMemory(_) | Self::InvalidShare(_) => true,
            Self::NoSharing
            | Self::MemoryUnknown
            | Self::MemoryTooSmall
            | Self::NoneFree
            | Self::ShareFull => false,
        }
    }

    /// Whether pods that leave the node could end it.
    #[must_use]
    pub fn is_about_load(&self) -> bool {
        match self {
            Self::NoneFree | Self::ShareFull => true,
            Self::InvalidMemory(_)
            | Self::InvalidShare(_)
            | Self::NoSharing
            | Self::MemoryUnknown
            | Self::MemoryTooSmall => false,
        }
    }
}
