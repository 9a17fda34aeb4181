//! A card as it is received: JSON in which every name stands once.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// What was received is no JSON object that could be signed.
#[derive(Debug, thiserror::Error)]
#[error("it is not a card that can be signed: {0}")]
pub struct NotACard(#[from] pub(super) serde_json::Error);

/// Reads an object.
///
/// Of a name that stands twice, one reader takes the first value and another the last, so that
/// they would not have read the same card (RFC 8785 §3.1).
pub(super) fn read(json: &[u8]) -> Result<Map<String, Value>, NotACard> {
    match serde_json::from_slice::<Once>(json)?.0 {
        Value::Object(members) => Ok(members),
        _ => Err(NotACard(serde_json::Error::custom("it is not an object"))),
    }
}

/// A value in which no name stands twice.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Once(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Once(value))) = members.next_entry::<String, Once>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} stands twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth() {
        let fine = r#"{"a": [{"b": 1}, {"b": -2.5e3}], "b": null, "c": "x", "d": true}"#;
        let read_again: Value = serde_json::from_str(fine).unwrap();
        assert_eq!(Value::Object(read(fine.as_bytes()).unwrap()), read_again);
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": [{"b": 1, "\u0062": 2}]}"#,
            "[]",
            "1",
            "",
            r#"{"a": "\ud800"}"#,
            r#"{"a": 1e999}"#,
            &format!(r#"{{"a": {}"#, "[".repeat(100_000)),
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text:.40}");
        }
    }
}
