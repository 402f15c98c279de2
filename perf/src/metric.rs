//! What can be measured, and named in figures and thresholds.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Something that is measured at one size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Metric {
    /// Pods placed, or listed in a restart, per second of the measured step.
    PodsPerSecond,
    /// Decisions per second, of which some are that a pod has to wait.
    DecisionsPerSecond,
    /// Microseconds per pod: the whole measured step, shared between its pods.
    UsPerPod,
    /// From one decision about a pod of the measured step to the next, in microseconds: half of
    /// them take no longer.
    UsP50,
    /// The same: one in a hundred takes longer.
    UsP99,
    /// The same as the time that the thread was on a core. It is measured where it is asked for,
    /// because asking costs more than a clock does.
    CoreUsP99,
    /// The longest that it took to decide about one unit, a pod or a gang, in milliseconds on a
    /// core, without the writing of its decisions. It is measured where it is asked for.
    LongestMs,
    /// Decisions about pods of earlier steps, per pod of the measured step.
    RetriesPerPod,
    /// Tries of pods of earlier steps, per such pod that was placed. Pods that were told what was
    /// found for another one were not tried.
    TriesPerCure,
    /// Seconds of a restart, up to the first binding.
    Seconds,
    /// Time of a restart, divided by the time to read the same text and keep nothing of it.
    OverBareRead,
    /// Pods per second, divided by those of the baseline.
    RateOverBaseline,
    /// Decisions per second, divided by those of the baseline.
    DecisionsOverBaseline,
    /// The highest hundredth of the times per pod, divided by that of the baseline.
    P99OverBaseline,
    /// Microseconds per pod, divided by those of the first size.
    CostOverFirstSize,
    /// Pods per second of kube-scheduler with every node scored.
    PeerAllScored,
    /// Pods per second of kube-scheduler with its default sampling of nodes.
    PeerDefaultSampling,
    /// Pods per second by the clock, divided by kube-scheduler's with every node scored.
    TimesFasterAllScored,
    /// The same with its default sampling of nodes.
    TimesFasterDefaultSampling,
    /// Resident memory that nodes take.
    BytesPerNode,
    /// Resident memory that pods take, with all that is kept to place them.
    BytesPerPod,
    /// Resident memory of the whole process at the end, in MiB.
    Mebibytes,
}

/// Values of one size.
pub(crate) type Measured = BTreeMap<Metric, f64>;

impl Metric {
    /// As files spell it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::PodsPerSecond => "podsPerSecond",
            Self::DecisionsPerSecond => "decisionsPerSecond",
            Self::UsPerPod => "usPerPod",
            Self::UsP50 => "usP50",
            Self::UsP99 => "usP99",
            Self::CoreUsP99 => "coreUsP99",
            Self::LongestMs => "longestMs",
            Self::RetriesPerPod => "retriesPerPod",
            Self::TriesPerCure => "triesPerCure",
            Self::Seconds => "seconds",
            Self::OverBareRead => "overBareRead",
            Self::RateOverBaseline => "rateOverBaseline",
            Self::DecisionsOverBaseline => "decisionsOverBaseline",
            Self::P99OverBaseline => "p99OverBaseline",
            Self::CostOverFirstSize => "costOverFirstSize",
            Self::PeerAllScored => "peerAllScored",
            Self::PeerDefaultSampling => "peerDefaultSampling",
            Self::TimesFasterAllScored => "timesFasterAllScored",
            Self::TimesFasterDefaultSampling => "timesFasterDefaultSampling",
            Self::BytesPerNode => "bytesPerNode",
            Self::BytesPerPod => "bytesPerPod",
            Self::Mebibytes => "mebibytes",
        }
    }

    /// As many digits as say something.
    pub(crate) fn show(self, value: f64) -> String {
        let digits = if value >= 1000.0 { 0 } else { 2 };
        format!("{value:.digits$}")
    }
}

/// The value in the middle; not a number if there is none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
