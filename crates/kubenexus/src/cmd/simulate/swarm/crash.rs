//! Crashes: a panic says which case it happened in and how to repeat it, and ends the process with
//! a code of its own.

use std::cell::RefCell;
use std::panic;
use std::process::{Command, Stdio};

use sim::swarm::{Case, FailureKind};

use crate::cmd::out;

thread_local! {
    /// The case that this thread runs.
    static CASE: RefCell<Option<Case>> = const { RefCell::new(None) };
}

/// Says which case this thread runs from now on.
pub(super) fn note(case: &Case) {
    CASE.with_borrow_mut(|noted| *noted = Some(case.clone()));
}

/// From now on a panic names its case and ends the process.
pub(super) fn watch() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |information| {
        before(information);
        let case = CASE.with(|noted| noted.try_borrow().ok().and_then(|noted| noted.clone()));
        if let Some(case) = case {
            let (seed, kind, command) = (case.seed, FailureKind::Crash, super::command(&case));
            // Who does not read it still gets the exit code.
            let _ = out::print(format_args!(
                "\nseed {seed} is {kind}: see above\nrepeat it with: {command}\n\
                 make it smaller with: {command} --shrink\n"
            ));
        }
        std::process::exit(FailureKind::Crash.exit_code().into());
    }));
}

/// Runs a case in a process of its own, and tells how it fails, if it does.
pub(super) fn run_apart(case: &Case) -> Option<FailureKind> {
    let program = std::env::current_exe().ok()?;
    let arguments = case.arguments();
    let mut command = Command::new(program);
    command.arg("simulate").args(arguments.split(' '));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let kinds = [FailureKind::Crash, FailureKind::Wrong, FailureKind::Stuck];
    kinds.into_iter().find(|kind| status.code() == Some(kind.exit_code().into()))
}
