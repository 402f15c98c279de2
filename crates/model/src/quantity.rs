//! Kubernetes quantities as exact integers.
//!
//! A quantity is held in billionths, the finest scale Kubernetes knows; what is finer is rounded
//! away from zero, and what exceeds 2^63-1 is capped, as the API server does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount in billionths of its unit. Written down, it is a quantity of Kubernetes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Quantity(i128);

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(String);

const NANO: i128 = 1_000_000_000;
const CAP: i128 = i64::MAX as i128 * NANO;
/// Digits beyond these cannot change a capped or rounded result, except by being there at all.
const DIGITS_MAX: usize = 27;

impl Quantity {
    /// Reads a quantity such as `100m`, `1.5Gi`, `2e3` or `64`.
    ///
    /// # Errors
    /// When the text is not a number with a suffix Kubernetes knows.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse(text).ok_or_else(|| QuantityError(text.chars().take(64).collect()))
    }

    /// The given number of thousandths.
    #[must_use]
    pub fn from_milli(milli: i64) -> Self {
        Self(i128::from(milli) * (NANO / 1000))
    }

    /// The given number of whole units.
    #[must_use]
    pub fn from_units(units: i64) -> Self {
        Self(i128::from(units) * NANO)
    }

    /// Whole units, rounded away from zero.
    #[must_use]
    pub fn units(self) -> i64 {
        saturate(ceil_div(self.0, NANO))
    }

    /// Thousandths, rounded away from zero.
    #[must_use]
    pub fn milli(self) -> i64 {
        saturate(ceil_div(self.0, NANO / 1000))
    }

    /// The sum, which may exceed what a single quantity can be written as.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<Quantity> for String {
    fn from(Quantity(billionths): Quantity) -> Self {
        match billionths % NANO {
            0 => (billionths / NANO).to_string(),
            _ => format!("{billionths}n"),
        }
    }
}

impl TryFrom<String> for Quantity {
    type Error = QuantityError;

    fn try_from(text: String) -> Result<Self, QuantityError> {
        Self::parse(&text)
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{:?} is not a quantity (expected a number such as 500m, 2, 1.5Gi or 1e3)",
            self.0
        )
    }
}

impl std::error::Error for QuantityError {}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let number_len = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, suffix) = rest.split_at(number_len);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let magnitude = scale(whole.trim_start_matches('0'), fraction, suffix)?;
    Some(Quantity(if negative { -magnitude } else { magnitude }))
}

/// `whole.fraction` times what `suffix` stands for, in billionths, rounded up and capped.
fn scale(whole: &str, fraction: &str, suffix: &str) -> Option<i128> {
    let (exponent10, exponent2) = suffix_exponents(suffix)?;
    let fraction = fraction.trim_end_matches('0');
    let kept = &fraction[..fraction.len().min(DIGITS_MAX)];
    let is_cut = kept.len() < fraction.len();
    if whole.len() > DIGITS_MAX {
        return Some(CAP);
    }
    // At most 27 + 27 digits: read both parts apart and join them after scaling.
    let whole = digits(whole)?;
    let fraction_digits = digits(kept)?;
    let up = scaled(whole, exponent10 + 9, exponent2);
    let low = scaled(fraction_digits, exponent10 + 9 - i32::try_from(kept.len()).ok()?, exponent2);
    let (up, low) = (up?, low?);
    let sum = up.0.saturating_add(low.0);
    Some(sum.saturating_add(i128::from(up.1 || low.1 || is_cut)).min(CAP))
}

fn digits(text: &str) -> Option<i128> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

/// `value * 10^exponent10 * 2^exponent2` rounded down, and whether anything was cut off.
fn scaled(value: i128, exponent10: i32, exponent2: u32) -> Option<(i128, bool)> {
    if value == 0 {
        return Some((0, false));
    }
    let binary = value.checked_mul(1i128.checked_shl(exponent2)?);
    let Some(binary) = binary else { return Some((CAP, false)) };
    if exponent10 >= 0 {
        let power = 10i128.checked_pow(exponent10.unsigned_abs());
        let product = power.and_then(|power| binary.checked_mul(power));
        return Some((product.unwrap_or(CAP), false));
    }
    match 10i128.checked_pow(exponent10.unsigned_abs()) {
        Some(power) => Some((binary / power, binary % power != 0)),
        None => Some((0, true)),
    }
}

/// Powers of ten and of two behind a suffix.
fn suffix_exponents(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let exponent: i64 = exponent.parse().ok()?;
            (i32::try_from(exponent.clamp(-1000, 1000)).ok()?, 0)
        }
    })
}

/// Rounds away from zero, as the API does.
fn ceil_div(value: i128, by: i128) -> i128 {
    value / by + (value % by).signum()
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_mean_what_kubernetes_says() {
        // (text, whole units rounded up, thousandths rounded up)
        let table: &[(&str, i64, i64)] = &[
            ("0", 0, 0),
            ("1", 1, 1000),
            ("100m", 1, 100),
            ("0.1", 1, 100),
            (".5", 1, 500),
            ("5.", 5, 5000),
            ("1e3", 1000, 1_000_000),
            ("1E3", 1000, 1_000_000),
            ("1E", 1_000_000_000_000_000_000, i64::MAX),
            ("12e-1", 2, 1200),
            ("1Ki", 1024, 1_024_000),
            ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
            ("0.001Ki", 2, 1024),
            ("1n", 1, 1),
            ("0.1n", 1, 1),
            ("1000001n", 1, 2),
            ("-1.5", -2, -1500),
            ("+2", 2, 2000),
            ("8Ei", i64::MAX, i64::MAX),
            ("99999999999999999999999999999999", i64::MAX, i64::MAX),
            ("0.00000000000000000000000000000000000001", 1, 1),
        ];
        for &(text, units, milli) in table {
            let quantity = Quantity::parse(text).expect(text);
            assert_eq!((quantity.units(), quantity.milli()), (units, milli), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in
            ["", "-", ".", "1.2.3", "one", "1 ", "1e", "1e+", "1kk", "Ki", "0x10", "1.e.2", "١"]
        {
            assert!(Quantity::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sums_are_exact_before_they_are_rounded() {
        let half = Quantity::parse("500m").expect("a quantity");
        assert_eq!(half.plus(half).units(), 1);
    }
}
