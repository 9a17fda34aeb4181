//! Conversions of [`Value`] from Rust types, and from and to `serde_json`.

use super::{Number, Struct, Value, value::not_an_object};
use crate::ParseError;

macro_rules! scalars {
    ($($variant:ident: $($type:ty),*;)*) => {$($(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*)*};
}
scalars! {
    Bool: bool;
    Number: Number, i32, i64, u32, u64;
    String: &str, String;
    Object: Struct;
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }
}

/// `None` becomes `null`.
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(boolean) => Self::Bool(boolean),
            serde_json::Value::Number(number) => Self::Number(number.into()),
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(elements) => elements.into(),
            serde_json::Value::Object(object) => Self::Object(object.into()),
        }
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(boolean) => Self::Bool(boolean),
            Value::Number(number) => Self::Number(number.into()),
            Value::String(text) => Self::String(text),
            Value::Array(elements) => elements.into_iter().map(Self::from).collect(),
            Value::Object(object) => Self::Object(object.into()),
        }
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for Struct {
    fn from(object: serde_json::Map<String, serde_json::Value>) -> Self {
        object.into_iter().collect()
    }
}

impl From<Struct> for serde_json::Map<String, serde_json::Value> {
    fn from(object: Struct) -> Self {
        object.into_iter().map(|(key, value)| (key, value.into())).collect()
    }
}

impl TryFrom<serde_json::Value> for Struct {
    type Error = ParseError;

    fn try_from(json: serde_json::Value) -> Result<Self, ParseError> {
        match json {
            serde_json::Value::Object(object) => Ok(object.into()),
            _ => Err(not_an_object()),
        }
    }
}

impl From<serde_json::Number> for Number {
    fn from(number: serde_json::Number) -> Self {
        let integer = number.as_u64().map(Self::from).or_else(|| number.as_i64().map(Self::from));
        integer.or_else(|| Self::from_f64(number.as_f64()?)).unwrap_or_else(|| {
            // Only with serde_json's `arbitrary_precision` are there numbers out of the range of
            // doubles: they are rounded to the nearest one.
            let largest = if number.to_string().starts_with('-') { f64::MIN } else { f64::MAX };
            Self::from_f64(largest).unwrap_or(Self::from(0))
        })
    }
}

impl From<Number> for serde_json::Number {
    fn from(number: Number) -> Self {
        let integer = number.as_u64().map(Self::from).or_else(|| number.as_i64().map(Self::from));
        // Unreachable: every number is finite.
        integer.or_else(|| Self::from_f64(number.as_f64())).unwrap_or(Self::from(0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};
    use serde_json::json;

    use super::{Number, Struct, Value};
    use crate::well_known::arbitrary;

    #[test]
    fn rust_values_convert_to_json() {
        for (value, expected) in [
            (Value::from(true), json!(true)),
            (Value::from(-1_i32), json!(-1)),
            (Value::from(1_u32), json!(1)),
            (Value::from(i64::MIN), json!(i64::MIN)),
            (Value::from(u64::MAX), json!(u64::MAX)),
            (Value::from("a"), json!("a")),
            (Value::from("a".to_owned()), json!("a")),
            (Value::from(vec!["a", "b"]), json!(["a", "b"])),
            (Value::from(vec![Some(1), None]), json!([1, null])),
            (Value::from(Number::from_f64(0.5)), json!(0.5)),
            (Value::from(Struct::from([("a", 1)])), json!({"a": 1})),
        ] {
            assert_eq!(serde_json::Value::from(value), expected);
        }
    }

    proptest! {
        #[test]
        fn values_round_trip_through_serde_json(value in arbitrary::value()) {
            prop_assert_eq!(Value::from(serde_json::Value::from(value.clone())), value);
        }

        #[test]
        fn serde_json_reads_the_same_value(value in arbitrary::value()) {
            prop_assert_eq!(
                serde_json::to_value(&value).unwrap(),
                serde_json::Value::from(value)
            );
        }
    }
}
