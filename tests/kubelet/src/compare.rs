//! Plays a case and compares every step with what the kubelet did.
//!
//! Before each step the kubelet's report of what is taken is taken as fact, as a scheduler would do
//! it, so one difference does not hide those behind it.

use std::collections::BTreeMap;

use model::topology::{Machine, PodAsk, Predictor, State, Taken};

use crate::case::{Case, PodCase, Step, StepVerdict, Verdict};
use crate::ours::{Names, OurMachine, ask};
use crate::tally::Tally;

/// Compares a case with the verdict on it, and counts what it was about.
///
/// # Errors
///
/// The first difference, in words.
pub fn compare(case: &Case, verdict: &Verdict, tally: &mut Tally) -> Result<(), String> {
    let mut names = Names::new();
    let machine = OurMachine::new(&case.machine, &case.machine.devices, &mut names);
    let machine = match (machine, verdict.error.as_str()) {
        (Ok(machine), "") => machine,
        (Err(fault), "") => return Err(format!("the kubelet starts, we say {fault:?}")),
        (Ok(_), error) => return Err(format!("the kubelet breaks: {error}")),
        // A kubelet that breaks in the middle is no kubelet that refuses to start.
        (Err(fault), error) if error.starts_with("panic") => {
            return Err(format!("the kubelet breaks: {error}; we say {fault:?}"));
        }
        (Err(_), _) => {
            tally.machine(&case.machine, false);
            return Ok(());
        }
    };
    tally.machine(&case.machine, true);
    let verdicts = verdict.steps.as_deref().unwrap_or_default();
    if verdicts.len() != case.steps.len() {
        return Err(format!("{} verdicts on {} steps", verdicts.len(), case.steps.len()));
    }
    let state = State::new(&machine.machine);
    let pods = BTreeMap::new();
    let mut play = Play { case, machine, names, state, pods, predictor: Predictor::default() };
    for (number, (step, verdict)) in case.steps.iter().zip(verdicts).enumerate() {
        play.step(step, verdict, tally).map_err(|text| format!("step {number}: {text}"))?;
        play.state = play.machine.state(&verdict.state);
    }
    Ok(())
}

struct Play<'a> {
    case: &'a Case,
    machine: OurMachine,
    names: Names,
    state: State,
    /// What the pods hold, as reported.
    pods: BTreeMap<String, Taken>,
    predictor: Predictor,
}

impl Play<'_> {
    fn step(
        &mut self,
        step: &Step,
        verdict: &StepVerdict,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match step {
            Step::Add(pod) => self.add(pod, verdict, tally),
            Step::Started(name) => {
                if let Some(taken) = self.pods.get_mut(name) {
                    self.state.end_init(&self.machine.machine, taken);
                }
                self.same_state(verdict, "the init containers have ended")
            }
            Step::Remove(name) => {
                if let Some(taken) = self.pods.remove(name) {
                    self.state.release(&self.machine.machine, &taken);
                }
                self.same_state(verdict, "the pod has left")
            }
            Step::Devices(devices) => {
                let machine = OurMachine::new(&self.case.machine, devices, &mut self.names);
                self.machine = machine.map_err(|fault| format!("{fault:?}"))?;
                self.same_state(verdict, "devices are listed anew")
            }
        }
    }

    fn same_state(&self, verdict: &StepVerdict, when: &str) -> Result<(), String> {
        let theirs = self.machine.state(&verdict.state);
        if self.state == theirs {
            return Ok(());
        }
        Err(format!("{when}: ours {:?}, theirs {theirs:?}", self.state))
    }

    fn add(
        &mut self,
        pod: &PodCase,
        verdict: &StepVerdict,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let ask = ask(pod, &mut self.names);
        let theirs = self.machine.taken(pod, &verdict.containers);
        let machine = &self.machine.machine;
        same_trial(&mut self.predictor, machine, &self.state, &ask)?;
        let ours = match self.predictor.predict(machine, &self.state, &ask) {
            Ok(taken) => taken,
            Err(rejection) => {
                let reason = rejection.cause.reason();
                if rejection.is_guess {
                    tally.guessed();
                } else if verdict.admitted || verdict.reason != reason {
                    let theirs = told(verdict);
                    return Err(format!("{}: ours {rejection:?}, theirs {theirs}", pod.name));
                } else {
                    tally.rejected(rejection.cause);
                }
                if verdict.admitted {
                    self.pods.insert(pod.name.clone(), theirs);
                }
                return Ok(());
            }
        };
        let certain = ours.guess.map_or(ask.containers.len(), |guess| guess + 1);
        if ours.masks[..certain] != theirs.masks[..certain] && verdict.admitted {
            let differ = format!("ours {:?}, theirs {:?}", ours.masks, theirs.masks);
            return Err(format!("{}: masks: {differ}", pod.name));
        }
        if certain < ask.containers.len() {
            tally.guessed();
        } else if !verdict.admitted {
            return Err(format!("{}: admitted by us, theirs {}", pod.name, told(verdict)));
        } else {
            same_taken(machine, ours, &theirs).map_err(|text| format!("{}: {text}", pod.name))?;
            tally.admitted(machine, ours);
            let taken = ours.clone();
            self.same_after(&taken, verdict)?;
        }
        if verdict.admitted {
            self.pods.insert(pod.name.clone(), theirs);
        }
        Ok(())
    }

    /// What is predicted, applied to the state, is what the kubelet reports, and can be undone.
    fn same_after(&mut self, taken: &Taken, verdict: &StepVerdict) -> Result<(), String> {
        let before = self.state.clone();
        self.state.apply(taken);
        let mut theirs = self.machine.state(&verdict.state);
        for (place, _) in self.machine.devices.iter().enumerate() {
            // Which devices of the same zones are taken is up to the kubelet.
            theirs.set_devices(place, self.state.taken_devices(place));
        }
        if self.state != theirs {
            return Err(format!("after it: ours {:?}, theirs {theirs:?}", self.state));
        }
        self.state.undo(taken);
        if self.state != before {
            return Err(format!("undone: {:?}, before: {before:?}", self.state));
        }
        Ok(())
    }
}

/// The cheap answer is the full one.
fn same_trial(
    predictor: &mut Predictor,
    machine: &Machine,
    state: &State,
    ask: &PodAsk,
) -> Result<(), String> {
    let cheap = predictor.masks(machine, state, ask).map(<[_]>::to_vec);
    let full = predictor.predict(machine, state, ask).map(|taken| taken.masks.clone());
    if cheap == full { Ok(()) } else { Err(format!("cheap {cheap:?}, full {full:?}")) }
}

fn told(verdict: &StepVerdict) -> String {
    match verdict.admitted {
        true => "admitted".to_owned(),
        false => format!("{}: {}", verdict.reason, verdict.message),
    }
}

fn same_taken(machine: &Machine, ours: &Taken, theirs: &Taken) -> Result<(), String> {
    if ours.cpus != theirs.cpus {
        let list = |taken: &Taken| format!("{:?}", taken.cpus.iter().collect::<Vec<_>>());
        return Err(format!("CPUs: ours {}, theirs {}", list(ours), list(theirs)));
    }
    let sorted = |taken: &Taken| {
        let mut blocks = taken.blocks.clone();
        blocks.sort_by_key(|block| (block.container, block.kind));
        blocks
    };
    if sorted(ours) != sorted(theirs) {
        return Err(format!("memory: ours {:?}, theirs {:?}", sorted(ours), sorted(theirs)));
    }
    let zones = machine.zone_ids().len();
    for resource in 0..machine.device_resources().count() {
        let all = |taken: &Taken| {
            let of = taken.devices.iter().filter(|of| of.resource == resource);
            of.fold(0, |all, of| all | of.devices)
        };
        let (our_devices, their_devices) = (all(ours), all(theirs));
        if our_devices.count_ones() != their_devices.count_ones() {
            return Err(format!("devices: ours {our_devices:b}, theirs {their_devices:b}"));
        }
        let near =
            |devices: u128, zone| (devices & machine.devices_of(resource, zone)).count_ones();
        let differs = |zone: &usize| near(our_devices, *zone) != near(their_devices, *zone);
        if ours.guess.is_none()
            && let Some(zone) = (0..zones).find(differs)
        {
            return Err(format!(
                "devices at zone {zone}: ours {our_devices:b}, theirs {their_devices:b}"
            ));
        }
    }
    Ok(())
}
