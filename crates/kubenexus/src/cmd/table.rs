//! Tables for people: aligned columns under a rule, never wider than 100 characters.

pub(crate) use sim::text::{grouped, percent, span};

/// The widest line.
const WIDTH_MAX: usize = 100;
/// Spaces between columns, and before the first.
const GAP: &str = "  ";

/// How a column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
    /// At the left, and broken at spaces where the line would become too long.
    Wrap,
}

/// Rows of text under headings.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
    total: Option<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), total: None }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        let cells = cells.into();
        assert_eq!(cells.len(), self.columns.len(), "every row has a cell in every column");
        self.rows.push(cells);
    }

    /// Makes the last row the total of those above it.
    pub(crate) fn last_is_total(&mut self) {
        self.total = self.rows.pop();
    }

    /// The lines of the table.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let head: Vec<String> = self.columns.iter().map(|(head, _)| (*head).to_owned()).collect();
        let rule: usize = widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1);
        let rule = format!("{GAP}{}\n", "─".repeat(rule));
        let mut text = self.lines(&head, &widths);
        text.push_str(&rule);
        for row in &self.rows {
            text.push_str(&self.lines(row, &widths));
        }
        if let Some(total) = &self.total {
            text.push_str(&rule);
            text.push_str(&self.lines(total, &widths));
        }
        text
    }

    /// The lines of the table, without heads and rule.
    pub(crate) fn plain(&self) -> String {
        let widths = self.widths();
        self.rows.iter().map(|row| self.lines(row, &widths)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |(at, (head, _)): (usize, &(&str, Align))| {
            let cells = self.rows.iter().chain(&self.total).map(|row| width_of(&row[at]));
            cells.chain([width_of(head)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(width).collect();
        let gaps = GAP.len() * widths.len();
        if let Some(at) = self.columns.iter().position(|(_, align)| *align == Align::Wrap) {
            let others = widths.iter().sum::<usize>() - widths[at];
            widths[at] = widths[at].min(WIDTH_MAX.saturating_sub(others + gaps));
        }
        widths
    }

    /// One row, over as many lines as its wrapped cell needs.
    fn lines(&self, cells: &[String], widths: &[usize]) -> String {
        let columns = cells.iter().zip(widths).zip(&self.columns);
        let columns: Vec<(Vec<String>, usize, Align)> = columns
            .map(|((cell, width), (_, align))| match align {
                Align::Left | Align::Right => (vec![cell.clone()], *width, *align),
                Align::Wrap => (wrapped(cell, *width), *width, *align),
            })
            .collect();
        let height = columns.iter().map(|(lines, ..)| lines.len()).max().unwrap_or(0);
        let mut text = String::new();
        for at in 0..height {
            let mut line = String::new();
            for (lines, width, align) in &columns {
                let cell = lines.get(at).map_or("", String::as_str);
                let padding = " ".repeat(width.saturating_sub(width_of(cell)));
                line.push_str(GAP);
                match align {
                    Align::Left | Align::Wrap => line.extend([cell, padding.as_str()]),
                    Align::Right => line.extend([padding.as_str(), cell]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Characters, all of which take one cell here.
fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at spaces; a word that is too long stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if width_of(line) + 1 + width_of(word) <= width {
            line.extend([" ", word]);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Thousandths as a bar and percent: `█████░░░  63 %`.
pub(crate) fn percent_bar(permille: u32) -> String {
    const CELLS: u32 = 8;
    let filled = ((permille * CELLS + 500) / 1000).min(CELLS);
    let bar = "█".repeat(filled as usize) + &"░".repeat((CELLS - filled) as usize);
    format!("{bar} {:>5}", percent(permille))
}

/// Values over time as one character each, from the lowest bar for nothing to the highest for the
/// largest of them; a space where there is no value. Values that share a character are averaged.
pub(crate) fn sparks(values: &[Option<u64>], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = width.min(values.len());
    let mean = |at: usize| -> Option<u64> {
        let part = &values[values.len() * at / width..values.len() * (at + 1) / width];
        let known: Vec<u64> = part.iter().copied().flatten().collect();
        known.iter().sum::<u64>().checked_div(known.len() as u64)
    };
    let means: Vec<Option<u64>> = (0..width).map(mean).collect();
    let highest = means.iter().copied().flatten().max().unwrap_or(0).max(1);
    let bar = |value: u64| {
        // Below eight, because no value is above the highest.
        BARS[(value * 7).div_ceil(highest).min(7) as usize]
    };
    means.into_iter().map(|value| value.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_percent() {
        assert_eq!(percent_bar(630), "█████░░░  63 %");
        assert_eq!([percent_bar(0), percent_bar(1000)], ["░░░░░░░░   0 %", "████████ 100 %"]);
    }

    #[test]
    fn sparks_rise_to_the_highest_value_and_show_gaps() {
        let values = [Some(0), Some(50), None, Some(100)];
        assert_eq!(sparks(&values, 60), "▁▅ █");
        assert_eq!(sparks(&[Some(0), Some(100), Some(0), Some(0)], 2), "█▁");
        assert_eq!(sparks(&[], 60), "");
        assert_eq!(sparks(&[Some(0); 3], 60), "▁▁▁");
    }

    #[test]
    fn columns_are_aligned_and_wrapped_within_the_width() {
        let mut table =
            Table::new(&[("kind", Align::Left), ("pods", Align::Right), ("why", Align::Wrap)]);
        table.row(["web".to_owned(), "5".to_owned(), "nothing".to_owned()]);
        table.row(["batch".to_owned(), "12".to_owned(), "word ".repeat(40).trim().to_owned()]);
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  kind   pods  why");
        assert_eq!(lines[2], "  web       5  nothing");
        assert!(lines[3].starts_with("  batch    12  word word"));
        assert!(lines[4].starts_with("               word"));
        assert!(lines.iter().all(|line| width_of(line) <= WIDTH_MAX));
    }
}
