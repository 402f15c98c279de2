//! What the kubelet of the node does: its configuration, and which pod holds what.

pub mod config;
mod message;
pub mod pods;
pub mod resources;
