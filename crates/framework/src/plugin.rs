//! What every plugin has.

/// A plugin: a name, under which it is configured and by which it speaks.
pub trait Plugin: Send + Sync {
    /// The name it is registered under.
    fn name(&self) -> &'static str;
}
