//! Taints of nodes and tolerations of pods.

use serde::{Deserialize, Serialize};

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// Keeps new pods away.
    NoSchedule,
    /// Keeps new pods away if there is room elsewhere.
    PreferNoSchedule,
    /// Keeps new pods away and makes running ones leave.
    NoExecute,
    /// Something this version does not know. It keeps nobody away, and matches nothing.
    Unknown,
}

/// How a toleration compares values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operator {
    /// The values must be equal.
    Equal,
    /// Any value will do.
    Exists,
    /// Numeric comparison, which is switched off in this version of Kubernetes, or an operator
    /// that is not known: tolerates nothing.
    Never,
}

/// A mark on a node. `S` is a string in facts, a symbol in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint<S> {
    /// Its name.
    pub key: S,
    /// Its value, possibly empty.
    pub value: S,
    /// What it does.
    pub effect: Effect,
}

/// A pod's statement that a taint does not keep it away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toleration<S> {
    /// The key it is about; none means every key.
    pub key: Option<S>,
    /// The value it is compared with.
    pub value: S,
    /// How it is compared.
    pub operator: Operator,
    /// The effect it is about; none means every effect.
    pub effect: Option<Effect>,
}

impl<S: PartialEq> Toleration<S> {
    /// Whether this toleration covers `taint`.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint<S>) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if self.key.as_ref().is_some_and(|key| *key != taint.key) {
            return false;
        }
        match self.operator {
            Operator::Equal => self.value == taint.value,
            Operator::Exists => true,
            Operator::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: &str, effect: Effect) -> Taint<String> {
        Taint { key: key.into(), value: value.into(), effect }
    }

    #[test]
    fn tolerations_by_table() {
        use Effect::{NoExecute, NoSchedule};
        let gpu = taint("gpu", "a100", NoSchedule);
        // (key, value, operator, effect, tolerates)
        let table = [
            (Some("gpu"), "a100", Operator::Equal, Some(NoSchedule), true),
            (Some("gpu"), "a100", Operator::Equal, None, true),
            (Some("gpu"), "h100", Operator::Equal, None, false),
            (Some("gpu"), "", Operator::Exists, None, true),
            (Some("cpu"), "", Operator::Exists, None, false),
            (None, "", Operator::Exists, None, true),
            (None, "a100", Operator::Equal, None, true),
            (Some("gpu"), "", Operator::Exists, Some(NoExecute), false),
            (Some("gpu"), "a100", Operator::Never, None, false),
        ];
        for (key, value, operator, effect, expected) in table {
            let toleration =
                Toleration { key: key.map(String::from), value: value.into(), operator, effect };
            assert_eq!(toleration.tolerates(&gpu), expected, "{toleration:?}");
        }
    }
}
