//! Figures, and what is made of repeated measurements.

/// Names and values, in the order in which they were measured.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<(String, f64)>);

impl Figures {
    pub(crate) fn put(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }

    /// Prints one line for each.
    pub(crate) fn print(&self) {
        println!();
        for (name, value) in &self.0 {
            println!("figure {name}={value:.3}");
        }
    }
}

/// The value in the middle; not a number if there is none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value below which a share of all values lies; not a number if there is none.
pub(crate) fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 1.0);
        assert_eq!(quantile((1..=100).map(f64::from), 0.99), 99.0);
        assert_eq!(quantile((1..=300).map(f64::from), 0.99), 297.0);
        assert!(median([]).is_nan());
    }
}
