//! A histogram as Prometheus reads it.

use anyhow::{Context as _, Result};

/// The buckets of a histogram: upper bounds, and how many values lie at or below each.
#[derive(Debug, PartialEq)]
pub(crate) struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    /// Finds a histogram without labels in the text of `/metrics`.
    pub(crate) fn find(text: &str, name: &str) -> Result<Self> {
        let head = format!("{name}_bucket{{le=\"");
        let buckets = text.lines().filter_map(|line| {
            let (bound, count) = line.strip_prefix(&head)?.split_once("\"} ")?;
            let count = count.split(' ').next()?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        });
        let buckets: Vec<_> = buckets.collect();
        (!buckets.is_empty()).then_some(Self(buckets)).with_context(|| {
            format!("/metrics has no histogram {name}; it begins {:?}", text.get(..200))
        })
    }

    /// What was added since an earlier look.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let pairs = self.0.iter().zip(&earlier.0);
        Self(pairs.map(|((bound, count), (_, before))| (*bound, count - before)).collect())
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The bounds of the bucket that holds the value below which this share of all values lies.
    pub(crate) fn quantile(&self, share: f64) -> Option<(f64, f64)> {
        let rank = share * self.count();
        let at = self.0.iter().position(|(_, count)| *count > 0.0 && *count >= rank)?;
        let below = at.checked_sub(1).map_or(0.0, |below| self.0[below].0);
        Some((below, self.0[at].0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# TYPE x histogram
x_sum 1.0
x_bucket{le=\"0.1\"} 10
x_bucket{le=\"0.2\"} 99 # {trace=\"a\"} 0.2
x_bucket{le=\"+Inf\"} 100
xy_bucket{le=\"0.1\"} 5
";

    #[test]
    fn the_bucket_of_a_quantile_has_two_bounds() {
        let found = Histogram::find(TEXT, "x").unwrap();
        assert_eq!(found.count(), 100.0);
        assert_eq!(found.quantile(0.1), Some((0.0, 0.1)));
        assert_eq!(found.quantile(0.99), Some((0.1, 0.2)));
        assert_eq!(found.quantile(1.0), Some((0.2, f64::INFINITY)));
    }

    #[test]
    fn only_what_was_added_counts() {
        let found = Histogram::find(TEXT, "x").unwrap();
        assert_eq!(found.since(&found).quantile(0.5), None);
        let before = Histogram(vec![(0.1, 10.0), (0.2, 10.0), (f64::INFINITY, 10.0)]);
        assert_eq!(found.since(&before).quantile(0.5), Some((0.1, 0.2)));
    }

    #[test]
    fn a_histogram_that_is_not_there_is_an_error() {
        assert!(Histogram::find(TEXT, "y").is_err());
    }
}
