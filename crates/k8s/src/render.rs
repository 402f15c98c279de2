//! Decisions as Kubernetes objects and words.

mod binding;
mod condition;
mod reason;
mod record;

pub use binding::{Binding, binding};
pub use condition::{Condition, condition, message};
pub use reason::{code_word, reason_text};
pub use record::{
    EventRecord, Record, StatusChange, StatusPatch, cut_note, event, scheduled_note, status_patch,
};
