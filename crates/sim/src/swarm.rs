//! Many seeds, each a world of its own: drawn, run with every fault there is, and checked.
//!
//! A [`Case`] is a seed, and optionally a part of what it draws. [`run`] lets it happen, with
//! everything looked at after every step; when its time is over, faults are switched off and
//! everything that fits must be placed, and the rest must say why (`liveness`). A case that fails
//! is made smaller by [`shrink`].

mod case;
mod draw;
mod liveness;
#[cfg(test)]
mod planted;
mod shrink;

use std::fmt;

pub use case::{Case, Fault, Only};
use model::Millis;
pub use shrink::shrink;

use crate::checkers::Violation;
use crate::happened::Happened;
use crate::run::Run;

/// What a case that kept all rules consisted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Decisions to bind.
    pub bindings: u64,
    /// Decisions that a pod has to wait.
    pub waits: u64,
    /// How much virtual time passed.
    pub span: Millis,
    /// What happened.
    pub happened: Happened,
    /// The same for two runs that decided the same in the same order.
    pub hash: u64,
}

/// How a case can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The scheduler or the simulator panicked.
    Crash,
    /// A rule was broken.
    Wrong,
    /// Something that can be done is never done.
    Stuck,
}

impl FailureKind {
    /// What a process ends with when a case fails in this way.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Crash => 20,
            Self::Wrong => 21,
            Self::Stuck => 22,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Crash => "crash",
            Self::Wrong => "wrong",
            Self::Stuck => "stuck",
        })
    }
}

/// A case that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In which way.
    pub kind: FailureKind,
    /// What broke, and when.
    pub text: String,
}

impl Failure {
    fn stuck(run: &Run, text: String) -> Self {
        let text = format!("after {}: {text}", clock(run));
        Self { kind: FailureKind::Stuck, text }
    }

    fn wrong(run: &Run, violation: &Violation) -> Self {
        let text = format!("after {}: {violation}", clock(run));
        Self { kind: FailureKind::Wrong, text }
    }
}

fn clock(run: &Run) -> String {
    let now = run.progress().now.0;
    format!("{}.{:03} s", now / 1000, now % 1000)
}

/// Lets a case happen.
///
/// # Errors
/// When a rule is broken, or something is stuck.
pub fn run(case: &Case) -> Result<Passed, Failure> {
    finish(Run::inspected(case.plan()))
}

pub(crate) fn finish(mut run: Run) -> Result<Passed, Failure> {
    go(&mut run)?;
    liveness::check(&mut run)?;
    let tally = run.tally();
    Ok(Passed {
        bindings: tally.bindings,
        waits: tally.waits,
        span: Millis(run.progress().now.0),
        happened: *run.world().happened(),
        hash: tally.fingerprint.value(),
    })
}

/// Runs to the end as it is known so far.
fn go(run: &mut Run) -> Result<(), Failure> {
    let end = run.end();
    run.run_until(end).map_err(|violation| Failure::wrong(run, &violation))
}

/// Lets a case happen twice, which must be the same.
///
/// # Errors
/// As [`run`], and when both differ.
pub fn run_twice(case: &Case) -> Result<Passed, Failure> {
    let (one, other) = (run(case)?, run(case)?);
    if one == other {
        return Ok(one);
    }
    let text = format!("the same seed led to {one:?} and to {other:?}");
    Err(Failure { kind: FailureKind::Wrong, text })
}

/// Stands between the world and the engine, and does what a bug would do. Checkers are shown the
/// truth.
#[cfg(test)]
pub(crate) trait Saboteur {
    /// What the engine sees of an event.
    fn event(&mut self, event: &model::Event) -> Option<model::Event> {
        Some(event.clone())
    }

    /// What is made of a decision to bind: pods by uid and nodes by name.
    fn order(
        &mut self,
        uid: &str,
        node: &str,
        _: &crate::world::World,
    ) -> Vec<(Box<str>, Box<str>)> {
        vec![(uid.into(), node.into())]
    }

    /// What is made of a decision to evict.
    fn preempt(&mut self, _: &mut crate::checkers::Eviction, _: &crate::world::World) {}

    /// Whether evictions are sent though nobody waits for the room any more.
    fn is_stubborn(&self) -> bool {
        false
    }

    /// Whether pods of an incomplete gang are taken back at all.
    fn is_disbanded(&mut self) -> bool {
        true
    }

    /// What the engine looks at in vain for an event.
    fn looks(&mut self, _: &crate::checkers::Ledger) -> u64 {
        0
    }

    /// What is made of the pods of a unit that goes on its way, and of what is given to their
    /// claims.
    fn prepare(&mut self, _: &mut Vec<crate::checkers::Given>) {}

    /// What is made of what the engine keeps as given.
    fn kept(&mut self, _: &mut crate::checkers::Kept) {}

    /// What is made of the pods that are bound in one step, by uid.
    fn bound(&mut self, _: &mut Vec<Box<str>>) {}

    /// Whether a binding is sent at all.
    fn is_sent(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_seeds_keep_all_rules_and_lead_to_the_same_twice() {
        for seed in [4, 7, 11, 22, 25, 26] {
            let ran = run_twice(&Case::whole(seed));
            assert!(ran.is_ok(), "seed {seed}: {ran:?}");
        }
    }

    /// Parts of worlds in which something was wrong once, each with what it was.
    const FOUND: [(&str, &str); 21] = [
        (
            "pods that must be near others have their turn after them, on every node there is",
            "44616 4,18,19 8,9,13 none second 6 9",
        ),
        (
            "a gang that other labels tore apart goes on in one of its domains",
            "52509 3,4,8 2,12,13 8:1,8:5,8:6 none 11 182",
        ),
        (
            "the time of an incomplete gang begins anew after a moment without a pod on a node",
            "55393 0,1,2,3 1,2,3,5,7,12,13,15 0:0,0:2,0:3,1:2 \
             slow,lag,refused,unanswered,lists 11 25",
        ),
        (
            "pods that want others to be far are not kept from their nodes for ever",
            "19301 0,2,3 1,2,3,7,9,11,13 2:1 slow,refused,second 27 135",
        ),
        (
            "nor are those from which others want to be far",
            "56771 0,2,3,4,5,6,8,9,10,12 0,2,6,7,8,9,11,13,14,15,16 none lag,cut,second 37 14",
        ),
        (
            "a driver that waits keeps back the others of its gang",
            "19711 3,4,5,6,8,9,10,12,14,15 1,2,6,7,8,9,12,13,14,16,18 10:0 none 26 86",
        ),
        (
            "a gang is placed where the largest first, on the first node that takes it, fits",
            "24628 0,1,2,8 5,8,15,16,17,18 none none 7 11",
        ),
        (
            "also where its pods are spread and want to be far from each other",
            "26584 12,14,15 1,2 12:0,15:0 none 9 74",
        ),
        (
            "a node that is proposed for another pod is still in the wrong domain",
            "31126 0,3,5,6 2,16 none none 17 119",
        ),
        (
            "a gang has started that an object said so of, whatever the next one of its name says",
            "10102 18 4,12,13 none none 4 91",
        ),
        ("so has a gang of gangs", "14009 12 11,12,13 none none 4 169"),
        (
            "a level that is one too many is told also where the level above it is missing",
            "54415 none 17,19 none none 1 81",
        ),
        ("all levels of a tree that moves are brought in line once", "10212 none 6 none none 1 5"),
        (
            "groups are a tree also while the one above them is missing",
            "8355 0,1,2,3,4,5,6,7,8,9 1,5,6,8,9,14,15,16,17,18 0:0,0:1 lag,unanswered,leader 16 82",
        ),
        (
            "a gang of unlike pods is not tried again for room that is taken",
            "54250 0,2,3,4,5,6 3,4,5,6,7,9,10,11,12 3:0,4:2,4:3 slow,lag 24 33",
        ),
        (
            "a part that was taken back with its gang of gangs has not started",
            "27453 2,10 7,8 2:0 lag,lost 4 36",
        ),
        ("a gang is woken by the class of its claims", "620 16 11 none none 3 61"),
        ("and by a volume for one of them", "1240 1,2 10,11 none none 2 42"),
        (
            "a volume that another leader wrote to be for a claim is that claim's",
            "1886 18,20,21,23 9,12 none lag,lost,leader 2 8",
        ),
        (
            "a claim for one pod alone is not in use by a pod whose node is gone",
            "640 1,3 8,9 3:0,3:1 none 1 30",
        ),
        (
            "the volume of a claim that is gone is not counted on a node",
            "1282 2,3 3,6,8,11 none slow,lag,lists,leader 3 10",
        ),
    ];

    /// A case as the test above writes it: seed, nodes, jobs, fates, faults, pods and seconds.
    fn case(text: &'static str) -> Case {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [seed, nodes, jobs, fates, faults, pods, seconds] = words[..] else {
            panic!("{text}: expected seven words")
        };
        let parts = |list: &'static str| list.split(',').filter(|part| *part != "none");
        let number = |text: &str| text.parse::<usize>().unwrap();
        let fate = |text: &str| {
            let (node, at) = text.split_once(':').unwrap();
            (number(node), number(at))
        };
        let fault = |word: &str| Fault::WORDS.iter().find(|(other, _)| *other == word).unwrap().1;
        Case {
            seed: seed.parse().unwrap(),
            only: Only {
                nodes: Some(parts(nodes).map(number).collect()),
                jobs: Some(parts(jobs).map(number).collect()),
                fates: Some(parts(fates).map(fate).collect()),
                faults: Some(parts(faults).map(fault).collect()),
                pods: Some(pods.parse().unwrap()),
                seconds: Some(seconds.parse().unwrap()),
            },
        }
    }

    #[test]
    fn what_was_found_once_stays_mended() {
        for (what, text) in FOUND {
            let ran = run(&case(text));
            assert!(ran.is_ok(), "{what}: {ran:?}");
        }
    }

    /// In these worlds an event was the first for a while to ask what all nodes have free, and took
    /// in everything that had changed since.
    #[test]
    fn no_event_pays_for_others() {
        for seed in [32, 56, 78, 134] {
            let ran = run(&Case::whole(seed));
            assert!(ran.is_ok(), "seed {seed}: {ran:?}");
        }
    }

    #[test]
    fn every_kind_of_failure_ends_with_a_code_of_its_own() {
        let kinds = [FailureKind::Crash, FailureKind::Wrong, FailureKind::Stuck];
        assert_eq!(kinds.map(FailureKind::exit_code), [20, 21, 22]);
    }
}
