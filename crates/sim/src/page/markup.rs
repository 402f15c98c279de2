//! Text that is safe on a page, and numbers that read well.

/// A text as it may stand between and inside tags. Characters that XML does not know are replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                safe.push('\u{fffd}');
            }
            _ => safe.push(letter),
        }
    }
    safe
}

/// A text of a bounded length, with dots where it was cut.
pub(super) fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
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

/// Thousandths as percent.
pub(super) fn percent(permille: u32) -> String {
    format!("{} %", (permille + 5) / 10)
}

/// A span of milliseconds in the unit that suits it.
pub(super) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60),
        3_600_000.. => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// A time on an axis, as short as it can be: `90s` is `1m30s`, two hours are `2h`.
pub(super) fn clock(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    let parts = [(hours, "h"), (minutes, "m"), (seconds, "s"), (ms % 1000, "ms")];
    let text: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if text.is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_can_become_markup() {
        assert_eq!(
            escape("<b title=\"x\">&'\u{0}\u{1b}"),
            "&lt;b title=&quot;x&quot;&gt;&amp;&#39;\u{fffd}\u{fffd}"
        );
        assert_eq!(cut("abcdef", 3), "abc…");
        assert_eq!(cut("äöü", 3), "äöü");
    }

    #[test]
    fn times_on_an_axis_are_short() {
        let times = [0, 500, 90_000, 7_200_000, 5_400_000].map(clock);
        assert_eq!(times, ["0", "500ms", "1m30s", "2h", "1h30m"]);
    }
}
