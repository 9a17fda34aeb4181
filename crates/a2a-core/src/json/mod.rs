//! ProtoJSON (spec §5.5).

mod writer;

use std::marker::PhantomData;

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{DeserializeOwned, Error as _, IgnoredAny, Visitor},
};
use serde_json::error::Category;

pub use self::writer::write;
use crate::{Error, ErrorKind, Violation, well_known::Timestamp};

/// Reads a value from JSON.
///
/// # Errors
///
/// [`ErrorKind::ParseError`] for malformed JSON or more than 128 levels of nesting;
/// [`ErrorKind::InvalidParams`] with the path of the invalid member.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    // UTF-8 is validated once for the whole text; `from_slice` would validate each string.
    let read = match str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(json),
    };
    read.map_err(|error| explain::<T>(json, error))
}

// Tracking the path more than doubles the parsing time, so it is only done after an error.
#[cold]
fn explain<T: DeserializeOwned>(json: &[u8], error: serde_json::Error) -> Error {
    if matches!(error.classify(), Category::Syntax | Category::Eof | Category::Io) {
        return Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"));
    }
    // An invalid member may precede the malformed JSON.
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
        return Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(_) => Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}")),
        Err(tracked) => {
            let path = match tracked.path().to_string() {
                root if root == "." => String::new(),
                path => path,
            };
            // The path replaces line and column, which would refer to a part of the text.
            let text = tracked.into_inner().to_string();
            let description = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
            let missing = description.strip_prefix("missing field `");
            let violation = match missing.and_then(|rest| rest.strip_suffix('`')) {
                Some(name) if path.is_empty() => Violation::new(name, "is required"),
                Some(name) => Violation::new(format!("{path}.{name}"), "is required"),
                None => Violation::new(path, description),
            };
            Error::from_violations(vec![violation])
        }
    }
}

/// Defines the JSON form of a message by its derived serialization (`remote = "Self"`, which rustdoc
/// does not see).
macro_rules! object {
    ($name:ty) => {
        #[cfg(not(doc))]
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$name>::serialize(self, to)
            }
        }

        #[cfg(not(doc))]
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$name>::deserialize(crate::json::Object(from))
            }
        }
    };
}
pub(crate) use object;

/// Reads a message from an object only: derived deserializers also accept an array of the member
/// values.
pub(crate) struct Object<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Object<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

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
                let number = crate::json::AsName::<$name>::deserialize(from)?;
                Ok(Self::try_from(number).unwrap_or_default())
            }
        }
    };
}
pub(crate) use enumeration;

/// The JSON form of an enum member: written by name, read by name or number.
pub(crate) struct AsName<E>(PhantomData<E>);

impl<E: Enumeration> AsName<E> {
    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        // Unknown names were lost when reading; unknown numbers are written as numbers (ProtoJSON).
        let number = if *number == UNRECOGNIZED { 0 } else { *number };
        match E::name_of(number) {
            Some(name) => to.serialize_str(name),
            None => to.serialize_i32(number),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "the name or the number of an enum value")]
        enum Form {
            Name(String),
            Number(i32),
            Unset(()),
        }
        Ok(match Form::deserialize(from)? {
            Form::Name(name) => E::from_name(&name).map_or(UNRECOGNIZED, E::number),
            Form::Number(number) => number,
            Form::Unset(()) => 0,
        })
    }
}

/// Reads a member for which `null` means unset.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads an `int32`: a number without fraction, or a decimal string.
pub(crate) fn int32<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    int32_option(from).map(Option::unwrap_or_default)
}

/// Reads an `optional int32`.
pub(crate) fn int32_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a 32-bit integer, or a decimal string")]
    enum Form {
        Integer(i32),
        Float(f64),
        Text(String),
        Unset(()),
    }
    match Form::deserialize(from)? {
        Form::Integer(number) => Ok(Some(number)),
        Form::Float(number) => {
            let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
            if number.fract() == 0.0 && range.contains(&number) {
                #[expect(clippy::cast_possible_truncation, reason = "in range and integral")]
                let whole = number as i32;
                Ok(Some(whole))
            } else {
                Err(D::Error::custom("not a 32-bit integer"))
            }
        }
        Form::Text(text) => text.parse().map(Some).map_err(D::Error::custom),
        Form::Unset(()) => Ok(None),
    }
}

/// Reads a timestamp of a response. Some agents omit the time zone of RFC 3339; such timestamps are
/// read as UTC.
pub(crate) fn timestamp_in_response<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    text.parse().map(Some).or_else(|error| match format!("{text}Z").parse() {
        Ok(timestamp) => {
            tracing::debug!(timestamp = text, "timestamp without a time zone read as UTC");
            Ok(Some(timestamp))
        }
        Err(_) => Err(D::Error::custom(error)),
    })
}

/// Returns whether a member has its default value and is omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ListTasksRequest, SendMessageRequest, Task, TaskStatus};

    #[test]
    fn timestamp_without_time_zone_is_only_accepted_in_responses() {
        let with_zone: TaskStatus =
            serde_json::from_str(r#"{"timestamp":"2026-11-22T13:18:42.965969Z"}"#).unwrap();
        let status: TaskStatus =
            from_slice(br#"{"timestamp":"2026-11-22T13:18:42.965969"}"#).unwrap();
        assert_eq!(status, with_zone);
        assert_eq!(from_slice::<TaskStatus>(br#"{"timestamp":null}"#).unwrap().timestamp, None);
        for text in [
            "",
            "now",
            "2026-11-22",
            "13:18:42",
            "2026-11-22T13:18",
            "2026-11-22T13:18:42+01",
            "2026-11-22T13:18:42 ",
            "2026-11-22T25:18:42",
            "0000-01-01T00:00:00",
        ] {
            let json = serde_json::json!({ "timestamp": text }).to_string();
            let error = from_slice::<TaskStatus>(json.as_bytes()).unwrap_err();
            assert_eq!(error.violations()[0].field, "timestamp", "{text}");
        }
        let json = br#"{"statusTimestampAfter":"2026-11-22T13:18:42.965969"}"#;
        let error = from_slice::<ListTasksRequest>(json).unwrap_err();
        assert_eq!(error.violations()[0].field, "statusTimestampAfter");
    }

    #[test]
    fn errors_have_the_path_of_the_invalid_member() {
        for (json, path) in [
            ("[]", ""),
            (r#"{"message":["m","c","t","ROLE_USER",[{"text":"x"}]]}"#, "message"),
            (r#"{"configuration":[]}"#, "configuration"),
            (r#"{"message":{"parts":[[]]}}"#, "message.parts[0]"),
        ] {
            let error = from_slice::<SendMessageRequest>(json.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{json}");
            assert_eq!(error.violations()[0].field, path, "{json}");
        }
        for json in ["[", r#"{"id":7"#, r#"{"id":[]}}"#] {
            let error = from_slice::<Task>(json.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ParseError, "{json}");
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only deserialized")]
        struct Needy {
            name: String,
            inner: Option<Box<Self>>,
        }
        for (json, path) in [("{}", "name"), (r#"{"name":"a","inner":{}}"#, "inner.name")] {
            let error = from_slice::<Needy>(json.as_bytes()).unwrap_err();
            assert_eq!(error.violations(), [Violation::new(path, "is required")], "{json}");
        }
        assert!(from_slice::<Task>(b"[]").is_err());
        assert!(from_slice::<Task>(b"null").is_err());
    }
}
