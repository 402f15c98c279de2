//! The agent as it is run: on machines from a text, beside a kubelet from a text, and on this one.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with a line number")]

mod guide;
mod kubelet;
mod library;
mod machines;
mod reader;
mod script;
mod tree;
