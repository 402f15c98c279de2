//! Puts cases to both processes and keeps what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::compare::{self, Difference};
use crate::coverage::Coverage;
use crate::judge::{Answer, Judge};
use crate::shrink;

/// Cases on their way per pair, so that neither process waits for the other.
const IN_FLIGHT: usize = 32;

/// Failures of one kind that are kept with their case; the rest is only counted.
const KEPT_PER_KIND: u64 = 5;

/// The kind of difference that costs too much time to look at twice.
const LATE: &str = "late";

/// Questions asked to make one case smaller.
const SHRINK_ATTEMPTS: usize = 2_000;

/// One case and both answers to it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was asked.
    pub case: Value,
    /// What KubeNexus answered.
    pub ours: Answer,
    /// What kube-scheduler answered.
    pub theirs: Answer,
}

impl Outcome {
    /// Where the answers differ. A process that broke differs from everything.
    pub fn differences(&self) -> Vec<Difference> {
        match (&self.ours, &self.theirs) {
            (Answer::Verdict(ours), Answer::Verdict(theirs)) => compare::differences(ours, theirs),
            (ours, theirs) => vec![Difference {
                kind: if is_late(ours) || is_late(theirs) { LATE } else { "broken" }.to_owned(),
                path: "the answer itself".to_owned(),
                ours: json!(in_words(ours)),
                theirs: json!(in_words(theirs)),
            }],
        }
    }
}

fn is_late(answer: &Answer) -> bool {
    matches!(answer, Answer::Late)
}

fn in_words(answer: &Answer) -> &str {
    match answer {
        Answer::Verdict(_) => "a verdict",
        Answer::Broken(how) => how,
        Answer::Late => "no answer in time",
    }
}

/// KubeNexus and kube-scheduler, side by side.
#[derive(Debug)]
pub struct Pair {
    kubenexus: Judge,
    oracle: Judge,
}

impl Pair {
    /// Starts both and makes sure that they answer.
    ///
    /// # Errors
    ///
    /// If either cannot be started or has no answer to an empty cluster.
    pub fn start(kubenexus: &Path, oracle: &Path) -> io::Result<Pair> {
        let mut pair = Pair { kubenexus: Judge::start(kubenexus)?, oracle: Judge::start(oracle)? };
        let probe = json!({"id": "probe", "objects": [], "pod": {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "probe", "namespace": "default", "uid": "probe"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]},
        }})
        .to_string();
        for (judge, program) in [(&mut pair.kubenexus, kubenexus), (&mut pair.oracle, oracle)] {
            judge.send(&probe);
            let answer = judge.receive();
            if !matches!(answer, Answer::Verdict(_)) {
                let why = in_words(&answer);
                let text = format!("`{} verdict` does not work: {why}", program.display());
                return Err(io::Error::other(text));
            }
        }
        Ok(pair)
    }

    /// Puts one case to both.
    ///
    /// # Errors
    ///
    /// If a process broke and cannot be started again.
    pub fn judge(&mut self, case: Value) -> io::Result<Outcome> {
        let mut outcomes = Vec::new();
        self.judge_all([case].into_iter(), |outcome| outcomes.push(outcome))?;
        Ok(outcomes.pop().expect("every case has an outcome"))
    }

    /// Puts every case to both, many at a time, and hands over the outcomes in order.
    ///
    /// # Errors
    ///
    /// If a process broke and cannot be started again.
    pub fn judge_all(
        &mut self,
        mut cases: impl Iterator<Item = Value>,
        mut each: impl FnMut(Outcome),
    ) -> io::Result<()> {
        let mut waiting: VecDeque<(Value, String)> = VecDeque::new();
        loop {
            while waiting.len() < IN_FLIGHT
                && let Some(case) = cases.next()
            {
                let line = case.to_string();
                self.kubenexus.send(&line);
                self.oracle.send(&line);
                waiting.push_back((case, line));
            }
            let Some((case, _)) = waiting.pop_front() else { return Ok(()) };
            let ours = receive(&mut self.kubenexus, &waiting)?;
            let theirs = receive(&mut self.oracle, &waiting)?;
            each(Outcome { case, ours, theirs });
        }
    }
}

/// The next answer; a process that broke gets the cases behind it once more.
fn receive(judge: &mut Judge, waiting: &VecDeque<(Value, String)>) -> io::Result<Answer> {
    let answer = judge.receive();
    if !matches!(answer, Answer::Verdict(_)) {
        judge.restart()?;
        for (_, line) in waiting {
            judge.send(line);
        }
    }
    Ok(answer)
}

/// How far a run is, for all its threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Cases that have both answers.
    pub done: AtomicU64,
    /// Those of them on which the answers differ.
    pub failed: AtomicU64,
}

/// What came of a run, or of a part of it.
#[derive(Debug, Default)]
pub struct Tally {
    /// Cases on which both agree.
    pub passed: u64,
    /// Cases on which they do not.
    pub failed: u64,
    /// How many of these there are of each kind of difference, by their first one.
    pub kinds: BTreeMap<String, u64>,
    /// The first few of each kind.
    pub failures: Vec<Outcome>,
    /// What the cases exercised.
    pub coverage: Coverage,
}

impl Tally {
    /// Counts one outcome.
    pub fn add(&mut self, outcome: Outcome, progress: &Progress) {
        if let Answer::Verdict(theirs) = &outcome.theirs {
            self.coverage.add(&outcome.case, theirs);
        }
        progress.done.fetch_add(1, Ordering::Relaxed);
        let Some(first) = outcome.differences().into_iter().next() else {
            self.passed += 1;
            return;
        };
        progress.failed.fetch_add(1, Ordering::Relaxed);
        self.failed += 1;
        let count = self.kinds.entry(first.kind).or_default();
        *count += 1;
        if *count <= KEPT_PER_KIND {
            self.failures.push(outcome);
        }
    }

    /// Adds what another part of the run counted.
    pub fn merge(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.failures.extend(other.failures);
        self.coverage.merge(other.coverage);
    }
}

/// The smallest case that still shows the first difference of a failure, with its answers.
///
/// # Errors
///
/// If a process broke and cannot be started again.
pub fn minimal(pair: &mut Pair, failure: &Outcome) -> io::Result<Outcome> {
    let Some(first) = failure.differences().into_iter().next() else {
        return Ok(failure.clone());
    };
    let shows = |outcome: &Outcome| outcome.differences().iter().any(|one| one.kind == first.kind);
    let attempts = if first.kind == LATE { 0 } else { SHRINK_ATTEMPTS };
    let case = shrink::shrink(failure.case.clone(), attempts, |candidate| {
        pair.judge(candidate.clone()).map(|outcome| shows(&outcome))
    })?;
    if case == failure.case { Ok(failure.clone()) } else { pair.judge(case) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Outcome, Progress, Tally};
    use crate::judge::Answer;

    fn outcome(ours: Answer) -> Outcome {
        let theirs = Answer::Verdict(json!({"id": "a", "error": null, "nodes": {}}));
        Outcome { case: json!({"id": "a"}), ours, theirs }
    }

    #[test]
    fn few_failures_of_each_kind_are_kept_and_all_are_counted() {
        let progress = Progress::default();
        let mut tally = Tally::default();
        let error = Answer::Verdict(json!({"id": "a", "error": "no"}));
        let same = outcome(Answer::Late).theirs;
        for ours in [&error; 9].into_iter().chain([&Answer::Late, &same]) {
            tally.add(outcome(ours.clone()), &progress);
        }
        assert_eq!((tally.passed, tally.failed, tally.failures.len()), (1, 10, 6));
        assert_eq!((tally.kinds["error"], tally.kinds["late"]), (9, 1));
        let mut total = Tally::default();
        total.merge(tally);
        assert_eq!((total.passed, total.failed, total.kinds["error"]), (1, 10, 9));
    }
}
