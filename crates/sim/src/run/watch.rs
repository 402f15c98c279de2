//! A watch of one kind: shows every change after a while, and never one before an earlier one.
//!
//! When it is cut, what was on its way is lost. Some time later everything is listed, which ends
//! with that it was everything, and changes are shown from there on.

use std::collections::VecDeque;
use std::sync::Arc;

use model::{Event, Time};

/// One watch of one scheduler.
#[derive(Default)]
pub(crate) struct Watch {
    /// What is on its way, with its time and the version of the API server it belongs to.
    coming: VecDeque<(Time, u64, Arc<Event>)>,
    /// The version up to which everything was shown.
    seen: u64,
    is_cut: bool,
    has_listed: bool,
}

impl Watch {
    /// A watch that has shown nothing: a list has to come first.
    pub(crate) fn unlisted() -> Self {
        Self { is_cut: true, ..Self::default() }
    }

    /// A watch of something that is not there, and never will be.
    pub(crate) fn idle() -> Self {
        Self { has_listed: true, ..Self::default() }
    }

    /// Sends a change on its way.
    pub(crate) fn send(&mut self, event: Arc<Event>, version: u64, at: Time) {
        if !self.is_cut {
            self.push(event, version, at);
        }
    }

    /// Loses what is on its way, and everything until the next list.
    pub(crate) fn cut(&mut self) {
        self.coming.clear();
        self.is_cut = true;
    }

    /// Sends a list of everything on its way.
    pub(crate) fn list(&mut self, events: Vec<Arc<Event>>, version: u64, at: Time) {
        self.is_cut = false;
        // Before its last part a list has not shown anything for certain.
        let (before, last) = (self.seen, events.len() - 1);
        for (number, event) in events.into_iter().enumerate() {
            self.push(event, if number == last { version } else { before }, at);
        }
    }

    /// Sends a part of a list on its way: what is not in it may still be there, and what changes
    /// is not shown before a whole one.
    pub(crate) fn list_part(&mut self, events: Vec<Arc<Event>>, at: Time) {
        let seen = self.seen;
        events.into_iter().for_each(|event| self.push(event, seen, at));
    }

    fn push(&mut self, event: Arc<Event>, version: u64, at: Time) {
        let earliest = self.coming.back().map_or(at, |(before, ..)| at.max(*before));
        self.coming.push_back((earliest, version, event));
    }

    /// When it shows something next.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.coming.front().map(|(at, ..)| *at)
    }

    /// What it shows next, if the time has come.
    pub(crate) fn take_until(&mut self, to: Time) -> Option<Arc<Event>> {
        self.coming.front().filter(|(at, ..)| *at <= to)?;
        let (_, version, event) = self.coming.pop_front()?;
        self.seen = self.seen.max(version);
        self.has_listed |= matches!(*event, Event::Listed(..));
        Some(event)
    }

    /// Whether it has listed everything once.
    pub(crate) fn has_listed(&self) -> bool {
        self.has_listed
    }

    /// The version up to which everything was shown.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use model::{Kind, Present};

    use super::*;

    fn gone(name: &str) -> Arc<Event> {
        Arc::new(Event::gone(Kind::Node, name))
    }

    fn shown(watch: &mut Watch, to: u64) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(event) = watch.take_until(Time(to)) {
            match &*event {
                Event::Gone(key) => names.push(key.name.to_string()),
                Event::Seen(_) | Event::Listed(..) | Event::Outcome(_) => names.push("?".into()),
            }
        }
        names
    }

    #[test]
    fn a_later_change_is_never_shown_before_an_earlier_one() {
        let mut watch = Watch::default();
        watch.send(gone("slow"), 1, Time(50));
        watch.send(gone("fast"), 2, Time(10));
        assert_eq!((watch.next_at(), shown(&mut watch, 49).len()), (Some(Time(50)), 0));
        assert_eq!(shown(&mut watch, 50), ["slow", "fast"]);
        assert_eq!(watch.seen(), 2);
    }

    #[test]
    fn a_cut_loses_what_is_on_its_way_and_a_list_makes_up_for_it() {
        let mut watch = Watch::default();
        watch.send(gone("lost"), 1, Time(5));
        watch.cut();
        watch.send(gone("missed"), 2, Time(6));
        assert_eq!(shown(&mut watch, 100).len(), 0);
        assert!(!watch.has_listed());
        let all = Arc::new(Event::Listed(Kind::Node, Present::Names(Default::default())));
        watch.list(vec![gone("listed"), all], 3, Time(110));
        watch.send(gone("after"), 4, Time(105));
        watch.take_until(Time(110));
        assert_eq!(watch.seen(), 0, "a list counts when it is complete");
        assert_eq!(shown(&mut watch, 110).len(), 2);
        assert_eq!((watch.seen(), watch.has_listed()), (4, true));
    }

    #[test]
    fn a_list_that_breaks_off_shows_its_part_and_settles_nothing() {
        let mut watch = Watch::unlisted();
        watch.list_part(vec![gone("part")], Time(10));
        watch.send(gone("missed"), 1, Time(11));
        assert_eq!(shown(&mut watch, 100), ["part"]);
        assert_eq!((watch.seen(), watch.has_listed()), (0, false));
    }
}
