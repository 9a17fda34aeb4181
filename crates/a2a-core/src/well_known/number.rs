//! An exact JSON number.

use std::{
    fmt,
    fmt::{Debug, Display},
    hash::{Hash, Hasher},
};

/// A JSON number: an exact signed or unsigned 64-bit integer, or a finite double.
///
/// Numbers have a canonical form. Integral numbers in the range of 64 bits are integers, however
/// written, so `1`, `1.0`, `1e0` and protobuf's double 1.0 are equal and are written as `1`; `-0.0`
/// is `0`.
///
/// In protobuf, every number is a double (`google.protobuf.Value.number_value`): integers beyond
/// ±2⁵³ are rounded to the nearest one.
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    Unsigned(u64),
    /// Always negative.
    Negative(i64),
    /// Always finite, and not representable by the other variants.
    Float(f64),
}

impl Number {
    /// Returns the number; `None` for NaN and infinities, which JSON does not have.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Self> {
        // 2⁶³ and 2⁶⁴: the first doubles out of the range of signed and unsigned integers.
        const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
        const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;

        if !number.is_finite() {
            return None;
        }
        let is_integer = number.trunc() == number && (-SIGNED_END..UNSIGNED_END).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "integral and in range"
        )]
        let form = match is_integer {
            true if number < 0.0 => Repr::Negative(number as i64),
            true => Repr::Unsigned(number as u64),
            false => Repr::Float(number),
        };
        Some(Self(form))
    }

    /// Returns the number if it fits into an `i64`.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Unsigned(number) => i64::try_from(number).ok(),
            Repr::Negative(number) => Some(number),
            Repr::Float(_) => None,
        }
    }

    /// Returns the number if it fits into a `u64`.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Repr::Unsigned(number) => Some(number),
            Repr::Negative(_) | Repr::Float(_) => None,
        }
    }

    /// Returns the number as the nearest double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Unsigned(number) => number as f64,
            Repr::Negative(number) => number as f64,
            Repr::Float(number) => number,
        }
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(Repr::Unsigned(number))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(u64::try_from(number).map_or(Repr::Negative(number), Repr::Unsigned))
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

// There is no NaN, and every number has one form.
impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Repr::Unsigned(number) => number.hash(state),
            Repr::Negative(number) => number.hash(state),
            Repr::Float(number) => number.to_bits().hash(state),
        }
    }
}

/// Writes the number as JSON.
impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Unsigned(number) => Display::fmt(&number, f),
            Repr::Negative(number) => Display::fmt(&number, f),
            // `Debug` uses an exponent where `Display` would write hundreds of digits.
            Repr::Float(number) => Debug::fmt(&number, f),
        }
    }
}

impl Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::Number;

    const TWO_TO_53: u64 = 1 << 53;

    #[test]
    fn integral_doubles_are_integers() {
        for (double, integer) in [
            (0.0, Number::from(0)),
            (-0.0, Number::from(0)),
            (1.0, Number::from(1)),
            (-1.0, Number::from(-1)),
            (9_007_199_254_740_992.0, Number::from(TWO_TO_53)),
            (-9_007_199_254_740_992.0, Number::from(-(1_i64 << 53))),
            (9_007_199_254_740_994.0, Number::from(TWO_TO_53 + 2)),
            (-9_223_372_036_854_775_808.0, Number::from(i64::MIN)),
            (9_223_372_036_854_775_808.0, Number::from(1_u64 << 63)),
        ] {
            let number = Number::from_f64(double).unwrap();
            assert_eq!(number, integer, "{double}");
            assert_eq!(number.to_string(), integer.to_string(), "{double}");
        }
    }

    #[test]
    fn numbers_are_written_as_json() {
        for (number, printed) in [
            (Number::from(0), "0"),
            (Number::from(-7), "-7"),
            (Number::from(u64::MAX), "18446744073709551615"),
            (Number::from(i64::MIN), "-9223372036854775808"),
            (Number::from_f64(0.1).unwrap(), "0.1"),
            (Number::from_f64(-2.5).unwrap(), "-2.5"),
            (Number::from_f64(18_446_744_073_709_551_616.0).unwrap(), "1.8446744073709552e19"),
            (Number::from_f64(f64::MAX).unwrap(), "1.7976931348623157e308"),
            (Number::from_f64(5e-324).unwrap(), "5e-324"),
        ] {
            assert_eq!(number.to_string(), printed);
        }
    }

    #[test]
    fn non_finite_numbers_are_rejected() {
        for double in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Number::from_f64(double), None, "{double}");
        }
    }

    #[test]
    fn integer_accessors_check_the_range() {
        assert_eq!(Number::from(u64::MAX).as_i64(), None);
        assert_eq!(Number::from(u64::MAX).as_u64(), Some(u64::MAX));
        assert_eq!(Number::from(-1).as_u64(), None);
        assert_eq!(Number::from(-1).as_i64(), Some(-1));
        assert_eq!(Number::from_f64(1.5).unwrap().as_i64(), None);
        assert_eq!(Number::from_f64(2.0).unwrap().as_u64(), Some(2));
    }

    proptest! {
        #[test]
        fn doubles_are_exact(double in proptest::num::f64::ANY) {
            if let Some(number) = Number::from_f64(double) {
                prop_assert_eq!(number.as_f64(), double);
                prop_assert_eq!(number.to_string().parse::<f64>(), Ok(double));
            }
        }

        #[test]
        fn integers_are_exact(signed: i64, unsigned: u64) {
            prop_assert_eq!(Number::from(signed).as_i64(), Some(signed));
            prop_assert_eq!(Number::from(unsigned).as_u64(), Some(unsigned));
        }
    }
}
