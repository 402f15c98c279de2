//! Reads the jobs of the trace.

use model::{Millis, Time};

use crate::trace::csv::{Table, TraceError};

/// More GPUs than any job asks for.
const GPUS_MAX: u64 = 1 << 16;
/// More seconds than any job runs: a thousand years.
const SECONDS_MAX: u64 = 1000 * 366 * 86_400;

/// A job of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// When it arrives, counted from the first arrival.
    pub at: Time,
    /// How long it runs.
    pub runs: Millis,
    /// How many GPUs it asks for.
    pub gpus: u64,
    /// Its virtual cluster.
    pub cluster: Box<str>,
}

/// Reads jobs (`timestamp,duration,num_gpus,cluster`), and puts them in the order of arrival.
/// Other columns are skipped. The name of the file is for messages.
///
/// # Errors
/// When the file does not have these columns, or a value is not as expected.
pub fn read_jobs(file: &str, text: &str) -> Result<Vec<TraceJob>, TraceError> {
    let table = Table::read(file, text)?;
    let (timestamp, duration) = (table.column("timestamp")?, table.column("duration")?);
    let (gpus, cluster) = (table.column("num_gpus")?, table.column("cluster")?);
    let mut jobs = Vec::new();
    for row in table.rows()? {
        let at = seconds_of_date(row.text(timestamp))
            .ok_or_else(|| row.fault(timestamp, "a time such as 2017-10-09 07:01:55"))?;
        let runs = millis_of_seconds(row.text(duration))
            .ok_or_else(|| row.fault(duration, "seconds such as 66.0"))?;
        let job = TraceJob {
            at: Time(at * 1000),
            runs,
            gpus: row.number(gpus, 1..=GPUS_MAX)?,
            cluster: row.name(cluster)?.into(),
        };
        jobs.push(job);
    }
    // Stable: jobs that arrive together stay in the order of the file.
    jobs.sort_by_key(|job| job.at);
    let first = jobs.first().map_or(0, |job| job.at.0);
    jobs.iter_mut().for_each(|job| job.at.0 -= first);
    Ok(jobs)
}

/// Seconds since the year 0 of `2017-10-09 07:01:55`.
fn seconds_of_date(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(' ')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if day == 0 || day > length || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let months: u64 = lengths[..month as usize - 1].iter().sum();
    let leaps = year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let days = year * 365 + leaps + months + day - 1;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Three numbers of so many digits, and nothing else.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let numbers = digits.map(|digits| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    });
    let [Some(first), Some(second), Some(third)] = numbers else { return None };
    parts.next().is_none().then_some([first, second, third])
}

/// Seconds with or without a fraction; what is below a millisecond is left out.
fn millis_of_seconds(text: &str) -> Option<Millis> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: u64 = whole.parse().ok().filter(|seconds| *seconds <= SECONDS_MAX)?;
    let thousandths: String = fraction.chars().chain("00".chars()).take(3).collect();
    Some(Millis(seconds * 1000 + thousandths.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_table() {
        let seconds = |text| seconds_of_date(text).unwrap();
        // (earlier, later, seconds between them)
        let table = [
            ("2017-10-09 07:01:55", "2017-10-09 07:01:56", 1),
            ("2017-10-09 07:01:55", "2017-10-10 07:01:55", 86_400),
            ("2017-02-28 23:59:59", "2017-03-01 00:00:00", 1),
            ("2016-02-28 23:59:59", "2016-03-01 00:00:00", 86_401),
            ("2016-12-31 23:59:59", "2017-01-01 00:00:00", 1),
            ("1970-01-01 00:00:00", "2017-10-09 07:01:55", 1_507_532_515),
        ];
        for (earlier, later, expected) in table {
            assert_eq!(seconds(later) - seconds(earlier), expected, "{earlier} {later}");
        }
        let refused = [
            "",
            "2017-10-09",
            "2017-10-09T07:01:55",
            "2017-13-09 07:01:55",
            "2017-00-09 07:01:55",
            "2017-02-29 07:01:55",
            "2017-10-09 24:01:55",
            "2017-10-9 07:01:55",
            "2017-10-09 07:01:55:00",
            "+017-10-09 07:01:55",
        ];
        for text in refused {
            assert_eq!(seconds_of_date(text), None, "{text}");
        }
    }

    #[test]
    fn durations_by_table() {
        let table = [
            ("66.0", Some(66_000)),
            ("66", Some(66_000)),
            ("0.0019", Some(1)),
            ("1.5", Some(1500)),
            ("", None),
            ("-1.0", None),
            ("1e3", None),
            ("1.", None),
            (".5", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in table {
            assert_eq!(millis_of_seconds(text), expected.map(Millis), "{text}");
        }
    }
}
