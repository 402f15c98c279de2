//! Why there is no place: for a gang, and for a pod of one.

use std::sync::Arc;

use model::{Diagnosis, GangId, hash_of};

use super::{Arranger, Short, stand_in};
use crate::cycle::{Failure, Within, seek};
use crate::profile_of;
use crate::trial::Trial;

impl Arranger<'_> {
    /// Why there is no place for one pod of a gang that has enough already, and whom to evict.
    pub(crate) fn rescue(&mut self, short: &Short) -> Failure {
        let catalog = self.txn.catalog();
        let pod = catalog.pod(short.pod);
        let profile = profile_of(self.profiles, catalog, pod.class);
        let board = self.boards.of(pod.class, profile, catalog, self.txn.usage());
        let mut trial = Trial::new(short.pod, pod, board, &mut self.txn);
        let seed = self.seed ^ hash_of(&*pod.key.uid);
        let miss = seek(&mut trial, &short.within, seed).expect_err("it was looked for in vain");
        let (diagnosis, plan) = miss.explain(&mut trial, &short.within, true, seed);
        Failure { class: pod.class, diagnosis, plan }
    }

    /// Why there is no place for a gang, as it is when all of its pods are placed that can be: the
    /// first pod that is left, why it is, and how many have a place.
    pub(crate) fn explain(&mut self, root: GangId, found: Short) -> (Short, Arc<Diagnosis>, u32) {
        let start = self.moment();
        // The first attempt is the one that people can follow.
        let short = self.part(root, &Within::default(), 0).err().unwrap_or(found);
        let _ = short.expected.is_some() && self.expect(root, &Within::default()).is_ok();
        let catalog = self.txn.catalog();
        let fitting =
            self.places.iter().filter(|(pod, _)| catalog.pod(*pod).gang == Some(short.gang));
        let fitting = fitting.count() + self.holds.len() - start.holds;
        let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
        let stand_in = short.expected.map(|occupant| stand_in(catalog.pod(short.pod), occupant));
        let pod = stand_in.as_ref().unwrap_or_else(|| catalog.pod(short.pod));
        let profile = profile_of(self.profiles, catalog, pod.class);
        let board = self.boards.of(pod.class, profile, catalog, self.txn.usage());
        let mut trial = Trial::new(short.pod, pod, board, &mut self.txn);
        let diagnosis = match seek(&mut trial, &short.within, self.seed) {
            Err(miss) => miss.explain(&mut trial, &short.within, false, self.seed).0,
            // It fits by itself, and there was too little work left to fit all.
            Ok(_) => Arc::new(Diagnosis { nodes: catalog.nodes().len(), ..Diagnosis::default() }),
        };
        self.back_to(start);
        (short, diagnosis, fitting)
    }

    /// Places as much of a gang as fits in the domain that holds the most of it.
    pub(super) fn most(&mut self, gang: GangId, domains: &[Within]) -> Result<(), Short> {
        let start = self.moment();
        let mut most = None;
        for domain in domains {
            let room = most.and_then(|(before, _)| Some((before, self.room_in(gang, domain)?)));
            if room.is_some_and(|(before, room)| room <= before) {
                continue;
            }
            if self.in_domain(gang, domain, 0).is_ok() {
                return Ok(());
            }
            let placed = self.places.len() - start.places;
            self.back_to(start);
            if most.is_none_or(|(before, _)| placed > before) {
                most = Some((placed, domain));
            }
        }
        most.map_or(Ok(()), |(_, domain)| self.in_domain(gang, domain, 0))
    }
}
