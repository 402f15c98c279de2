//! Durations as Go writes them: `15s`, `1m30s`, `500ms`, `1.5h`.

use model::Millis;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not a sequence of numbers with units.
    #[error("expected a duration such as 15s, 1m30s or 500ms, found {0}")]
    Malformed(String),
    /// A number without a unit.
    #[error("expected a duration such as 15s or 500ms, found {0}, which lacks a unit")]
    NoUnit(String),
    /// Below zero.
    #[error("expected a duration that is not negative, found {0}")]
    Negative(String),
    /// More than 2^63-1 nanoseconds.
    #[error("expected a duration of at most 292 years, found {0}")]
    TooLong(String),
}

/// A span of time as flags have it; what is below a millisecond is cut off.
///
/// # Errors
/// When the text is no duration.
pub fn parse_span(text: &str) -> Result<Millis, DurationError> {
    parse(text).map(|nanoseconds| Millis(nanoseconds / 1_000_000))
}

/// Nanoseconds of a duration.
pub(super) fn parse(text: &str) -> Result<u64, DurationError> {
    let shown = || crate::document::quoted(text);
    let (is_negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(DurationError::Malformed(shown()));
    }
    let mut total: u64 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (number, after) = split(rest, |byte| byte.is_ascii_digit() || byte == b'.');
        let (unit, after) = split(after, |byte| !byte.is_ascii_digit() && byte != b'.');
        if unit.is_empty() && !number.is_empty() {
            return Err(DurationError::NoUnit(shown()));
        }
        let unit = nanoseconds(unit).ok_or_else(|| DurationError::Malformed(shown()))?;
        let part = scaled(number, unit).ok_or_else(|| DurationError::Malformed(shown()))?;
        let sum = part.and_then(|part| total.checked_add(part));
        let sum = sum.filter(|sum| i64::try_from(*sum).is_ok());
        total = sum.ok_or_else(|| DurationError::TooLong(shown()))?;
        rest = after;
    }
    if is_negative && total > 0 {
        return Err(DurationError::Negative(shown()));
    }
    Ok(total)
}

fn split(text: &str, is_first: impl Fn(u8) -> bool) -> (&str, &str) {
    // Both kinds of bytes start with ASCII, so the cut falls between characters.
    let length = text.bytes().take_while(|byte| is_first(*byte)).count();
    text.split_at(length)
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// `number` times `unit`, cut to whole nanoseconds. The outer option: whether it is a number; the
/// inner one: whether it is small enough.
fn scaled(number: &str, unit: u64) -> Option<Option<u64>> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    // Sixteen digits of a fraction of an hour are finer than a nanosecond.
    let fraction = &fraction[..fraction.len().min(16)];
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let part = u128::from(digits(fraction)?) * u128::from(unit);
    let part = part / 10u128.pow(u32::try_from(fraction.len()).expect("at most sixteen digits"));
    let part = u64::try_from(part).expect("a fraction is less than its unit");
    let whole = digits(whole).and_then(|whole| whole.checked_mul(unit));
    Some(whole.and_then(|whole| whole.checked_add(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        const SECOND: u64 = 1_000_000_000;
        let table = [
            ("0", 0),
            ("-0", 0),
            ("0s", 0),
            ("15s", 15 * SECOND),
            ("+5s", 5 * SECOND),
            ("1m30s", 90 * SECOND),
            ("500ms", SECOND / 2),
            ("1.5h", 5400 * SECOND),
            (".5s", SECOND / 2),
            ("1.s", SECOND),
            ("3us", 3000),
            ("3\u{b5}s", 3000),
            ("1h1m1s1ms1us1ns", 3661 * SECOND + 1_001_001),
            ("0.3333333333333333333h", 1_199_999_999_999),
            ("0.0000000000000000000000000000000000000001s", 0),
            ("9223372036854775807ns", i64::MAX as u64),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_by_name() {
        let malformed = ["", "-", "s", ".s", "1x", "1.2.3s", "15 s", "1s ", "one", "1\u{e9}"];
        for text in malformed {
            let error = parse(text).expect_err(text);
            assert!(matches!(error, DurationError::Malformed(_)), "{text}: {error}");
        }
        assert!(matches!(parse("15"), Err(DurationError::NoUnit(_))));
        assert!(matches!(parse("1m30"), Err(DurationError::NoUnit(_))));
        assert!(matches!(parse("-1s"), Err(DurationError::Negative(_))));
        for text in
            ["9223372036854775808ns", "99999999999999999999s", "3000000h", "2562047h1000000h"]
        {
            assert!(matches!(parse(text), Err(DurationError::TooLong(_))), "{text}");
        }
    }
}
