//! Lines over time, with axes, units, a legend, and what every moment says when pointed at.

use super::markup::{clock, escape};
use crate::history::Sample;
use crate::text::{grouped, percent, span};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 24.0;
/// Colours that there are; further lines start again.
pub(super) const COLOURS: usize = 8;
/// The most moments that can be pointed at.
const POINTS_MAX: usize = 120;

/// What the values of a plot are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Permille,
    Pods,
}

impl Unit {
    fn text(self, value: u64) -> String {
        match self {
            Self::Permille => percent(u32::try_from(value).unwrap_or(u32::MAX)),
            Self::Pods => grouped(value),
        }
    }
}

/// A line of a plot.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: usize,
    /// One per sample; a gap where there is none.
    pub(super) values: Vec<Option<u64>>,
}

/// Lines over the same time.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    pub(super) unit: Unit,
    /// The scale reaches this, and what is above it.
    pub(super) at_least: u64,
    pub(super) lines: Vec<Line>,
}

impl Plot<'_> {
    /// The plot, or nothing if no line has a value.
    pub(super) fn svg(mut self, samples: &[Sample]) -> String {
        self.lines.retain(|line| line.values.iter().any(Option::is_some));
        if self.lines.is_empty() {
            return String::new();
        }
        let values = self.lines.iter().flat_map(|line| line.values.iter().copied().flatten());
        let step = nice_step(values.max().unwrap_or(0).max(self.at_least), self.unit);
        let top = values_top(&self.lines, self.at_least, step);
        let frame = Frame { end_ms: samples.last().map_or(0, |last| last.at_ms).max(1), top };
        let mut svg = format!(
            "<figure><figcaption>{}{}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             role=\"img\" aria-label=\"{0} over time\">",
            escape(self.title),
            self.legend(),
        );
        svg += &frame.axes(step, self.unit);
        for line in &self.lines {
            let path = frame.path(line, samples);
            let colour = line.colour % COLOURS;
            svg += &format!("<path class=\"line c{colour}\" d=\"{path}\"/>");
        }
        svg += &self.points(&frame, samples);
        svg + "</svg></figure>"
    }

    fn legend(&self) -> String {
        if self.lines.len() < 2 {
            return String::new();
        }
        let entry = |line: &Line| {
            let (colour, name) = (line.colour % COLOURS, escape(&line.name));
            format!("<span class=\"key\"><i class=\"c{colour}\"></i>{name}</span>")
        };
        let entries: String = self.lines.iter().map(entry).collect();
        format!("<span class=\"legend\">{entries}</span>")
    }

    /// Invisible strips that say what the values are.
    fn points(&self, frame: &Frame, samples: &[Sample]) -> String {
        let step = samples.len().div_ceil(POINTS_MAX).max(1);
        let mut text = String::from("<g class=\"points\">");
        for at in (0..samples.len()).step_by(step) {
            let from = frame.x(samples[at].at_ms);
            let to = samples.get(at + step).map_or(WIDTH - RIGHT, |next| frame.x(next.at_ms));
            let mut title = span(samples[at].at_ms);
            for line in &self.lines {
                if let Some(value) = line.values[at] {
                    title += &format!("\n{}: {}", line.name, self.unit.text(value));
                }
            }
            text += &format!(
                "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\"><title>{}</title>\
                 </rect>",
                (to - from).max(0.5),
                HEIGHT - TOP - BOTTOM,
                escape(&title),
            );
        }
        text + "</g>"
    }
}

/// The top of the scale: a whole number of steps.
fn values_top(lines: &[Line], at_least: u64, step: u64) -> u64 {
    let most = lines.iter().flat_map(|line| line.values.iter().copied().flatten()).max();
    most.unwrap_or(0).max(at_least).div_ceil(step).saturating_mul(step)
}

/// A step that leads to about four marks: 1, 2 or 5 times a power of ten, or a quarter of all.
fn nice_step(top: u64, unit: Unit) -> u64 {
    if unit == Unit::Permille && top <= 1000 {
        return 250;
    }
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if top.div_ceil(step) <= 5 {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// A step of time that leads to at most eight marks.
fn time_step(end_ms: u64) -> u64 {
    const STEPS_MS: [u64; 20] = [
        1,
        10,
        100,
        500,
        1_000,
        5_000,
        15_000,
        30_000,
        60_000,
        300_000,
        900_000,
        1_800_000,
        3_600_000,
        7_200_000,
        10_800_000,
        14_400_000,
        21_600_000,
        43_200_000,
        86_400_000,
        604_800_000,
    ];
    let found = STEPS_MS.into_iter().find(|step| end_ms / step <= 8);
    found.unwrap_or_else(|| end_ms.div_ceil(8))
}

/// Where values are on the drawing.
struct Frame {
    end_ms: u64,
    top: u64,
}

impl Frame {
    fn x(&self, at_ms: u64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * at_ms as f64 / self.end_ms as f64
    }

    fn y(&self, value: u64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value as f64 / self.top as f64
    }

    fn axes(&self, step: u64, unit: Unit) -> String {
        let mut text = String::new();
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for mark in (0..=self.top / step).map(|at| at * step) {
            let y = self.y(mark);
            text += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 3.5,
                unit.text(mark),
            );
        }
        let step = time_step(self.end_ms);
        for mark in (0..=self.end_ms / step).map(|at| at * step) {
            let x = self.x(mark);
            text += &format!(
                "<line class=\"tick\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
                 <text class=\"mark\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 4.0,
                bottom + 16.0,
                clock(mark),
            );
        }
        text
    }

    /// Steps: a value holds until the next sample.
    fn path(&self, line: &Line, samples: &[Sample]) -> String {
        let mut path = String::new();
        let mut is_open = false;
        for (value, sample) in line.values.iter().zip(samples) {
            let x = self.x(sample.at_ms);
            match value {
                Some(value) if is_open => path += &format!("H{x:.1}V{:.1}", self.y(*value)),
                Some(value) => path += &format!("M{x:.1} {:.1}", self.y(*value)),
                None if is_open => path += &format!("H{x:.1}"),
                None => {}
            }
            is_open = value.is_some();
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_few_round_marks() {
        // (top, step)
        for (top, step) in
            [(4, 1), (5, 1), (6, 2), (37, 10), (1_234, 500), (u64::MAX, 5_000_000_000_000_000_000)]
        {
            assert_eq!(nice_step(top, Unit::Pods), step, "{top}");
        }
        assert_eq!(nice_step(1000, Unit::Permille), 250);
        assert_eq!(
            [time_step(86_400_000), time_step(7_000), time_step(40)],
            [10_800_000, 1_000, 10]
        );
    }
}
