//! Words about gangs.

use std::sync::Arc;

use model::{Amounts, PodFacts, PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts, Workers};

use crate::facts::{ask, quantity, requests};

/// Adds a word to what a pod says of its gang.
pub(crate) fn claim(pod: &mut PodFacts, key: &str, value: &str) {
    let claim = Arc::make_mut(pod.gang.get_or_insert_default());
    match key {
        "gang" => {
            let (name, min) = value.split_once('/').map_or((value, None), |(n, m)| (n, Some(m)));
            claim.name = name.into();
            claim.min = min.map(|min| min.parse().expect("a number"));
            pod.spec.hints.get_or_insert_default().is_in_gang = true;
        }
        "group" => {
            let PodGroupKey { kind, name, .. } = group_key(value);
            let part = value.splitn(3, '/').nth(2).unwrap_or("");
            if claim.name.is_empty() {
                let own = if part.is_empty() { name.to_string() } else { format!("{name}/{part}") };
                claim.name = own.into();
            }
            let known = claim.objects.iter().cloned();
            claim.objects = known.chain([(kind, name, part.into())]).collect();
        }
        "timeout" => claim.timeout = Some(value.parse().expect("a number of seconds")),
        "workers" => {
            let (count, cpu) = value.split_once('@').expect("workers are COUNT@CPU");
            let amounts = Amounts { cpu: quantity(cpu).milli(), ..Amounts::default() };
            let count = count.parse().expect("a number");
            let shape = Workers { count, requests: requests(amounts, 0) };
            claim.workers = claim.workers.iter().cloned().chain([shape]).collect();
        }
        "after" => claim.after = claim.after.iter().cloned().chain([value.into()]).collect(),
        _ => claim.fault = Some(value.into()),
    }
}

/// Lets a pod's claim have its priority where it names an object that says which one it has.
pub(crate) fn set_priority(pod: &mut PodFacts) {
    let priority = pod.rest.priority;
    let Some(claim) = pod.gang.as_mut() else { return };
    if claim.objects.iter().any(|(kind, ..)| *kind == PodGroupKind::Native) {
        Arc::make_mut(claim).priority = Some(priority);
    }
}

/// Which object about gangs is meant by `KIND/NAME`, in the default namespace.
pub(crate) fn group_key(text: &str) -> PodGroupKey {
    let mut words = text.split('/');
    let kind = match words.next() {
        Some("native") => PodGroupKind::Native,
        Some("composite") => PodGroupKind::Composite,
        Some("workload") => PodGroupKind::Workload,
        Some("coscheduling") => PodGroupKind::Coscheduling,
        Some("volcano") => PodGroupKind::Volcano,
        Some("kai") => PodGroupKind::Kai,
        other => panic!("{other:?} is no kind of pod group"),
    };
    let name = words.next().expect("a pod group is KIND/NAME").into();
    PodGroupKey { kind, namespace: "default".into(), name }
}

/// An object about gangs by its words.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn pod_group(words: &str) -> PodGroupFacts {
    let mut words = words.split_whitespace();
    let key = words.next().expect("a pod group has a name");
    let part: Box<str> = key.splitn(3, '/').nth(2).unwrap_or("").into();
    let mut facts = PodGroupFacts {
        key: group_key(key),
        mins: Box::new([(part.clone(), 1)]),
        timeout: None,
        priority: None,
        topology: Box::default(),
        is_evicted_whole: false,
        parent: None,
        is_started: false,
        min_resources: Amounts::default(),
    };
    for word in words {
        let number = |value: &str| value.parse().expect("a number");
        match word.split_once('=') {
            None if word == "started" => facts.is_started = true,
            None if word == "whole" => facts.is_evicted_whole = true,
            Some(("min", value)) => {
                facts.mins = Box::new([(part.clone(), value.parse().expect("a number"))]);
            }
            Some(("timeout", value)) => facts.timeout = Some(value.parse().expect("a number")),
            Some(("priority", value)) => facts.priority = Some(number(value)),
            Some(("topology", value)) => facts.topology = [value.into()].into(),
            Some(("parent", value)) => facts.parent = Some(value.into()),
            Some(("minres", value)) => {
                let (key, amount) = value.split_once(':').expect("minres is RESOURCE:AMOUNT");
                assert!(ask(&mut facts.min_resources, key, amount), "{key:?} is no resource");
            }
            Some(_) | None => panic!("a pod group does not know the word {word:?}"),
        }
    }
    facts
}

/// Takes in a word about a pod that ran to its end.
pub(crate) fn set_ended(facts: &mut SucceededFacts, word: &str) {
    match word.split_once('=') {
        None if word == "failed" => facts.is_failed = true,
        Some(("owner", owner)) => {
            (facts.owner, facts.is_of_job) = (owner.into(), owner.starts_with("Job/"));
        }
        Some(("job", uid)) => facts.job = uid.into(),
        Some(("created", at)) => facts.created = at.parse().expect("a number"),
        Some(("min", min)) => facts.min = Some(min.parse().expect("a number")),
        Some(("group", group)) => {
            let PodGroupKey { kind, name, .. } = group_key(group);
            let part = group.splitn(3, '/').nth(2).unwrap_or("");
            facts.objects = Box::new([(kind, name, part.into())]);
        }
        Some(_) | None => panic!("a pod that ended does not know the word {word:?}"),
    }
}
