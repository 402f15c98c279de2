//! The values labels can have. All are known beforehand: a series costs memory for ever.

use std::borrow::Cow;

/// Names and values of the labels of a series.
pub(super) type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// A closed set of values of one label.
pub(super) trait Word: Copy + 'static {
    /// The values, at the positions of the variants.
    const WORDS: &'static [&'static str];

    /// The position of the variant.
    fn position(self) -> usize;
}

macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn position(self) -> usize {
                self as usize
            }
        }
    };
}

words! {
    /// How an attempt to schedule a pod ended.
    Attempt {
        /// A node was found and the pod was bound.
        Scheduled = "scheduled",
        /// No node can take it.
        Unschedulable = "unschedulable",
        /// It failed for a reason that is not the pod's.
        Error = "error",
    }
}

words! {
    /// Where a pod waits.
    Queue {
        /// To be tried.
        Active = "active",
        /// For some time after a failed attempt.
        Backoff = "backoff",
        /// For a change that might help.
        Unschedulable = "unschedulable",
        /// For its gates to be removed.
        Gated = "gated",
    }
}

words! {
    /// What the picture of the cluster holds.
    Cached {
        /// Nodes.
        Nodes = "nodes",
        /// Pods on nodes, assumed ones as well.
        Pods = "pods",
        /// Pods whose binding the API server has not confirmed.
        AssumedPods = "assumed_pods",
    }
}

words! {
    /// What the engine was told.
    Handled {
        /// A node is there.
        NodeAdd = "NodeAdd",
        /// A node changed.
        NodeUpdate = "NodeUpdate",
        /// A node is gone.
        NodeDelete = "NodeDelete",
        /// A pod that waits is there.
        UnscheduledPodAdd = "UnscheduledPodAdd",
        /// A pod that waits changed.
        UnscheduledPodUpdate = "UnscheduledPodUpdate",
        /// A pod that waited is gone, or has a node.
        UnscheduledPodDelete = "UnscheduledPodDelete",
        /// A pod on a node is there.
        AssignedPodAdd = "AssignedPodAdd",
        /// A pod on a node changed.
        AssignedPodUpdate = "AssignedPodUpdate",
        /// A pod on a node is gone.
        AssignedPodDelete = "AssignedPodDelete",
    }
}

words! {
    /// What became of a gang.
    GangResult {
        /// Enough of it is on nodes, for the first time.
        Scheduled = "scheduled",
        /// It lost pods that it needs.
        Degraded = "degraded",
        /// It could not be completed.
        TakenBack = "taken_back",
    }
}

words! {
    /// How an attempt to place the pods of a gang together ended.
    GangPlan {
        /// All that have to start together have a node.
        Placed = "placed",
        /// There is no room for them.
        Failed = "failed",
    }
}

words! {
    /// What became of a binding.
    BindOutcome {
        /// The pod has the node we chose.
        Bound = "bound",
        /// The API server said no.
        Refused = "refused",
        /// Nobody knows yet; the pod is read.
        Unknown = "unknown",
        /// The pod is gone, or has another node.
        Lost = "lost",
    }
}

/// Numbers of attempts a pod took; from the last on they are counted together.
pub(super) const ATTEMPTS: [&str; 15] =
    ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15+"];

/// The position of a number of attempts.
pub(super) fn attempts_position(attempts: u32) -> usize {
    let last = ATTEMPTS.len() - 1;
    usize::try_from(attempts).map_or(last, |attempts| attempts.saturating_sub(1).min(last))
}

/// The word for a method; those that are never sent share one.
pub(super) fn method_word(method: &http::Method) -> &'static str {
    const WORDS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
    WORDS.into_iter().find(|word| *word == method.as_str()).unwrap_or("OTHER")
}
