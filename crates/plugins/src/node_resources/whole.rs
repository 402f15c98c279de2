//! Whole numbers in floats, without branches, so that loops over columns become vector code.
//!
//! Everything here is exact for the amounts that columns hold.

/// Adding it rounds to the nearest whole number, which is then in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The nearest whole number.
#[inline(always)]
fn nearest(value: f64) -> f64 {
    (value + ROUND) - ROUND
}

/// The whole number at or below a value that is not negative.
#[inline(always)]
pub(crate) fn floor(value: f64) -> f64 {
    let near = nearest(value);
    if near > value { near - 1.0 } else { near }
}

/// The whole part of `part / whole`, neither of which is negative; `inverse` is about `1 / whole`.
#[inline(always)]
pub(crate) fn quotient(part: f64, whole: f64, inverse: f64) -> f64 {
    let near = nearest(part * inverse);
    if near * whole > part { near - 1.0 } else { near }
}

/// `part / whole` as a division rounds it, where both are amounts that columns hold, and `inverse`
/// is `1.0 / whole`.
///
/// Without a division, if `IS_FUSED`: a first guess is wrong by two of its last bits at most. What
/// is left of `part` is then a multiple of the guess's last bit of no more than 48 bits, so it is
/// exact, and so the second guess is off by less than 2^-51 of a last bit before it is rounded. A
/// quotient of two whole numbers below 2^46 lies further than that from a tie.
#[inline(always)]
pub(crate) fn ratio<const IS_FUSED: bool>(part: f64, whole: f64, inverse: f64) -> f64 {
    if !IS_FUSED {
        return part / whole;
    }
    let guess = part * inverse;
    let left = (-guess).mul_add(whole, part);
    left.mul_add(inverse, guess)
}

/// A value within a range.
#[inline(always)]
pub(crate) fn within(value: f64, least: f64, most: f64) -> f64 {
    let value = if value < least { least } else { value };
    if value > most { most } else { value }
}

/// A whole number as an integer.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are the number")]
pub(crate) fn integer(value: f64) -> i32 {
    (value + ROUND).to_bits() as i32
}

/// An amount as columns have it; none if they could not hold it exactly.
#[expect(clippy::cast_precision_loss, reason = "it was just compared")]
pub(crate) fn exact(amount: i64) -> Option<f64> {
    (0..model::AMOUNT_MAX).contains(&amount).then_some(amount as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_integers() {
        let wholes = [1, 3, 7, 1000, 4000, 96_001, (1 << 34) - 1, model::AMOUNT_MAX - 1];
        for whole in wholes {
            let parts = [0, 1, whole / 3, whole / 2, whole - 1, whole, whole / 100, whole / 7 * 5];
            for part in parts.into_iter().flat_map(|part| [part, part + 1, (part - 1).max(0)]) {
                let Some((a, b)) = exact(part).zip(exact(whole)) else { continue };
                let result = integer(quotient(100.0 * a, b, 1.0 / b));
                assert_eq!(i64::from(result), 100 * part / whole, "100 * {part} / {whole}");
            }
        }
    }

    #[test]
    fn ratios_are_those_of_a_division() {
        let mut state = 1_u64;
        let mut draw = |most: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(state >> 17).expect("47 bits") % most
        };
        for round in 0..200_000 {
            let most = [50, 4000, 1 << 20, 1 << 37, model::AMOUNT_MAX - 1][round % 5];
            let whole = 1 + draw(most);
            let (part, whole) = (exact(draw(whole + 1)), exact(whole));
            let (part, whole) = part.zip(whole).expect("amounts that columns hold");
            let (fused, plain) = (ratio::<true>, ratio::<false>);
            let inverse = 1.0 / whole;
            let bits = |ratio: f64| ratio.to_bits();
            assert_eq!(bits(fused(part, whole, inverse)), bits(plain(part, whole, inverse)));
        }
    }

    #[test]
    fn floors_and_ranges() {
        let table = [(0.0, 0), (0.2, 0), (0.5, 0), (0.99, 0), (1.0, 1), (74.9999, 74), (99.5, 99)];
        for (value, expected) in table {
            assert_eq!(integer(floor(value)), expected, "{value}");
        }
        assert_eq!(integer(-7.0), -7);
        assert_eq!([within(-1.0, 0.0, 5.0), within(6.0, 0.0, 5.0)].map(integer), [0, 5]);
    }
}
