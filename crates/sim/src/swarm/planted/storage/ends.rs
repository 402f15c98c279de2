//! Units that do not come to an end, or not as one, and what is left of them.

use model::Outcome;

use super::*;
use crate::checkers::KeptPod;

/// A gang of two with a claim each of a class.
fn gang(class: &str) -> Plan {
    let mut plan = plan(class);
    let (gang, min) = ("g".into(), Some(2));
    plan.jobs[0].gang = Some(Membership { gang, min, ..Membership::default() });
    plan
}

/// Leaves out pods of units of several.
struct Parts;

impl Saboteur for Parts {
    fn prepare(&mut self, members: &mut Vec<Given>) {
        members.truncate(1);
    }
}

/// Binds pods of units of several one by one.
struct OneByOne;

impl Saboteur for OneByOne {
    fn bound(&mut self, bound: &mut Vec<Box<str>>) {
        bound.truncate(1);
    }
}

#[test]
fn a_gang_whose_claims_are_given_in_part_is_caught() {
    assert_eq!(run(gang("local"), alters(|_| true)), Ok(()));
    assert_eq!(run(gang("made"), alters(|_| true)), Ok(()));
    let words = "1 are sent, 1 of Some(2) would be on nodes";
    check(&caught(gang("made"), Parts), FailureKind::Wrong, words);
    hunt("would be on nodes", |plan| sabotaged(plan, Parts));
}

#[test]
fn a_gang_of_which_a_part_is_bound_is_caught() {
    check(&caught(gang("made"), OneByOne), FailureKind::Wrong, "it is bound without job.");
    hunt("it is bound without", |plan| sabotaged(plan, OneByOne));
}

/// Gives the volume of the first pod of a unit to all of them.
struct TwiceInOne;

impl Saboteur for TwiceInOne {
    fn prepare(&mut self, members: &mut Vec<Given>) {
        let mut all = members.iter_mut().flat_map(|given| &mut given.given);
        let first = all.find_map(|(_, volume)| volume.clone());
        all.filter(|(_, volume)| volume.is_some()).for_each(|(_, volume)| *volume = first.clone());
    }
}

#[test]
fn a_volume_that_is_given_twice_in_one_transaction_is_caught() {
    let words = "it is given to another claim";
    check(&caught(gang("local"), TwiceInOne), FailureKind::Wrong, words);
    hunt(words, |plan| sabotaged(plan, TwiceInOne));
    let mut one = plan("local");
    one.jobs[0].pods = 1;
    one.jobs[0].life.mounts.extend_from_within(..);
    assert_eq!(run(one.clone(), alters(|_| true)), Ok(()));
    let words = "it is given to another claim of the pod";
    check(&caught(one, TwiceInOne), FailureKind::Wrong, words);
}

/// The engine does not take in that everything is written.
fn deaf() -> impl Saboteur {
    Alters(|event: &mut Event| !matches!(event, Event::Outcome(Outcome::Prepared { .. })))
}

/// The engine does not take in that a claim got its volume.
fn blind() -> impl Saboteur {
    alters(|facts| match facts {
        StorageFacts::Claim(claim) => !claim.is_bind_completed,
        StorageFacts::Volume(_)
        | StorageFacts::Class(_)
        | StorageFacts::CsiNode(_)
        | StorageFacts::CsiDriver(_)
        | StorageFacts::Capacity(_)
        | StorageFacts::Attachment(_) => true,
    })
}

#[test]
fn a_unit_whose_writes_are_not_taken_in_is_caught() {
    let words = "it has all it needs, and is not bound";
    check(&caught(plan("local"), deaf()), FailureKind::Wrong, words);
    check(&caught(gang("made"), deaf()), FailureKind::Wrong, words);
    hunt(words, |plan| sabotaged(plan, deaf()));
}

#[test]
fn a_unit_that_waits_for_what_has_come_is_caught() {
    let words = "it has all it needs, and is not bound";
    check(&caught(plan("made"), blind()), FailureKind::Wrong, words);
    check(&caught(gang("local"), blind()), FailureKind::Wrong, words);
    hunt(words, |plan| sabotaged(plan, blind()));
}

/// Keeps what was given to anybody.
#[derive(Default)]
struct Keeps(Vec<KeptPod>);

impl Saboteur for Keeps {
    fn kept(&mut self, kept: &mut Kept) {
        let news = kept.pods.iter().filter(|(uid, ..)| !self.0.iter().any(|it| it.0 == *uid));
        let news: Vec<KeptPod> = news.cloned().collect();
        self.0.extend(news);
        kept.pods.clone_from(&self.0);
    }
}

/// Counts something that is given to nobody.
struct Stranger;

impl Saboteur for Stranger {
    fn kept(&mut self, kept: &mut Kept) {
        kept.strangers += kept.pods.len();
    }
}

#[test]
fn what_stays_given_to_a_pod_that_is_gone_is_caught() {
    let mut gone = plan("made");
    gone.storage.provisioner.silent_percent = 100;
    gone.jobs[0].life.deleted_after = Some((Millis(3_000), Millis(3_000)));
    assert_eq!(run(gone.clone(), alters(|_| true)), Ok(()));
    let words = "is kept as given on";
    check(&caught(gone.clone(), Keeps::default()), FailureKind::Wrong, words);
    check(&caught(gone, Stranger), FailureKind::Wrong, "something is given to them");
    hunt(words, |plan| sabotaged(plan, Keeps::default()));
}

/// A world in which nobody makes volumes for so long.
fn silent(seconds: u64) -> Plan {
    let mut plan = plan("made");
    plan.span = Millis::seconds(1_000);
    let provisioner = &mut plan.storage.provisioner;
    provisioner.stubborn_percent = 100;
    provisioner.stubborn = (Millis::seconds(seconds), Millis::seconds(seconds));
    plan
}

/// Lets the engine wait a hundred times as long as it should.
fn patient(mut plan: Plan, should: Millis) -> Run {
    let bind_timeout = Millis(should.0 * 100);
    let args = framework::VolumeBindingArgs { bind_timeout, ..Default::default() };
    for profile in &mut plan.settings.profiles {
        profile.args.retain(|(name, _)| *name != "VolumeBinding");
        profile.args.push(("VolumeBinding", framework::Args::VolumeBinding(args.clone())));
    }
    plan.faults.leader_lost_every = None;
    let mut run = sabotaged(plan, alters(|_| true));
    run.expect_timeout(should);
    run
}

#[test]
fn pods_are_tried_again_when_their_volumes_do_not_come_in_time() {
    let passed = finish(sabotaged(silent(700), alters(|_| true))).unwrap();
    assert_eq!((passed.happened.timed_out, passed.happened.bound), (2, 2));
    let passed = finish(sabotaged(silent(500), alters(|_| true))).unwrap();
    assert_eq!((passed.happened.timed_out, passed.happened.bound), (0, 2));
}

#[test]
fn a_time_that_is_over_and_nobody_notices_is_caught() {
    let words = "which is too long";
    let failure = finish(patient(silent(700), Millis::seconds(600))).expect_err("it is caught");
    check(&(failure.kind, failure.text), FailureKind::Wrong, words);
    hunt(words, |plan| {
        let said = plan.settings.profiles.iter().flat_map(|profile| &profile.args);
        let said = said.filter(|(name, _)| *name == "VolumeBinding").count();
        // Ten minutes are what nobody says.
        let should = if said == 0 { Millis::seconds(600) } else { Millis::seconds(120) };
        patient(plan, should)
    });
}

/// The engine does not take in what became of second tries: their time never begins.
#[test]
fn a_second_try_that_does_not_end_is_caught() {
    let mut told = 0;
    let bug = Alters(move |event: &mut Event| {
        let is_prepared = matches!(event, Event::Outcome(Outcome::Prepared { .. }));
        told += u32::from(is_prepared);
        !is_prepared || told <= 2
    });
    let mut plan = silent(1_500);
    plan.span = Millis::seconds(2_000);
    check(&caught(plan, bug), FailureKind::Wrong, "which is too long");
}
