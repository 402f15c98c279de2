//! What was said before in a segment, so that it need not be said again.

use std::collections::BTreeSet;

use model::{Event, Fact, Key, Kind, Map, PodSpec, Time, hash_of};

use crate::line::{Again, Line};

/// Specs that are remembered; beyond it, numbers are given anew.
const SPECS_MAX: usize = 4096;

/// What the reader of a segment knows at its end.
#[derive(Debug, Default)]
pub(super) struct Said {
    specs: Map<PodSpec, u32>,
    /// The hash of the last event about a node or pod, by the hash of its name or uid. Two events
    /// that differ and have the same hash would be taken for one: one chance in 2^64 each time.
    nodes: Map<u64, u64>,
    pods: Map<u64, u64>,
}

impl Said {
    /// Writes an event into a block.
    pub(super) fn write(
        &mut self,
        (at, wall): (Time, Option<u64>),
        event: Event,
        block: &mut Vec<u8>,
    ) {
        let mut spec = None;
        let mut event = event;
        match &mut event {
            Event::Seen(Fact::Node(facts)) => {
                let (name, hash) = (hash_of(&facts.name), hash_of(facts));
                if self.nodes.insert(name, hash) == Some(hash) {
                    let of = Again::Node(std::mem::take(&mut facts.name).into());
                    return Line::Again { at, wall, of }.write(block);
                }
            }
            Event::Seen(Fact::Pod(facts)) => {
                let (uid, hash) = (hash_of(&facts.key.uid), hash_of(facts));
                if self.pods.insert(uid, hash) == Some(hash) {
                    let of = Again::Pod(std::mem::take(&mut facts.key.uid));
                    return Line::Again { at, wall, of }.write(block);
                }
                spec = Some(self.number(std::mem::take(&mut facts.spec), block));
            }
            Event::Gone(Key { kind: Kind::Node, name }) => _ = self.nodes.remove(&hash_of(name)),
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => _ = self.pods.remove(&hash_of(uid)),
            Event::Listed(Kind::Pod, present) => {
                let there: BTreeSet<_> = present.names().iter().map(hash_of).collect();
                self.pods.retain(|uid, _| there.contains(uid));
            }
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
        Line::Applied { at, wall, spec, event }.write(block);
    }

    /// The number of a spec, which is written if it was not yet.
    fn number(&mut self, spec: PodSpec, block: &mut Vec<u8>) -> u32 {
        if let Some(number) = self.specs.get(&spec) {
            return *number;
        }
        if self.specs.len() == SPECS_MAX {
            self.specs.clear();
        }
        let number = u32::try_from(self.specs.len()).expect("there are few");
        let line = Line::Spec(number, Box::new(spec));
        line.write(block);
        if let Line::Spec(_, spec) = line {
            self.specs.insert(*spec, number);
        }
        number
    }
}
