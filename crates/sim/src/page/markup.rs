//! Text that is safe on a page, and times that are short on an axis.

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
