//! Every plugin's rule by table, each asked by itself, and what all of them promise.

mod agreement;
mod classifier;
mod default_spread;
mod filters;
mod guards;
mod resources;
mod scores;
mod spread;
mod workloads;
