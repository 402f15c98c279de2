//! Every plugin's rule by table, each asked by itself, and what all of them promise.

mod agreement;
mod filters;
mod guards;
mod resources;
mod scores;
