//! A scheduler that knows nothing is told everything, as after a restart: lists of text, page by
//! page, each list ended by what was in it; then it places a pod.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s::ingest::{self, IngestError};
use model::{Decision, Event, Kind, Present};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Run, Sample};
use crate::memory::resident;
use crate::stopwatch::{Stopwatch, Taken};

/// Objects of a page, as lists are asked for.
const PAGE: usize = 500;

impl Run<'_> {
    pub(super) fn restart(&mut self) -> Result<Sample> {
        let mut sample = Sample::default();
        let nodes: Vec<usize> = self.world.nodes().collect();
        let mut names = BTreeSet::new();
        for page in nodes.chunks(PAGE) {
            let objects = page.iter().map(|at| self.world.node(*at)).collect();
            self.tell(&mut sample, objects, &mut names, |text| Ok(ingest::read_node(text)?.event))?;
        }
        sample.taken += self.end_of_list(Kind::Node, names);
        sample.resident_with_nodes = resident()?;
        let pods = self.world.pods_created();
        let mut uids = BTreeSet::new();
        for page in (0..pods).step_by(PAGE) {
            let page = page..(page + PAGE).min(pods);
            let objects = page.map(|at| self.world.pod_on(at, self.world.node_in_turn(at)));
            let objects = objects.collect();
            self.tell(&mut sample, objects, &mut uids, |text| Ok(ingest::read_pod(text)?.event))?;
        }
        sample.taken += self.end_of_list(Kind::Pod, uids);
        let first = self.world.extra_pod(pods);
        sample.taken += self.decide([ingest::pod(&first)?].iter())?;
        let is_bound = matches!(self.decisions[..], [Decision::Bind { .. }]);
        ensure!(is_bound, "the first pod after the restart found no node");
        sample.pods = pods;
        sample.decisions = 1;
        Ok(sample)
    }

    /// Tells a page; measures how long that takes, and how long the text alone takes.
    fn tell(
        &mut self,
        sample: &mut Sample,
        objects: Vec<Value>,
        listed: &mut BTreeSet<Box<str>>,
        read: impl Fn(&[u8]) -> Result<Event, IngestError>,
    ) -> Result<()> {
        let texts = objects.iter().map(serde_json::to_vec).collect::<Result<Vec<_>, _>>()?;
        drop(objects);
        let stopwatch = Stopwatch::start();
        for text in &texts {
            serde_json::from_slice::<IgnoredAny>(text)?;
        }
        sample.bare_read += stopwatch.taken();
        let stopwatch = Stopwatch::start();
        for text in &texts {
            let event = read(text)?;
            if let Event::Seen(fact) = &event {
                listed.insert(fact.key().name);
            }
            self.scheduler.apply(&event, self.now);
        }
        sample.taken += stopwatch.taken();
        Ok(())
    }

    fn end_of_list(&mut self, kind: Kind, names: BTreeSet<Box<str>>) -> Taken {
        let stopwatch = Stopwatch::start();
        self.scheduler.apply(&Event::Listed(kind, Present::Names(names)), self.now);
        stopwatch.taken()
    }
}
