//! The candidate `me` on a clock of the test's own: 15 s, 10 s and 2 s, as by default.

use super::*;

const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};

/// What is reported before the candidate is asked for its next step.
enum Told {
    /// Nothing, or that a request failed, lost a race or got no answer.
    Nothing,
    Absent,
    /// Holder, version.
    Found(&'static str, u32),
    /// Holder, version, seconds by which the holder's wall clock differs.
    Skewed(&'static str, u32, i64),
    /// Holder, version, duration in seconds.
    Lasting(&'static str, u32, i32),
    /// Our write of this version, begun at this time in milliseconds.
    Wrote(u32, u64),
}
use Told::{Absent, Found, Lasting, Nothing, Skewed, Wrote};

/// Rows of a time in milliseconds, what is told then, and the step that follows.
#[track_caller]
fn check(rows: &[(u64, Told, &str)]) {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut election = Election::new("me".into(), "ns", "lease", TIMING);
    for (number, (ms, told, wanted)) in rows.iter().enumerate() {
        match *told {
            Nothing => {}
            Absent => election.found(None, at(*ms)),
            Found(holder, version) => {
                election.found(Some(lease(holder, version, 0, 15)), at(*ms));
            }
            Skewed(holder, version, skew) => {
                election.found(Some(lease(holder, version, skew, 15)), at(*ms));
            }
            Lasting(holder, version, seconds) => {
                election.found(Some(lease(holder, version, 0, seconds)), at(*ms));
            }
            Wrote(version, began) => {
                election.written(lease("me", version, 0, 15), at(began), at(*ms));
            }
        }
        let step = text(&election.step(at(*ms), wall(*ms)));
        assert_eq!(step, *wanted, "row {number}, at {ms} ms");
    }
}

fn wall(ms: u64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms as i64).unwrap()
}

/// A lease whose renewals are a second apart, version by version.
fn lease(holder: &str, version: u32, skew: i64, seconds: i32) -> Lease {
    let renewed = Timestamp::from_second(1_800_000_000 + i64::from(version) + skew).unwrap();
    let metadata = ObjectMeta {
        name: Some("lease".into()),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    let spec = LeaseSpec {
        holder_identity: Some(holder.into()),
        lease_duration_seconds: Some(seconds),
        acquire_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
        renew_time: Some(MicroTime(renewed)),
        lease_transitions: Some(7),
        ..LeaseSpec::default()
    };
    Lease { metadata, spec: Some(spec) }
}

fn text(step: &Step) -> String {
    match step {
        Step::Read => "read".into(),
        Step::Create(_) => "create".into(),
        Step::Replace(lease) => {
            format!("replace {}", lease.metadata.resource_version.as_deref().unwrap_or("none"))
        }
        Step::Rest => "rest".into(),
        Step::Lost(loss) => format!("lost: {loss}"),
    }
}

const LATE: &str = "lost: it could not be renewed before the deadline";

#[test]
fn a_lease_that_was_never_there_is_created_and_renewed() {
    check(&[
        (0, Nothing, "read"),
        (5, Absent, "create"),
        (2010, Wrote(1, 5), "replace 1"),
        (4010, Wrote(2, 2010), "replace 2"),
    ]);
}

#[test]
fn a_lease_nobody_holds_is_taken_at_once() {
    check(&[(0, Nothing, "read"), (5, Found("", 3), "replace 3")]);
}

#[test]
fn a_held_lease_expires_by_observation_only() {
    check(&[
        (0, Nothing, "read"),
        (0, Found("other", 3), "rest"),
        (2000, Nothing, "read"),
        (2000, Found("other", 3), "rest"),
        // It was renewed: fifteen seconds from here.
        (14_000, Found("other", 4), "rest"),
        (15_000, Found("other", 4), "rest"),
        (28_999, Found("other", 4), "rest"),
        (29_000, Found("other", 4), "replace 4"),
    ]);
}

#[test]
fn clocks_of_other_machines_do_not_matter() {
    for skew in [-3600, 3600] {
        check(&[
            (0, Skewed("other", 3, skew), "rest"),
            (14_999, Skewed("other", 3, skew), "rest"),
            (15_000, Skewed("other", 3, skew), "replace 3"),
        ]);
    }
}

#[test]
fn the_longer_of_two_lease_durations_counts() {
    check(&[
        (0, Lasting("other", 3, 60), "rest"),
        (59_999, Lasting("other", 3, 60), "rest"),
        (60_000, Lasting("other", 3, 60), "replace 3"),
    ]);
    check(&[
        (0, Lasting("other", 3, 1), "rest"),
        (14_999, Lasting("other", 3, 1), "rest"),
        (15_000, Lasting("other", 3, 1), "replace 3"),
    ]);
    check(&[(0, Lasting("other", 3, -1), "rest"), (15_000, Lasting("other", 3, -1), "replace 3")]);
}

#[test]
fn a_lost_race_is_followed_by_a_look_and_a_wait() {
    // Both saw it expire, the other was faster.
    check(&[
        (0, Found("dead", 3), "rest"),
        (15_000, Found("dead", 3), "replace 3"),
        (15_010, Nothing, "read"),
        (15_020, Found("other", 4), "rest"),
        (30_019, Found("other", 4), "rest"),
        (30_020, Found("other", 4), "replace 4"),
    ]);
    // Both tried to create it.
    check(&[(0, Absent, "create"), (5, Nothing, "read"), (9, Found("other", 1), "rest")]);
}

#[test]
fn a_write_without_an_answer_is_looked_for_and_renewed() {
    check(&[
        (0, Found("", 3), "replace 3"),
        (4000, Nothing, "read"),
        (4005, Found("me", 4), "replace 4"),
        (4010, Wrote(5, 4005), "replace 5"),
        (6000, Nothing, "read"),
        (6010, Found("me", 6), "replace 6"),
    ]);
}

#[test]
fn the_right_is_counted_from_the_start_of_the_last_renewal() {
    check(&[
        (0, Absent, "create"),
        (3000, Wrote(1, 0), "replace 1"),
        (9999, Nothing, "read"),
        (10_000, Nothing, LATE),
    ]);
    check(&[
        (0, Absent, "create"),
        (5, Wrote(1, 0), "replace 1"),
        (9000, Wrote(2, 2000), "replace 2"),
        (11_999, Nothing, "read"),
        (12_000, Nothing, LATE),
    ]);
}

#[test]
fn a_frozen_leader_has_lost_whatever_it_reads() {
    let thawed = 60_000;
    for told in [Nothing, Absent, Found("me", 1), Found("other", 9), Wrote(2, 2000)] {
        check(&[(0, Absent, "create"), (5, Wrote(1, 0), "replace 1"), (thawed, told, LATE)]);
    }
}

#[test]
fn a_lease_whose_answer_came_too_late_is_ours_but_gives_no_right() {
    check(&[
        (0, Absent, "create"),
        (20_000, Wrote(1, 0), "replace 1"),
        // Leading would be lost here.
        (90_000, Found("me", 1), "replace 1"),
        (90_005, Wrote(2, 90_000), "replace 2"),
        (100_000, Nothing, LATE),
    ]);
}

#[test]
fn a_released_lease_is_taken_over_at_the_next_try() {
    check(&[
        (0, Found("other", 3), "rest"),
        (2000, Nothing, "read"),
        (2005, Lasting("", 4, 1), "replace 4"),
    ]);
}

#[test]
fn a_leader_puts_a_deleted_lease_back_and_others_wait_for_that() {
    check(&[
        (0, Absent, "create"),
        (5, Wrote(1, 0), "replace 1"),
        (2005, Nothing, "read"),
        (2010, Absent, "create"),
        (2015, Wrote(4, 2010), "replace 4"),
    ]);
    check(&[
        (0, Found("other", 3), "rest"),
        (14_000, Absent, "rest"),
        (16_000, Absent, "rest"),
        (28_999, Absent, "rest"),
        (29_000, Absent, "create"),
    ]);
    check(&[
        (0, Found("other", 3), "rest"),
        (2000, Absent, "rest"),
        (4000, Found("", 5), "replace 5"),
    ]);
    check(&[(0, Found("", 3), "replace 3"), (10, Absent, "create")]);
}

#[test]
fn a_leader_gives_way_to_whoever_was_written_in() {
    check(&[
        (0, Absent, "create"),
        (5, Wrote(1, 0), "replace 1"),
        (2005, Nothing, "read"),
        (2010, Found("somebody", 2), "lost: somebody holds it"),
    ]);
}

/// Holder, seconds, acquired and renewed in milliseconds after the start, transitions.
fn record(step: Step) -> (String, i32, i64, i64, i32) {
    let (Step::Create(lease) | Step::Replace(lease)) = step else { panic!("{step:?} is no write") };
    record_of(&lease)
}

fn record_of(lease: &Lease) -> (String, i32, i64, i64, i32) {
    let spec = lease.spec.clone().unwrap();
    let ms = |time: Option<MicroTime>| time.unwrap().0.as_millisecond() - 1_800_000_000_000;
    (
        spec.holder_identity.unwrap(),
        spec.lease_duration_seconds.unwrap(),
        ms(spec.acquire_time),
        ms(spec.renew_time),
        spec.lease_transitions.unwrap(),
    )
}

#[test]
fn records_say_since_when_and_how_often_it_changed_hands() {
    let now = Instant::now();
    let mut election = Election::new("me".into(), "ns", "lease", TIMING);
    election.found(None, now);
    let Step::Create(created) = election.step(now, wall(5)) else { panic!("no create") };
    assert_eq!(created.metadata.name.as_deref(), Some("lease"));
    assert_eq!(created.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(record_of(&created), ("me".into(), 15, 5, 5, 0));

    election.written(*created, now, now);
    assert_eq!(record(election.step(now, wall(2005))), ("me".into(), 15, 5, 2005, 0));

    // From another holder: acquired at this moment, one more transition.
    let mut election = Election::new("me".into(), "ns", "lease", TIMING);
    election.found(Some(lease("", 3, 0, 1)), now);
    assert_eq!(record(election.step(now, wall(9))), ("me".into(), 15, 9, 9, 8));
}

#[test]
fn a_record_keeps_what_others_wrote_beside_it() {
    let now = Instant::now();
    let mut election = Election::new("me".into(), "ns", "lease", TIMING);
    let mut labelled = lease("", 3, 0, 15);
    labelled.metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
    election.found(Some(labelled.clone()), now);
    let Step::Replace(written) = election.step(now, wall(0)) else { panic!("no replace") };
    assert_eq!(written.metadata, labelled.metadata);
}

#[test]
fn durations_are_written_in_whole_seconds_rounded_up() {
    for (ms, seconds) in [(1, 1), (1000, 1), (1001, 2), (u64::MAX, i32::MAX)] {
        let timing = Timing { lease_duration: Duration::from_millis(ms), ..TIMING };
        let election = Election::new("me".into(), "ns", "lease", timing);
        assert_eq!(record_of(&election.fresh(wall(0))).1, seconds, "{ms} ms");
    }
}

#[test]
fn only_a_lease_of_ours_is_released() {
    let election = Election::new("me".into(), "ns", "lease", TIMING);
    let released = election.released(lease("me", 3, 0, 15), wall(44)).unwrap();
    assert_eq!(record_of(&released), (String::new(), 1, 44, 44, 7));
    assert_eq!(released.metadata.resource_version.as_deref(), Some("3"));
    assert!(election.released(lease("other", 3, 0, 15), wall(44)).is_none());
    assert!(election.released(lease("", 3, 0, 15), wall(44)).is_none());
}

#[test]
fn a_renewal_that_hangs_leaves_time_for_another() {
    for (renew, retry) in [(10_000, 2000), (500, 200), (1201, 1000), (2, 1)] {
        let timing = Timing {
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
            ..TIMING
        };
        let request = timing.request_timeout();
        assert!(!request.is_zero());
        assert!(timing.retry_period + 2 * request <= timing.renew_deadline, "{renew}, {retry}");
    }
}
