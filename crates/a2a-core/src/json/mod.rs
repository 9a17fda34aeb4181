//! Reading and writing ProtoJSON (spec §5.5).

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
/// [`ErrorKind::ParseError`] where the text is not JSON, or nests deeper than 128 levels;
/// [`ErrorKind::InvalidParams`] with the path of the member where a member has the wrong form.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    // UTF-8 is checked once for the whole text; `from_slice` checks it for each string.
    let read = match str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(json),
    };
    read.map_err(|error| explain::<T>(json, error))
}

// Keeping track of the path costs more than half of the reading, so it is only done for a text
// that is known to be wrong.
#[cold]
fn explain<T: DeserializeOwned>(json: &[u8], error: serde_json::Error) -> Error {
    if matches!(error.classify(), Category::Syntax | Category::Eof | Category::Io) {
        return Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"));
    }
    // A member of a wrong form may stand before the place where the text stops being JSON.
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
            // The path says where; a line and a column would be those of a part of the text.
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

/// Gives a message its JSON form out of what serde derives for it (as `remote = "Self"`).
macro_rules! object {
    ($name:ty) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$name>::serialize(self, to)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$name>::deserialize(crate::json::Object(from))
            }
        }
    };
}
pub(crate) use object;

/// Reads a message from an object alone: what serde derives would also take an array, for the
/// members in their order.
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

/// The number that stands for an enum value whose name this revision does not know.
///
/// A reader of answers sees it as unspecified; a request that carries it is refused.
pub(crate) const UNRECOGNIZED: i32 = -1;

/// An enum of the proto, by name and number.
pub(crate) trait Enumeration: Sized {
    /// The value of a name.
    fn from_name(name: &str) -> Option<Self>;

    /// The name of a number, if it has one.
    fn name_of(number: i32) -> Option<&'static str>;

    /// The number of a value.
    fn number(self) -> i32;
}

/// Ties an enum of prost to its names, in JSON and for [`AsName`].
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

/// The JSON form of a member that holds an enum: its name, or its number on input.
pub(crate) struct AsName<E>(PhantomData<E>);

impl<E: Enumeration> AsName<E> {
    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        // A name that was not known is gone; a number that is not known stays one (ProtoJSON).
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

/// Reads an `int32`: a number without fraction, or its decimal text.
pub(crate) fn int32<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    int32_option(from).map(Option::unwrap_or_default)
}

/// Reads an `optional int32`.
pub(crate) fn int32_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an integer of 32 bits, or its decimal text")]
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
                #[expect(clippy::cast_possible_truncation, reason = "in range and whole")]
                let whole = number as i32;
                Ok(Some(whole))
            } else {
                Err(D::Error::custom("not an integer of 32 bits"))
            }
        }
        Form::Text(text) => text.parse().map(Some).map_err(D::Error::custom),
        Form::Unset(()) => Ok(None),
    }
}

/// Reads a point in time in an answer. Some agents print none of RFC 3339's time zones: that is
/// read as UTC, rather than lose the answer.
pub(crate) fn timestamp_of_answer<'de, D: Deserializer<'de>>(
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

/// Returns whether a member has its default, so that it is not printed.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ListTasksRequest, SendMessageRequest, Task, TaskStatus};

    #[test]
    fn a_timestamp_without_a_zone_is_utc_in_an_answer_and_refused_in_a_request() {
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
    fn what_is_wrong_in_a_message_is_named_by_its_path() {
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
        #[expect(dead_code, reason = "it is never read")]
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
