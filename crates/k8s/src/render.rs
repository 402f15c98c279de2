//! Decisions as Kubernetes objects and words.

mod binding;
mod condition;
mod reason;

pub use binding::{Binding, binding};
pub use condition::{Condition, condition, message};
pub use reason::{code_word, reason_text};
