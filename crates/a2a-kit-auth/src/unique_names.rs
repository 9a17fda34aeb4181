//! Parsing of JSON objects without duplicate names.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// Parses an object.
///
/// Duplicate names are rejected at any depth, because parsers differ in which value they use (RFC
/// 8725 §2.4, RFC 8785 §3.1).
pub(crate) fn object(json: &[u8]) -> serde_json::Result<Map<String, Value>> {
    match serde_json::from_slice::<UniqueNames>(json)?.0 {
        Value::Object(members) => Ok(members),
        _ => Err(serde_json::Error::custom("not a JSON object")),
    }
}

/// A value without duplicate names.
struct UniqueNames(Value);

impl<'de> Deserialize<'de> for UniqueNames {
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
        while let Some(UniqueNames(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, UniqueNames(value))) = members.next_entry::<String, UniqueNames>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate name {name:?}")));
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
    fn duplicate_names_are_rejected_at_any_depth() {
        let fine = r#"{"a": [{"b": 1}, {"b": -2.5e3}], "b": null, "c": "x", "d": true}"#;
        let read_again: Value = serde_json::from_str(fine).unwrap();
        assert_eq!(Value::Object(object(fine.as_bytes()).unwrap()), read_again);
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
            assert!(object(text.as_bytes()).is_err(), "{text:.40}");
        }
    }
}
