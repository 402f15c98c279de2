//! Times as objects have them: `2026-01-02T03:04:05Z`, or with an offset such as `+01:00`.

/// How much of a text is repeated to its author.
const SHOWN_MAX: usize = 40;

/// Seconds since 1970. Parts of a second are left out, as the API server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Timestamp(pub(super) i64);

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let seconds = seconds(&text);
        seconds.map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(SHOWN_MAX).collect();
            format!("{shown:?} is no time (expected one like \"2026-01-02T03:04:05Z\")")
        })
    }
}

fn seconds(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize, max: i64| {
        let digits = text.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse::<i64>().ok().filter(|number| *number <= max)
    };
    let is_at = |at: usize, mark: u8| text.as_bytes().get(at) == Some(&mark);
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| is_at(*at, *mark)) {
        return None;
    }
    let date = (number(0, 4, 9999)?, number(5, 7, 12)?, number(8, 10, 31)?);
    let (hour, minute, second) = (number(11, 13, 23)?, number(14, 16, 59)?, number(17, 19, 59)?);
    let rest = text.get(19..)?;
    let fraction = rest.strip_prefix('.').unwrap_or(rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if (digits > 0) != rest.starts_with('.') {
        return None;
    }
    let zone = 19 + usize::from(digits > 0) + digits;
    let offset = match text.as_bytes().get(zone)? {
        b'Z' if text.len() == zone + 1 => 0,
        sign @ (b'+' | b'-') if text.len() == zone + 6 && is_at(zone + 3, b':') => {
            let minutes = number(zone + 1, zone + 3, 23)? * 60 + number(zone + 4, zone + 6, 59)?;
            if *sign == b'+' { minutes * 60 } else { -minutes * 60 }
        }
        _ => return None,
    };
    Some(days(date)? * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}

/// Days since 1970, by counting years from the first of March.
fn days((year, month, day): (i64, i64, i64)) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if day < 1 || day > last {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(day_of_era + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read_by_table() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-16T06:30:00Z", Some(1_794_810_600)),
            ("2024-02-29T23:59:59Z", Some(1_709_251_199)),
            ("2000-03-01T00:00:00Z", Some(951_868_800)),
            ("1969-12-31T23:59:59Z", Some(-1)),
            ("2026-11-16T07:30:00+01:00", Some(1_794_810_600)),
            ("2026-11-16T06:30:00.25Z", Some(1_794_810_600)),
            ("2026-11-16T06:30:00-00:30", Some(1_794_812_400)),
            ("2023-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-16T06:30:00", None),
            ("2026-11-16T06:30:00.Z", None),
            ("2026-11-16 06:30:00Z", None),
            ("2026-11-16T06:30:00Zx", None),
            ("soon", None),
            ("\u{e9}\u{e9}\u{e9}", None),
        ];
        for (text, expected) in table {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
