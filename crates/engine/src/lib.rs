//! Mechanism: events in, decisions out
