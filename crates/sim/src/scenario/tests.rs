//! Scenarios as texts.
