//! How long a pod runs: `10m`, `5m..15m`, `~10m` (around a mean) or `forever`.

use k8s::config::parse_span;
use model::Millis;

use crate::dice::Dice;

/// How long a pod runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// To the end of the simulation.
    Forever,
    /// Each length between the two is as likely as the other.
    Between(Millis, Millis),
    /// Exponential: many short, few long, this much on average.
    Around(Millis),
}

impl Length {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let span = |text: &str| parse_span(text).map_err(|error| error.to_string());
        if text == "forever" {
            return Ok(Self::Forever);
        }
        if let Some(mean) = text.strip_prefix('~') {
            return span(mean).map(Self::Around);
        }
        let (low, high) = range(text)?;
        Ok(Self::Between(low, high))
    }
}

/// `1h..2h`, or `1h` for both.
pub(super) fn range(text: &str) -> Result<(Millis, Millis), String> {
    let span = |text: &str| parse_span(text).map_err(|error| error.to_string());
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (span(low)?, span(high)?);
    if high < low {
        return Err(format!("expected the shorter time first, found {text:?}"));
    }
    Ok((low, high))
}

/// A draw from the exponential distribution, at least a millisecond.
pub(super) fn around(dice: &mut Dice, mean: Millis) -> Millis {
    const STEPS: u64 = 1 << 53;
    // In steps that a float holds exactly, and never zero, whose logarithm is endless.
    let draw = dice.between(1, STEPS) as f64 / STEPS as f64;
    let length = -ln(draw) * mean.0 as f64;
    // At most 37 times the mean, which is far from what does not fit.
    Millis((length as u64).max(1))
}

/// The natural logarithm of a number above 0. Not the machine's, whose last digit differs from one
/// machine to the next: sums and products do not.
fn ln(number: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & MANTISSA | 1023 << 52);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut sum, mut power) = (0.0, ratio);
    for odd in (1..40).step_by(2) {
        sum += power / f64::from(odd);
        power *= ratio * ratio;
    }
    2.0 * sum + f64::from(exponent) * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Stream;

    #[test]
    fn lengths_by_table() {
        let seconds = Millis::seconds;
        let table = [
            ("10m", Length::Between(seconds(600), seconds(600))),
            ("5m..15m", Length::Between(seconds(300), seconds(900))),
            ("~1h", Length::Around(seconds(3600))),
            ("forever", Length::Forever),
        ];
        for (text, expected) in table {
            assert_eq!(Length::parse(text), Ok(expected), "{text}");
        }
        for text in ["", "10", "15m..5m", "5m..", "..", "~", "~~1h", "5m...6m", "never", "-1s"] {
            assert!(Length::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_logarithm_is_right_to_the_last_digits() {
        for number in [1e-16, 0.001, 0.3, 0.5, 0.999_999, 1.0, 2.0, 1e9] {
            let expected = f64::ln(number);
            assert!((ln(number) - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{number}");
        }
    }

    #[test]
    fn draws_around_a_mean_have_that_mean() {
        let mut dice = Dice::new(7, Stream::Workload);
        let draws: Vec<u64> = (0..20_000).map(|_| around(&mut dice, Millis(10_000)).0).collect();
        let mean = draws.iter().sum::<u64>() / draws.len() as u64;
        assert!((9_700..10_300).contains(&mean), "{mean}");
        let long = draws.iter().filter(|draw| **draw > 10_000).count();
        assert!((7_000..7_700).contains(&long), "about 1/e are longer: {long}");
    }
}
