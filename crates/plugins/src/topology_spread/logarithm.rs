//! The natural logarithm, with the same bits on every machine.

/// The natural logarithm of a positive number, by the series of FreeBSD's C library.
pub(super) fn natural(number: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SERIES: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let [l1, l2, l3, l4, l5, l6, l7] = SERIES;
    // The number as a fraction around one times a power of two.
    let (mut fraction, mut power) = (number, 0.0);
    while fraction >= std::f64::consts::SQRT_2 {
        fraction /= 2.0;
        power += 1.0;
    }
    while fraction < std::f64::consts::FRAC_1_SQRT_2 {
        fraction *= 2.0;
        power -= 1.0;
    }
    let f = fraction - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)));
    let even = s4 * (l2 + s4 * (l4 + s4 * l6));
    let half = 0.5 * f * f;
    power * LN2_HIGH - ((half - (s * (half + odd + even) + power * LN2_LOW)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        for number in (1..20_000).map(f64::from) {
            let (own, library) = (natural(number), number.ln());
            assert!((own - library).abs() <= 4e-16 * library.max(1.0), "{number} {own} {library}");
        }
    }
}
