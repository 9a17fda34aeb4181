//! The JSON forms of numbers and bytes.

#![allow(dead_code, reason = "forms that no message of the current proto needs")]

use std::{
    borrow::Cow,
    fmt::{self, Display},
    marker::PhantomData,
    str::FromStr,
};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use serde::{
    Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use super::{Form, response::is_response};

/// An integer: read from a number without fraction or a decimal string, and written as a string if
/// it has 64 bits.
pub(crate) struct Integer<T>(PhantomData<T>);

/// The types of integers.
pub(crate) trait Whole:
    Copy + Display + FromStr<Err: Display> + Serialize + TryFrom<i64> + TryFrom<u64>
{
    const BITS: u32;
}

impl Whole for i32 {
    const BITS: u32 = Self::BITS;
}

impl Whole for u32 {
    const BITS: Self = Self::BITS;
}

impl Whole for i64 {
    const BITS: u32 = Self::BITS;
}

impl Whole for u64 {
    const BITS: u32 = Self::BITS;
}

impl<T> Integer<T> {
    pub(super) const fn visitor() -> Self {
        Self(PhantomData)
    }
}

impl<T: Whole> Form for Integer<T> {
    type Value = T;

    fn write<S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        if T::BITS == 64 { to.collect_str(value) } else { value.serialize(to) }
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        from.deserialize_any(Self::visitor())
    }
}

impl<T: Whole> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}-bit integer, or a decimal string", T::BITS)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        number.try_into().ok().ok_or_else(|| out_of_range(number, "integer", T::BITS))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        number.try_into().ok().ok_or_else(|| out_of_range(number, "integer", T::BITS))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        // The casts saturate at limits that are out of range, or exact.
        const END: f64 = 18_446_744_073_709_551_616.0;
        let whole = number.fract() == 0.0;
        #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
        #[expect(clippy::cast_sign_loss, reason = "not negative")]
        match number {
            _ if whole && (0.0..END).contains(&number) => self.visit_u64(number as u64),
            _ if whole && (-END / 2.0..0.0).contains(&number) => self.visit_i64(number as i64),
            _ => Err(out_of_range(number, "integer", T::BITS)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().or_else(|error| match decimal(text) {
            Some(number) => self.visit_f64(number),
            None => Err(E::custom(error)),
        })
    }
}

#[cold]
fn out_of_range<E: Error>(number: impl Display, what: &str, bits: u32) -> E {
    E::custom(format_args!("{number} is not a {bits}-bit {what}"))
}

/// A floating-point number: `NaN` and infinity are strings.
pub(crate) struct Float<T>(PhantomData<T>);

/// The types of floating-point numbers.
pub(crate) trait Real: Copy + Into<f64> + Serialize {
    const BITS: u32;

    /// The nearest number, which is infinite if it is out of range.
    fn nearest(number: f64) -> Self;
}

impl Real for f32 {
    const BITS: u32 = 32;

    #[expect(clippy::cast_possible_truncation, reason = "that is what rounding does")]
    fn nearest(number: f64) -> Self {
        number as Self
    }
}

impl Real for f64 {
    const BITS: u32 = 64;

    fn nearest(number: f64) -> Self {
        number
    }
}

impl<T: Real> Float<T> {
    /// Returns whether a member has its default value and is omitted: -0.0 is another one.
    pub(crate) fn is_default(value: &T) -> bool {
        (*value).into().to_bits() == 0
    }
}

impl<T: Real> Form for Float<T> {
    type Value = T;

    fn write<S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        match (*value).into() {
            number if number.is_nan() => to.serialize_str("NaN"),
            f64::INFINITY => to.serialize_str("Infinity"),
            f64::NEG_INFINITY => to.serialize_str("-Infinity"),
            _ => value.serialize(to),
        }
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        from.deserialize_any(Self(PhantomData))
    }
}

impl<T: Real> Visitor<'_> for Float<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a decimal string, NaN, Infinity or -Infinity")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let nearest = T::nearest(number);
        match nearest.into().is_finite() {
            true => Ok(nearest),
            false => Err(out_of_range(number, "number", T::BITS)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match text {
            "NaN" => Ok(T::nearest(f64::NAN)),
            "Infinity" => Ok(T::nearest(f64::INFINITY)),
            "-Infinity" => Ok(T::nearest(f64::NEG_INFINITY)),
            _ => match decimal(text) {
                Some(number) => self.visit_f64(number),
                None => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
            },
        }
    }
}

/// Reads a decimal number. Rust also parses `inf` and `nan`.
fn decimal(text: &str) -> Option<f64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|_| is_decimal)
}

/// Bytes: written as Base64, read in the standard or URL-safe alphabet, padded or not, and in
/// responses with line breaks.
pub(crate) struct Base64<B = Vec<u8>>(PhantomData<B>);

impl<B: AsRef<[u8]> + From<Vec<u8>>> Form for Base64<B> {
    type Value = B;

    fn write<S: Serializer>(bytes: &B, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<B, D::Error> {
        from.deserialize_str(Base64Visitor).map(B::from)
    }
}

struct Base64Visitor;

impl Visitor<'_> for Base64Visitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Base64 string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        const ANY_PADDING: GeneralPurposeConfig = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        const STANDARD_ALPHABET: GeneralPurpose =
            GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
        const URL_SAFE_ALPHABET: GeneralPurpose =
            GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

        let mut text = Cow::Borrowed(text);
        if is_response() && text.contains(|letter: char| letter.is_ascii_whitespace()) {
            text.to_mut().retain(|letter| !letter.is_ascii_whitespace());
        }
        let url_safe = text.bytes().any(|byte| matches!(byte, b'-' | b'_'));
        let alphabet = if url_safe { &URL_SAFE_ALPHABET } else { &STANDARD_ALPHABET };
        alphabet.decode(&*text).map_err(E::custom)
    }
}
