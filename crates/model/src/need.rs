//! What a pod needs beyond a node with room for it.

use serde::{Deserialize, Serialize};

/// Something a pod asks for beyond a node with room for it. Where no plugin answers for it, the pod
/// waits with that reason: it must never be placed as if it had not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Need {
    /// Volumes that tie a pod to nodes: claims, ephemeral claims and in-tree disks.
    Volumes,
    /// Devices by resource claim.
    ResourceClaims,
}

/// A set of node features that a pod can require and a node can declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<String>", try_from = "Vec<String>")]
pub struct Features(u8);

impl Features {
    /// Names of the features that decide where a pod can run; others are ignored.
    const NAMES: [&'static str; 3] = [
        "RestartAllContainersOnContainerExits",
        "UserNamespacesHostNetworkSupport",
        "VolumeBindMountOptions",
    ];

    /// Containers that restart all others when they exit.
    pub const RESTART_ALL: Self = Self(1);
    /// User namespaces together with the host's network.
    pub const USER_NAMESPACE_HOST_NETWORK: Self = Self(2);
    /// Options for bind mounts of volumes.
    pub const BIND_MOUNT_OPTIONS: Self = Self(4);

    /// The features among `names` that matter.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let bits = names.into_iter().filter_map(|name| Self::NAMES.iter().position(|n| *n == name));
        bits.fold(Self::default(), |set, bit| Self(set.0 | 1 << bit))
    }

    /// The names of the features in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_in = move |(bit, _): &(usize, &&str)| self.0 & (1 << bit) != 0;
        Self::NAMES.iter().enumerate().filter(is_in).map(|(_, name)| *name)
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every feature of `self` is in `offered`.
    #[must_use]
    pub fn is_within(self, offered: Self) -> bool {
        self.0 & !offered.0 == 0
    }

    /// Whether no feature is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<Features> for Vec<String> {
    fn from(features: Features) -> Self {
        features.names().map(Into::into).collect()
    }
}

impl TryFrom<Vec<String>> for Features {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        match names.iter().find(|name| !Self::NAMES.contains(&name.as_str())) {
            Some(name) => Err(format!("unknown feature {name:?}")),
            None => Ok(Self::named(names.iter().map(String::as_str))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_by_name() {
        let offered = Features::named(["Other", "VolumeBindMountOptions"]);
        assert!(Features::BIND_MOUNT_OPTIONS.is_within(offered));
        assert!(!Features::RESTART_ALL.is_within(offered));
        assert!(Features::default().is_empty() && Features::named(["Other"]).is_empty());
        let both = Features::RESTART_ALL.with(Features::USER_NAMESPACE_HOST_NETWORK);
        let names = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"];
        assert_eq!(Features::named(names), both);
        assert_eq!(both.names().collect::<Vec<_>>(), names);
    }
}
