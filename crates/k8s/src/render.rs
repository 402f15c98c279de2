//! Decisions as Kubernetes objects and words.

mod binding;
mod condition;
mod group;
mod points;
mod profile;
mod reason;
mod record;
mod volume;

pub use binding::{Binding, binding};
pub use condition::{Condition, HELD, QUEUED, condition, message};
pub use group::{GroupCondition, GroupPatch, gang_note, group_patch, timeouts_note};
pub use points::points;
pub use profile::{ignored_text, source_text, tier_note, unread_text};
pub use reason::{code_word, reason_text};
pub use record::{
    DeleteOptions, Disruption, EventRecord, Record, Regarding, StatusChange, StatusPatch, cut_note,
    deletion, disruption_patch, event, nomination_patch, preempted_note, preemption,
    scheduled_note, status_patch, taken_back,
};
pub use volume::{VolumePatch, unprepared_text, volume_patch, written_version};
