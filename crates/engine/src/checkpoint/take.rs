//! Writes down what a scheduler knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Catalog, ClassId, Diagnosis, GangId, Guest, Map, NodeId, Pod, PodId, PodState, Progress,
    ResourceId, Stage, Symbol,
};

use super::{
    Checkpoint, CommitEntry, GangEntry, GangName, GuestEntry, InsideEntry, MemberEntry, NodePlace,
    PodEntry, UnitEntry, UnitPlace,
};
use crate::Scheduler;
use crate::commits::{Commit, Member};
use crate::lanes::Urgency;
use crate::queue::{Place, Unit};

impl Scheduler {
    /// Everything that is known. Costs a copy of all facts.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let catalog = &self.catalog;
        let mut checkpoint = Checkpoint {
            attempt: self.attempt,
            arrivals: self.queue.arrivals(),
            clock: self.queue.clock.0,
            facts: catalog.facts().collect(),
            pod_group_kinds: catalog.pod_groups_served().collect(),
            ..Checkpoint::default()
        };
        for place in (0..catalog.node_places()).map(NodeId::at) {
            let place = catalog.node_facts(place);
            let place = place.map(|(name, facts)| NodePlace { name: name.into(), facts });
            checkpoint.nodes.push(place);
        }
        let mut specs: Map<ClassId, usize> = Map::default();
        let mut pods: Map<PodId, usize> = Map::default();
        checkpoint.pods.reserve_exact(catalog.pod_count());
        for id in catalog.pods() {
            let pod = catalog.pod(id);
            let spec = *specs.entry(pod.class).or_insert_with(|| {
                checkpoint.specs.push(catalog.class(pod.class).spec.clone());
                checkpoint.specs.len() - 1
            });
            pods.insert(id, checkpoint.pods.len());
            checkpoint.pods.push(pod_entry(pod, (spec, catalog.plans(id)), catalog));
        }
        checkpoint.gangs = catalog.gangs().map(|gang| self.gang_entry(gang, &pods)).collect();
        let mut diagnoses = BTreeMap::new();
        let mut resources = Resources::default();
        for unit in self.queue.units() {
            let place = match (unit.place, &unit.parked) {
                (Place::Parked(since), Some((diagnosis, class))) => {
                    let known = diagnoses.entry(Arc::as_ptr(diagnosis)).or_insert_with(|| {
                        checkpoint.diagnoses.push(numbered(diagnosis, &mut resources));
                        checkpoint.diagnoses.len() - 1
                    });
                    UnitPlace::Parked { since, diagnosis: *known, spec: specs[class] }
                }
                (Place::Parked(_), None) => unreachable!("a parked unit says why"),
                (Place::Active, _) => UnitPlace::Active,
                (Place::Backoff, _) => UnitPlace::Backoff,
                (Place::Gated, _) => UnitPlace::Gated,
                (Place::Gathering(until), _) => UnitPlace::Gathering(until),
                (Place::Tried, _) => UnitPlace::Tried,
            };
            checkpoint.units.push(entry(unit, &pods, place, catalog));
        }
        checkpoint.insides = self.inside_entries(&pods).collect();
        checkpoint.gpus = self.gpu_entries(&pods);
        checkpoint.gpu_demand = self.catalog.gpu_demand().map(Box::new);
        let evictions = self.evictions.all();
        let evictions = evictions.map(|(victim, purpose)| (victim.into(), (**purpose).clone()));
        checkpoint.evictions = evictions.collect();
        checkpoint.commits = self.commits.rows().map(|it| self.commit_entry(it, &pods)).collect();
        let names = resources.listed.iter().map(|resource| catalog.resource_name(*resource).into());
        checkpoint.resources = names.collect();
        checkpoint
    }

    fn commit_entry(&self, commit: &Commit, pods: &Map<PodId, usize>) -> CommitEntry {
        let Commit { members, tries, arrived, until } = commit;
        let member = |it: &Member| {
            let given = self.usage.assigned().of(it.pod);
            MemberEntry {
                pod: pods[&it.pod],
                given: given.map(|(_, given)| given.to_vec()).unwrap_or_default(),
                writes: it.writes.clone(),
                written: it.written.clone(),
            }
        };
        let members = members.iter().map(member).collect();
        CommitEntry { members, tries: *tries, arrived: *arrived, until: *until }
    }

    fn gang_entry(&self, id: GangId, pods: &Map<PodId, usize>) -> GangEntry {
        let catalog = &self.catalog;
        let name = |node: NodeId| catalog.node_name(node).into();
        let row = catalog.gang(id);
        let refused = row.members.iter().filter_map(|pod| {
            let nodes = self.gangs.refused.get(pod)?;
            Some((pods[pod], nodes.iter().map(|node| name(*node)).collect()))
        });
        let Progress {
            stage,
            found,
            is_sent,
            is_timeout_told,
            kept,
            patience: _,
            decides: _,
            due: _,
        } = &row.progress;
        let is_degraded = match stage {
            Stage::Partial { is_told, .. } => *is_told,
            Stage::Waiting | Stage::Started => false,
            Stage::Degraded => true,
        };
        let maker = row.members.iter().find(|pod| catalog.pod(**pod).makes_others());
        let holds = kept.iter().flat_map(|kept| &kept.holds).filter_map(|hold| {
            let spec = catalog.class(hold.occupant.class).spec.clone();
            Some((pods[maker?], spec, name(hold.node)))
        });
        GangEntry {
            name: gang_name(catalog, id),
            is_started: stage.is_started(),
            is_found: found.is_some(),
            is_sent: *is_sent,
            is_timeout_told: *is_timeout_told,
            is_degraded,
            deadline: stage.deadline(),
            refused: refused.collect(),
            kept_until: kept.as_ref().map(|kept| kept.until),
            holds: holds.collect(),
        }
    }
}

/// The resources that reasons speak of.
#[derive(Default)]
struct Resources {
    listed: Vec<ResourceId>,
    places: Map<ResourceId, usize>,
}

/// A diagnosis that names resources by their places in the list.
fn numbered(diagnosis: &Diagnosis, resources: &mut Resources) -> Diagnosis {
    let Resources { listed, places } = resources;
    let mut place = |resource: ResourceId| {
        let place = places.entry(resource).or_insert_with(|| {
            listed.push(resource);
            listed.len() - 1
        });
        Some(ResourceId::at(*place))
    };
    diagnosis.clone().renumbered(&mut place).expect("every resource has a place")
}

fn gang_name(catalog: &Catalog, gang: GangId) -> GangName {
    let row = catalog.gang(gang);
    (row.namespace.clone(), row.name.clone(), row.is_composite())
}

impl Scheduler {
    /// What is taken inside nodes.
    fn inside_entries(&self, pods: &Map<PodId, usize>) -> impl Iterator<Item = InsideEntry> {
        let catalog = &self.catalog;
        let nodes = catalog.nodes().iter();
        nodes.filter_map(move |node| {
            let inside = self.usage.inside(*node)?;
            let guest = |guest: &Guest| GuestEntry {
                pod: guest.pod.map(|pod| pods[&pod]),
                spec: guest.pod.is_none().then(|| catalog.class(guest.class).spec.clone()),
                taken: guest.taken.clone(),
                zones: guest.zones,
                is_reported: guest.is_reported,
                account: guest.account,
            };
            Some(InsideEntry {
                node: catalog.node_name(*node).into(),
                state: inside.state().clone(),
                guests: inside.guests().iter().map(guest).collect(),
                is_contradicted: inside.is_contradicted(),
            })
        })
    }
}

fn pod_entry(pod: &Pod, (spec, plans): (usize, u32), catalog: &Catalog) -> PodEntry {
    let Pod {
        key,
        class: _,
        tags,
        nominated,
        nominated_by_api,
        is_evicted,
        rest,
        claim,
        gang: _,
        state,
        among_like: _,
    } = pod;
    let attempt = match state {
        PodState::Assumed(_, attempt) => Some(*attempt),
        PodState::Waiting | PodState::Bound(_) => None,
    };
    let text = |name: Symbol| catalog.symbols().text(name).into();
    PodEntry {
        key: key.clone(),
        spec,
        labels: catalog.tags(*tags).labels.clone(),
        owner: catalog.tags(*tags).owner.clone(),
        volumes: catalog.tags(*tags).volumes.clone(),
        nominated: nominated.map(text),
        nominated_by_api: nominated_by_api.map(text),
        is_evicted: *is_evicted,
        plans,
        gang: claim.clone(),
        node: state.node().map(|node| catalog.node_name(node).into()),
        attempt,
        rest: rest.clone(),
    }
}

fn entry(unit: &Unit, pods: &Map<PodId, usize>, place: UnitPlace, catalog: &Catalog) -> UnitEntry {
    let Unit { pods: own, gang, refusal, outlook, classes, urgency, .. } = unit;
    let Unit { standing, arrival, arrived, since, failures, last_failure, short, .. } = unit;
    UnitEntry {
        pods: own.iter().map(|pod| pods[pod]).collect(),
        gang: gang.map(|gang| gang_name(catalog, gang)),
        refusal: refusal.clone(),
        outlook: outlook.clone(),
        lacks_room: !classes.is_empty(),
        short: *short,
        is_starving: *urgency == Urgency::Starves,
        rank: standing.rank,
        arrival: *arrival,
        arrived: *arrived,
        since: *since,
        failures: *failures,
        last_failure: *last_failure,
        place,
    }
}
