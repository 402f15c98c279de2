//! Puts random machines, and pods that come and go on them, before the predictions of
//! `model::topology` and before the kubelet's own code, and compares what becomes of the pods.

pub mod case;
pub mod compare;
pub mod generate;
pub mod ours;
pub mod shrink;
pub mod tally;
