//! The JSON form of [`Value`] and [`Struct`].

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::{Number, Struct, Value};

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(number) = self.as_u64() {
            serializer.serialize_u64(number)
        } else if let Some(number) = self.as_i64() {
            serializer.serialize_i64(number)
        } else {
            serializer.serialize_f64(self.as_f64())
        }
    }
}

impl Serialize for Struct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.fields)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(boolean) => serializer.serialize_bool(*boolean),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Struct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StructVisitor)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct StructVisitor;

impl<'de> Visitor<'de> for StructVisitor {
    type Value = Struct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Struct, A::Error> {
        let mut object = Struct::new();
        // The last value of a duplicate key is used, as in most JSON parsers.
        while let Some((key, value)) = fields.next_entry::<String, Value>()? {
            object.insert(key, value);
        }
        Ok(object)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<Value, E> {
        Ok(boolean.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        match Number::from_f64(number) {
            Some(number) => Ok(number.into()),
            None => Err(E::invalid_value(Unexpected::Float(number), &"a finite number")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element()? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        StructVisitor.visit_map(fields).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{Struct, Value};
    use crate::well_known::arbitrary;

    #[test]
    fn json_values_are_read() {
        for (text, expected) in [
            ("null", "null"),
            ("true", "true"),
            ("false", "false"),
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("10e-1", "1"),
            ("-1.0", "-1"),
            ("0.5", "0.5"),
            ("1.10", "1.1"),
            ("1e-7", "1e-7"),
            ("1e300", "1e+300"),
            ("9007199254740992", "9007199254740992"),
            ("9007199254740993", "9007199254740993"),
            ("-9007199254740993", "-9007199254740993"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            // Rounded to the nearest double, which is an integer.
            ("-9223372036854775809", "-9223372036854775808"),
            ("1e18", "1000000000000000000"),
            (r#""""#, r#""""#),
            (r#""a\u00e9\n\"""#, r#""aé\n\"""#),
            ("[]", "[]"),
            ("[ 1, null, [ \"a\" ] ]", r#"[1,null,["a"]]"#),
            ("{}", "{}"),
            (r#"{"b": null, "a": {"": 1}}"#, r#"{"a":{"":1},"b":null}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":2}"#),
        ] {
            let value: Value = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&value).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn malformed_json_is_rejected() {
        for text in
            ["", "nul", "NaN", "Infinity", "-Infinity", "1e999", "01", "[1,]", "{a:1}", "'a'"]
        {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_objects_are_structs() {
        let object: Struct = serde_json::from_str(r#"{"a": null}"#).unwrap();
        assert_eq!(object.get("a"), Some(&Value::Null));
        for text in ["null", "1", "\"a\"", "[]", "[[\"a\", 1]]"] {
            assert!(serde_json::from_str::<Struct>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let text = "[".repeat(1_000_000);
        assert!(serde_json::from_str::<Value>(&text).is_err());
    }

    proptest! {
        // Requires serde_json's `float_roundtrip`; without it, some doubles are off by one unit.
        #[test]
        fn values_round_trip_through_json(value in arbitrary::value()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
