//! What will happen, by time. Things of one time happen in the order they were noted.

use std::collections::BTreeMap;

use model::Time;

/// All of it, next first.
pub(crate) struct Agenda<T> {
    entries: BTreeMap<(Time, u64), T>,
    noted: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), noted: 0 }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn add(&mut self, at: Time, happening: T) {
        self.noted += 1;
        self.entries.insert((at, self.noted), happening);
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next thing, if its time is `to` or before.
    pub(crate) fn take_until(&mut self, to: Time) -> Option<(Time, T)> {
        let first = self.entries.first_entry()?;
        let (at, _) = *first.key();
        (at <= to).then(|| (at, first.remove()))
    }

    /// Strikes out what will not happen after all.
    pub(crate) fn retain(&mut self, mut happens: impl FnMut(&T) -> bool) {
        self.entries.retain(|_, happening| happens(happening));
    }
}
