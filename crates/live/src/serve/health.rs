//! Whether this replica lives and is ready, in the words of every Kubernetes component.
//!
//! A standby is ready: readiness says that it could take over, not that it leads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::info;

/// What the checks look at. Shared by all threads.
pub(crate) struct Health {
    is_synced: AtomicBool,
    is_stopping: AtomicBool,
    is_renewing: Box<dyn Fn() -> bool + Send + Sync>,
    /// What is not listed yet.
    missing: Mutex<String>,
    /// Why it is not known which APIs are served.
    apis_unknown: Mutex<Option<String>>,
    /// What was last found wrong: callers ask again and again.
    said: Mutex<String>,
}

impl Health {
    /// A replica that has seen nothing yet. `is_renewing` is false when it claims to lead although
    /// its lease has long run out: it hangs, and only a restart can help.
    pub(crate) fn new(is_renewing: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            is_synced: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            is_renewing: Box::new(is_renewing),
            missing: Mutex::new("anything".into()),
            apis_unknown: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// These were not listed yet.
    pub(crate) fn set_missing(&self, missing: String) {
        *lock(&self.missing) = missing;
    }

    /// Why it is not known which APIs are served, or nothing if that is known or not waited for.
    pub(crate) fn set_apis_unknown(&self, why: Option<String>) {
        *lock(&self.apis_unknown) = why;
    }

    /// Says what is wrong, but not the same again.
    fn log(&self, question: Question, faults: &str) {
        let mut said = lock(&self.said);
        if *said != faults {
            *said = faults.into();
            match faults {
                "" => info!("{} check passed", question.name()),
                faults => info!(faults, "{} check failed", question.name()),
            }
        }
    }

    pub(crate) fn apis_unknown(&self) -> Option<String> {
        lock(&self.apis_unknown).clone()
    }

    /// Nodes and pods were listed, and the engine knows them.
    pub(crate) fn set_synced(&self) {
        self.is_synced.store(true, Ordering::Release);
    }

    /// The process was told to end.
    pub(crate) fn set_stopping(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// Why a check fails, if it does.
    pub(super) fn fault(&self, check: Check) -> Option<String> {
        let is_synced = || self.is_synced.load(Ordering::Acquire);
        let (is_good, fault) = match check {
            Check::Ping => (true, ""),
            Check::LeaderElection => {
                ((self.is_renewing)(), "leading, but the lease was not renewed and has run out")
            }
            Check::ApiDiscovery => return self.apis_unknown(),
            Check::InformerSync => {
                let missing = || format!("not listed yet: {}", lock(&self.missing));
                return (!is_synced()).then(missing);
            }
            Check::SchedHandlerSync => (is_synced(), "handlers are not fully synchronized"),
            Check::Shutdown => {
                (!self.is_stopping.load(Ordering::Acquire), "process is shutting down")
            }
        };
        (!is_good).then(|| fault.into())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is valid after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thing that can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Ping,
    LeaderElection,
    /// Not a check of kube-scheduler: which kinds there are decides what has to be listed.
    ApiDiscovery,
    InformerSync,
    SchedHandlerSync,
    Shutdown,
}

impl Check {
    /// As kube-scheduler names it, where it has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::LeaderElection => "leaderElection",
            Self::ApiDiscovery => "api-discovery",
            Self::InformerSync => "informer-sync",
            Self::SchedHandlerSync => "sched-handler-sync",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A question that several checks answer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Livez,
    Readyz,
    /// The old name of `Livez`.
    Healthz,
}

/// The answer to a question.
pub(super) struct Report {
    pub(super) is_good: bool,
    pub(super) text: String,
}

impl Question {
    pub(super) const ALL: [Self; 3] = [Self::Livez, Self::Readyz, Self::Healthz];

    /// Its path, without the slash.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Livez => "livez",
            Self::Readyz => "readyz",
            Self::Healthz => "healthz",
        }
    }

    /// The checks, in the order they are shown.
    pub(super) fn checks(self) -> &'static [Check] {
        match self {
            Self::Livez | Self::Healthz => &[Check::Ping, Check::LeaderElection],
            Self::Readyz => &[
                Check::Ping,
                Check::LeaderElection,
                Check::ApiDiscovery,
                Check::InformerSync,
                Check::SchedHandlerSync,
                Check::Shutdown,
            ],
        }
    }

    /// Asks every check that `query` does not exclude. Reasons go to the log: everyone may ask.
    pub(super) fn report(self, health: &Health, query: &str) -> Report {
        let parameters = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let parameters: Vec<_> = parameters.collect();
        let excluded = parameters.iter().filter(|(key, _)| *key == "exclude");
        let mut excluded: Vec<&str> = excluded.map(|(_, name)| *name).collect();
        let mut text = String::new();
        let mut faults = Vec::new();
        for check in self.checks() {
            let name = check.name();
            let line = if excluded.contains(&name) {
                "excluded: ok"
            } else if let Some(fault) = health.fault(*check) {
                faults.push(format!("{name}: {fault}"));
                "failed: reason withheld"
            } else {
                "ok"
            };
            let sign = if line.starts_with("failed") { '-' } else { '+' };
            writeln!(text, "[{sign}]{name} {line}").expect("writing to a string cannot fail");
        }
        excluded.retain(|name| self.checks().iter().all(|check| check.name() != *name));
        excluded.sort_unstable();
        excluded.dedup();
        if !excluded.is_empty() {
            let names: Vec<_> = excluded.iter().map(|name| format!("{name:?}")).collect();
            let warning = "warn: some health checks cannot be excluded: no matches for";
            writeln!(text, "{warning} {}", names.join(","))
                .expect("writing to a string cannot fail");
        }
        let is_good = faults.is_empty();
        health.log(self, &faults.join("; "));
        let is_brief = is_good && parameters.iter().all(|(key, _)| *key != "verbose");
        let outcome = if is_good { "passed" } else { "failed" };
        writeln!(text, "{} check {outcome}", self.name()).expect("writing to a string cannot fail");
        Report { is_good, text: if is_brief { "ok".into() } else { text } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a replica answers that stands by and has seen everything, after `change`.
    fn report(question: Question, query: &str, change: impl Fn(&Health)) -> (bool, String) {
        let health = Health::new(|| true);
        health.set_synced();
        change(&health);
        let Report { is_good, text } = question.report(&health, query);
        (is_good, text)
    }

    #[test]
    fn answers_read_as_those_of_kube_scheduler() {
        for question in Question::ALL {
            assert_eq!(report(question, "", |_| ()), (true, "ok".into()));
        }
        let livez = "[+]ping ok\n[+]leaderElection ok\nlivez check passed\n";
        assert_eq!(report(Question::Livez, "verbose", |_| ()), (true, livez.into()));
        assert_eq!(report(Question::Livez, "a=b&verbose=1", |_| ()), (true, livez.into()));
        let healthz = livez.replace("livez", "healthz");
        assert_eq!(report(Question::Healthz, "verbose", |_| ()), (true, healthz));
        let readyz = "[+]ping ok\n[+]leaderElection ok\n[+]api-discovery ok\n\
                      [+]informer-sync ok\n[+]sched-handler-sync ok\n[+]shutdown ok\n\
                      readyz check passed\n";
        assert_eq!(report(Question::Readyz, "verbose", |_| ()), (true, readyz.into()));
    }

    #[test]
    fn a_failed_check_is_named_without_its_reason() {
        let failed = "[+]ping ok\n[+]leaderElection ok\n[+]api-discovery ok\n\
                      [+]informer-sync ok\n[+]sched-handler-sync ok\n\
                      [-]shutdown failed: reason withheld\n\
                      readyz check failed\n";
        let found = report(Question::Readyz, "", Health::set_stopping);
        assert_eq!(found, (false, failed.into()));
        assert!(report(Question::Livez, "", Health::set_stopping).0, "still alive");
    }

    #[test]
    fn excluded_checks_do_not_count_and_unknown_ones_are_named() {
        let query = "exclude=shutdown&exclude=log&exclude=etcd&exclude=log&verbose";
        let (is_good, text) = report(Question::Readyz, query, Health::set_stopping);
        assert!(is_good);
        let end = "[+]shutdown excluded: ok\nwarn: some health checks cannot be excluded: no \
                   matches for \"etcd\",\"log\"\nreadyz check passed\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn nobody_is_ready_before_nodes_and_pods_are_known() {
        let health = Health::new(|| true);
        let failing = |health: &Health| {
            let checks = Question::Readyz.checks().iter();
            let failing = checks.filter(|check| health.fault(**check).is_some());
            failing.map(|check| check.name()).collect::<Vec<_>>()
        };
        assert_eq!(failing(&health), ["informer-sync", "sched-handler-sync"]);
        assert!(Question::Livez.report(&health, "").is_good, "but it lives");
        health.set_synced();
        assert_eq!(failing(&health), Vec::<&str>::new());
    }

    #[test]
    fn readiness_says_which_apis_cannot_be_read_and_what_is_not_listed() {
        let health = Health::new(|| true);
        health.set_missing("nodes, pods".into());
        health.set_apis_unknown(Some("/apis: 403 Forbidden".into()));
        let lines = crate::testing::log_lines();
        let text = Question::Readyz.report(&health, "").text;
        assert!(text.contains("[-]api-discovery failed: reason withheld"), "{text}");
        let said = lines.take();
        let expected = "api-discovery: /apis: 403 Forbidden; informer-sync: not listed yet: nodes, \
                        pods;";
        assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
        Question::Readyz.report(&health, "");
        assert_eq!(lines.take(), Vec::<String>::new(), "the same is said once");
        health.set_apis_unknown(None);
        health.set_synced();
        assert!(Question::Readyz.report(&health, "").is_good);
        assert_eq!(lines.take().len(), 1);
    }

    #[test]
    fn a_leader_that_does_not_renew_shall_be_restarted() {
        let health = Health::new(|| false);
        let report = Question::Livez.report(&health, "");
        let text = "[+]ping ok\n[-]leaderElection failed: reason withheld\nlivez check failed\n";
        assert_eq!((report.is_good, &*report.text), (false, text));
    }
}
