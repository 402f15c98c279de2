//! Which parts of a pod's spec an answer depends on.

use std::ops::BitOr;

use model::PodSpec;

/// A set of parts of a pod's spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u8);

impl Parts {
    /// Everything.
    pub const ALL: Self = Self(u8::MAX);
    /// The node it names.
    pub const TARGET: Self = Self(1);
    /// Labels and terms that its node must match.
    pub const REQUIRED: Self = Self(1 << 1);
    /// Terms that make a node better.
    pub const PREFERRED: Self = Self(1 << 2);
    /// Taints that do not keep it away.
    pub const TOLERATIONS: Self = Self(1 << 3);
    /// Images it starts.
    pub const IMAGES: Self = Self(1 << 4);
    /// Features its node must declare.
    pub const FEATURES: Self = Self(1 << 5);
    /// What it asks for beyond a node with room for it.
    pub const NEEDS: Self = Self(1 << 6);
    /// How it is spread.
    pub const SPREAD: Self = Self(1 << 7);

    /// A spec of which only these parts and the scheduler are left.
    #[must_use]
    pub fn of(self, spec: &PodSpec) -> PodSpec {
        if self == Self::ALL {
            return spec.clone();
        }
        let has = |part: Self| self.0 & part.0 != 0;
        let mut left = PodSpec { scheduler: spec.scheduler.clone(), ..PodSpec::default() };
        if has(Self::TARGET) {
            left.target.clone_from(&spec.target);
        }
        if has(Self::REQUIRED) {
            left.node_selector.clone_from(&spec.node_selector);
            left.required.clone_from(&spec.required);
        }
        if has(Self::PREFERRED) {
            left.preferred.clone_from(&spec.preferred);
        }
        if has(Self::TOLERATIONS) {
            left.tolerations.clone_from(&spec.tolerations);
        }
        if has(Self::IMAGES) {
            left.images.clone_from(&spec.images);
        }
        if has(Self::FEATURES) {
            left.features = spec.features;
        }
        if has(Self::NEEDS) {
            left.needs.clone_from(&spec.needs);
        }
        if has(Self::SPREAD) {
            left.spread.clone_from(&spec.spread);
        }
        left
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
