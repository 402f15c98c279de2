//! What the parts of a GPU are worth to pods that share one: cutting stock, with GPUs as the stock
//! and what pods ask for as the pieces.
//!
//! The linear program is solved by column generation. Only sums, products and quotients of floats
//! are taken, in a fixed order, so the result is the same on every machine.

/// Parts in which a GPU is counted here.
pub(super) const PARTS: usize = 100;
/// More steps than such a program needs; what is known by then is good enough.
const STEPS_MAX: usize = 600;
const TINY: f64 = 1e-9;

/// A piece that pods ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// Its size in parts, from 1 to 99.
    pub(super) size: usize,
    /// How much it is asked for.
    pub(super) weight: f64,
}

/// What each piece costs at least, if a GPU costs 1 and what pods ask for is served with as few
/// GPUs as possible.
pub(super) fn prices(pieces: &[Piece]) -> Vec<f64> {
    let mut program = Program::new(pieces);
    for _ in 0..STEPS_MAX {
        let prices = program.prices();
        let lowest = (0..pieces.len()).min_by(|a, b| prices[*a].total_cmp(&prices[*b]));
        let column = match lowest.filter(|at| prices[*at] < -TINY) {
            // More of a piece than is asked for is no harm.
            Some(at) => {
                let mut column = vec![0.0; pieces.len()];
                column[at] = -1.0;
                Some((column, 0.0))
            }
            None => best_cut(pieces, &prices).map(|cut| (cut, 1.0)),
        };
        let Some((column, cost)) = column else { break };
        if !program.enter(&column, cost) {
            break;
        }
    }
    program.prices().into_iter().map(|price| price.max(0.0)).collect()
}

/// What is left of a GPU is worth, for every number of parts from none to all, if pieces have these
/// prices.
pub(super) fn worths(pieces: &[Piece], prices: &[f64]) -> Vec<f64> {
    let mut worths = vec![0.0_f64; PARTS + 1];
    for left in 1..=PARTS {
        worths[left] = worths[left - 1];
        for (piece, price) in pieces.iter().zip(prices).filter(|(piece, _)| piece.size <= left) {
            worths[left] = worths[left].max(worths[left - piece.size] + price);
        }
    }
    worths
}

/// The most valuable way to cut a GPU, as how often each piece comes out of it; nothing if none is
/// worth more than the GPU.
fn best_cut(pieces: &[Piece], prices: &[f64]) -> Option<Vec<f64>> {
    let mut worths = vec![0.0_f64; PARTS + 1];
    let mut last: Vec<Option<usize>> = vec![None; PARTS + 1];
    for left in 1..=PARTS {
        worths[left] = worths[left - 1];
        for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.size <= left) {
            let worth = worths[left - piece.size] + prices[at];
            if worth > worths[left] + 1e-12 {
                (worths[left], last[left]) = (worth, Some(at));
            }
        }
    }
    let mut cut = vec![0.0; pieces.len()];
    let mut left = PARTS;
    while left > 0 {
        match last[left] {
            Some(at) => {
                cut[at] += 1.0;
                left -= pieces[at].size;
            }
            None => left -= 1,
        }
    }
    (worths[PARTS] > 1.0 + 1e-7).then_some(cut)
}

/// A basis of the program.
struct Program {
    /// The inverse of its columns, row by row.
    inverse: Vec<Vec<f64>>,
    amounts: Vec<f64>,
    costs: Vec<f64>,
}

impl Program {
    /// Every GPU is cut into pieces of one size.
    fn new(pieces: &[Piece]) -> Self {
        let count = pieces.len();
        let mut inverse = vec![vec![0.0; count]; count];
        let mut amounts = vec![0.0; count];
        for (at, piece) in pieces.iter().enumerate() {
            let per_gpu = (PARTS / piece.size) as f64;
            inverse[at][at] = 1.0 / per_gpu;
            amounts[at] = piece.weight / per_gpu;
        }
        Self { inverse, amounts, costs: vec![1.0; count] }
    }

    fn prices(&self) -> Vec<f64> {
        let count = self.costs.len();
        let price = |at: usize| {
            let parts = self.costs.iter().zip(&self.inverse).map(|(cost, row)| cost * row[at]);
            parts.fold(0.0, |sum, part| sum + part)
        };
        (0..count).map(price).collect()
    }

    /// Takes a column in, and another one out. No, if there is nothing to gain.
    fn enter(&mut self, column: &[f64], cost: f64) -> bool {
        let moved: Vec<f64> = self
            .inverse
            .iter()
            .map(|row| row.iter().zip(column).fold(0.0, |sum, (a, b)| sum + a * b))
            .collect();
        let mut leaves: Option<(usize, f64)> = None;
        for (at, by) in moved.iter().enumerate().filter(|(_, by)| **by > TINY) {
            let ratio = self.amounts[at].max(0.0) / by;
            if leaves.is_none_or(|(_, least)| ratio < least - 1e-12) {
                leaves = Some((at, ratio));
            }
        }
        let Some((out, ratio)) = leaves else { return false };
        let pivot = moved[out];
        self.inverse[out].iter_mut().for_each(|value| *value /= pivot);
        self.amounts[out] = ratio;
        let pivot_row = self.inverse[out].clone();
        for (at, by) in moved.iter().enumerate().filter(|(at, by)| *at != out && **by != 0.0) {
            let row = &mut self.inverse[at];
            row.iter_mut().zip(&pivot_row).for_each(|(value, other)| *value -= by * other);
            self.amounts[at] -= by * ratio;
        }
        self.costs[out] = cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worths_of(pieces: &[(usize, f64)]) -> Vec<f64> {
        let pieces: Vec<Piece> =
            pieces.iter().map(|(size, weight)| Piece { size: *size, weight: *weight }).collect();
        worths(&pieces, &prices(&pieces))
    }

    #[test]
    fn parts_are_worth_what_pods_can_use_of_them() {
        // Halves fill a GPU, so half of one is worth half; less is worth nothing.
        let halves = worths_of(&[(50, 7.0)]);
        assert_eq!([49, 50, 99, 100].map(|left| halves[left]), [0.0, 0.5, 0.5, 1.0]);
        // Nothing else fits beside 81, so that it costs a whole GPU; as many of 19 as of 81 are
        // free then.
        let pairs = worths_of(&[(19, 1.0), (81, 1.0)]);
        assert_eq!([18, 19, 80, 100].map(|left| pairs[left]), [0.0, 0.0, 0.0, 1.0]);
        // With many more of 19 these cost what a GPU cut into five of them does.
        let many = worths_of(&[(19, 100.0), (81, 1.0)]);
        assert!((many[19] - 0.2).abs() < 1e-9 && (many[81] - 0.8).abs() < 1e-9, "{many:?}");
        assert_eq!(worths_of(&[]), vec![0.0; PARTS + 1]);
    }
}
