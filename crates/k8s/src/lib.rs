//! Kubernetes shapes, no network: objects to events, decisions to objects, and the configuration.

pub mod anonymise;
pub mod config;
pub mod document;
pub mod ingest;
pub mod manifest;
pub mod render;
