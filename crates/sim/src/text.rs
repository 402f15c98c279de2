//! Numbers as people read them.

/// A number with its thousands set apart: `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span of milliseconds in the unit that suits it.
#[must_use]
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60),
        3_600_000.. => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// Thousandths as percent.
#[must_use]
pub fn percent(permille: u32) -> String {
    format!("{} %", permille.saturating_add(5) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let groups = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(groups, ["0", "999", "1,000", "1,234,567"]);
        let spans = [7, 1_250, 61_000, 3_720_000].map(span);
        assert_eq!(spans, ["7 ms", "1.2 s", "1 min 01 s", "1 h 02 min"]);
        assert_eq!([percent(0), percent(994), percent(995)], ["0 %", "99 %", "100 %"]);
    }
}
