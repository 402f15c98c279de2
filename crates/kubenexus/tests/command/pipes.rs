//! A reader that has gone away ends a command without a panic and without a word.

use std::io::pipe;
use std::net::TcpListener;
use std::process::Stdio;

use crate::replay::recorded;
use crate::runner::{arg, in_repository, kubenexus, scratch};

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = pipe().expect("there are pipes");
    drop(reader);
    writer.into()
}

fn check(args: &[&str], expected: i32) {
    let quiet = kubenexus(args).stdout(closed()).output().expect("the command starts");
    let said = String::from_utf8_lossy(&quiet.stderr);
    assert_eq!(quiet.status.code(), Some(expected), "{args:?} without standard output: {said}");
    assert_eq!(said, "", "{args:?}");
    let deaf = kubenexus(args).stdout(closed()).stderr(closed()).output();
    let code = deaf.expect("the command starts").status.code();
    assert_eq!(code, Some(expected), "{args:?} without standard output and standard error");
}

#[test]
fn results_that_nobody_reads_end_quietly_with_their_own_exit_code() {
    let cluster = in_repository("examples/simulate/cluster.yaml");
    let config = in_repository("examples/config/binpack.yaml");
    let case = in_repository("examples/verdict/fits-on-some.jsonl");
    let same = recorded("pipes-same", |_| {});
    let differs = recorded("pipes-differs", |decided| {
        if let journal::Decided::Wait { message, .. } = decided {
            *message = "the stars are wrong".into();
        }
    });
    check(&["simulate", arg(&cluster)], 0);
    check(&["simulate", "--swarm", "--seeds", "1"], 0);
    check(&["simulate", "--swarm", "--seed", "7"], 0);
    check(&["demo", "--json", "--nodes", "1", "--minutes", "1"], 0);
    check(&["check-config", arg(&config)], 0);
    check(&["verdict", arg(&case)], 0);
    check(&["replay", arg(&same)], 0);
    check(&["replay", arg(&differs)], 2);
    check(&["--help"], 0);
}

#[test]
fn messages_that_nobody_reads_change_no_exit_code() {
    let bad = scratch("pipes-bad.yaml", b"kind: Pod\nmetadata: {name: p}\nspec: {priority: x}\n");
    let cluster = in_repository("examples/simulate/cluster.yaml");
    let table: [(&[&str], i32); 6] = [
        (&["simulate", arg(&cluster), arg(&bad)], 1),
        (&["simulate", "--json", arg(&cluster)], 0),
        (&["check-config", arg(&bad)], 1),
        (&["verdict", "/nowhere"], 1),
        (&["simulate", "--swarm", "--seeds", "1", "--crash"], 20),
        (&["nonsense"], 2),
    ];
    for (args, expected) in table {
        let ran = kubenexus(args).stderr(closed()).output().expect("the command starts");
        assert_eq!(ran.status.code(), Some(expected), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_message() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
    let config = in_repository("examples/config/binpack.yaml");
    let ran = kubenexus(&["check-config", arg(&config)]).stdout(full).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1));
    assert!(said.starts_with("kubenexus: writing the result: No space left on device"), "{said}");
}

/// The scheduler says something whenever a connection breaks: here many do.
#[test]
fn a_scheduler_whose_log_nobody_reads_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let server = format!("--master=http://{}", listener.local_addr().expect("it listens"));
    let args = ["scheduler", &server, "--leader-elect=false", "--secure-port=0", "-v=4"];
    let mut child = kubenexus(&args).stdout(closed()).stderr(closed()).spawn().expect("it starts");
    for _ in 0..40 {
        drop(listener.accept().expect("it comes again"));
        let ended = child.try_wait().expect("it can be asked");
        assert_eq!(ended, None, "it ended for want of a reader");
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}
