//! The JSON form of enums: written by name, read by name or number.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer, Serializer,
    de::{Error, Visitor},
};

use super::{Form, Integer, response::is_response};

/// The number of an unknown enum name.
///
/// Validation of requests rejects it. Responses have other rules: see [`in_response`].
pub(crate) const UNRECOGNIZED: i32 = -1;

/// An enum of the proto, by name and number.
pub(crate) trait Enumeration: Sized {
    /// The value with a name.
    fn from_name(name: &str) -> Option<Self>;

    /// The name of a number, if any.
    fn name_of(number: i32) -> Option<&'static str>;

    /// The number of a value.
    fn number(self) -> i32;
}

/// Implements [`Enumeration`] for an enum of prost.
macro_rules! enumeration {
    ($name:ty) => {
        impl crate::json::Enumeration for $name {
            fn from_name(name: &str) -> Option<Self> {
                Self::from_str_name(name)
            }

            fn name_of(number: i32) -> Option<&'static str> {
                Self::try_from(number).ok().map(|value| value.as_str_name())
            }

            fn number(self) -> i32 {
                self as i32
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str_name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let number = crate::json::Singular::<crate::json::Name<$name>>::deserialize(from)?;
                Ok(Self::try_from(number).unwrap_or_default())
            }
        }
    };
}
pub(crate) use enumeration;

/// The number of an enum value.
pub(crate) struct Name<E>(PhantomData<E>);

impl<E: Enumeration> Form for Name<E> {
    type Value = i32;

    fn write<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        // Unknown names were lost when reading; unknown numbers are written as numbers (ProtoJSON).
        let number = if *number == UNRECOGNIZED { 0 } else { *number };
        match E::name_of(number) {
            Some(name) => to.serialize_str(name),
            None => to.serialize_i32(number),
        }
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        from.deserialize_any(NameVisitor::<E>(PhantomData))
    }
}

struct NameVisitor<E>(PhantomData<E>);

impl<E: Enumeration> Visitor<'_> for NameVisitor<E> {
    type Value = i32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name or the number of an enum value")
    }

    fn visit_str<R: Error>(self, name: &str) -> Result<i32, R> {
        match E::from_name(name) {
            Some(value) => Ok(value.number()),
            None if is_response() => in_response::<E, R>(name),
            None => Ok(UNRECOGNIZED),
        }
    }

    fn visit_i64<R: Error>(self, number: i64) -> Result<i32, R> {
        known::<E, R>(Integer::<i32>::visitor().visit_i64(number)?)
    }

    fn visit_u64<R: Error>(self, number: u64) -> Result<i32, R> {
        known::<E, R>(Integer::<i32>::visitor().visit_u64(number)?)
    }

    fn visit_f64<R: Error>(self, number: f64) -> Result<i32, R> {
        known::<E, R>(Integer::<i32>::visitor().visit_f64(number)?)
    }
}

/// Checks a number in a response.
fn known<E: Enumeration, R: Error>(number: i32) -> Result<i32, R> {
    if is_response() && E::name_of(number).is_none() {
        return unknown::<E, R>(format_args!("{number}"));
    }
    Ok(number)
}

/// Reads a name in a response, in the spelling of any revision.
#[cold]
fn in_response<E: Enumeration, R: Error>(name: &str) -> Result<i32, R> {
    match spelled::<E>(name) {
        Some(number) => Ok(number),
        None => unknown::<E, R>(format_args!("{name:?}")),
    }
}

/// Finds a value by its name without regard to case, separators and the prefix of the type.
pub(crate) fn spelled<E: Enumeration>(name: &str) -> Option<i32> {
    /// The longest name that is compared, in bytes.
    const MAX_NAME: usize = 64;
    /// The highest number that is compared.
    const MAX_NUMBER: i32 = 64;

    fn squashed(name: &str) -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    }

    if name.len() > MAX_NAME {
        return None;
    }
    let prefix = squashed(E::name_of(0)?.strip_suffix("UNSPECIFIED")?);
    let name = squashed(name);
    let name = match name.strip_prefix(&*prefix).unwrap_or(&name) {
        // 0.3, and its proto.
        "cancelled" => "canceled",
        "unknown" => "unspecified",
        name => name,
    };
    let is_named = |known: &str| squashed(known).strip_prefix(&*prefix) == Some(name);
    (0..=MAX_NUMBER).find(|number| E::name_of(*number).is_some_and(is_named))
}

/// Decides about an unknown value in a response. A state decides what its reader does next; a role
/// only who is shown as the sender, and every sender but the user is the agent's side.
#[cold]
fn unknown<E: Enumeration, R: Error>(shown: fmt::Arguments<'_>) -> Result<i32, R> {
    match E::name_of(0) {
        Some("TASK_STATE_UNSPECIFIED") => {
            Err(R::custom(format_args!("unknown task state {shown}")))
        }
        Some("ROLE_UNSPECIFIED") => {
            tracing::debug!(role = %shown, "unknown role read as that of the agent");
            Ok(E::from_name("ROLE_AGENT").map_or(UNRECOGNIZED, E::number))
        }
        name => {
            tracing::debug!(value = %shown, ?name, "unknown enum value");
            Ok(UNRECOGNIZED)
        }
    }
}
