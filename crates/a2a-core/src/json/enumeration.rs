//! The JSON form of enums: written by name, read by name or number.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer, Serializer,
    de::{Error, Visitor},
};

use super::{Form, Integer};

/// The number of an unknown enum name.
///
/// Clients treat it as unspecified; validation of requests rejects it.
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
        Ok(E::from_name(name).map_or(UNRECOGNIZED, E::number))
    }

    fn visit_i64<R: Error>(self, number: i64) -> Result<i32, R> {
        Integer::<i32>::visitor().visit_i64(number)
    }

    fn visit_u64<R: Error>(self, number: u64) -> Result<i32, R> {
        Integer::<i32>::visitor().visit_u64(number)
    }

    fn visit_f64<R: Error>(self, number: f64) -> Result<i32, R> {
        Integer::<i32>::visitor().visit_f64(number)
    }
}
