//! Decisions as Kubernetes objects and words.

mod binding;
mod condition;
mod profile;
mod reason;
mod record;

pub use binding::{Binding, binding};
pub use condition::{Condition, condition, message};
pub use profile::{ignored_text, source_text};
pub use reason::{code_word, reason_text};
pub use record::{
    DeleteOptions, EventRecord, Record, StatusChange, StatusPatch, cut_note, deletion,
    disruption_message, disruption_patch, event, nomination_patch, preempted_note, scheduled_note,
    status_patch,
};
