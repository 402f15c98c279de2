//! Scores as people read them.

use serde_json::Number;

/// A score in points, of which so many units make one: a whole number where it is one, else with
/// as many decimals as it takes.
///
/// # Panics
/// When no unit makes a point.
#[must_use]
pub fn points(score: i32, per_point: i32) -> Number {
    match score % per_point {
        0 => Number::from(score / per_point),
        _ => Number::from_f64(f64::from(score) / f64::from(per_point)).expect("a finite number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_table() {
        let table = [
            (75, 1, "75"),
            (0, 1000, "0"),
            (-3000, 1000, "-3"),
            (25_125, 1000, "25.125"),
            (62_500, 1000, "62.5"),
            (700_000_001 - 2, 1000, "699999.999"),
        ];
        for (score, per_point, expected) in table {
            assert_eq!(points(score, per_point).to_string(), expected);
        }
    }
}
