//! A JSON value: `google.protobuf.Value`.

use super::{Number, Struct};

/// Any JSON value.
///
/// In JSON, it is the value itself, with exact 64-bit integers. In protobuf, it is
/// `google.protobuf.Value`, in which every number is a double. Create it with [`From`], from
/// scalars or a `serde_json::Value`:
///
/// ```
/// use a2a_core::well_known::Value;
///
/// let value = Value::from(serde_json::json!({ "city": "Oslo", "degrees": [-3, 1.5] }));
/// assert_eq!(value.get("city").and_then(Value::as_str), Some("Oslo"));
/// assert_eq!(serde_json::to_string(&value)?, r#"{"city":"Oslo","degrees":[-3,1.5]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object.
    Object(Struct),
}

impl Value {
    /// Limit of the nesting depth in protobuf, as counted by [`depth`](Self::depth). JSON is
    /// limited by its parser.
    pub const MAX_DEPTH: usize = 128;

    /// Returns whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(boolean) => Some(*boolean),
            _ => None,
        }
    }

    /// Returns the number, if this is an integer that fits into an `i64`.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// Returns the number, if this is an integer that fits into a `u64`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the number as the nearest double, if this is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// Returns the string, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the object, if this is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Struct> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the value of `key`, if this is an object with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Returns the nesting depth of arrays and objects: 0 for a scalar, 1 for `[]` and `{"a": 1}`,
    /// 2 for `{"a": []}`.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 0,
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(object) => object.depth(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Value;

    #[test]
    fn accessors_check_the_type() {
        let kinds = [json!(null), json!(true), json!(7), json!("a"), json!([1]), json!({"a": 1})];
        let results = kinds.map(|kind| {
            let value = Value::from(kind);
            [
                value.is_null(),
                value.as_bool().is_some(),
                value.as_i64().is_some() && value.as_u64().is_some() && value.as_f64().is_some(),
                value.as_str().is_some(),
                value.as_array().is_some(),
                value.as_object().is_some() && value.get("a").is_some(),
            ]
        });
        for (kind, results) in results.into_iter().enumerate() {
            for (accessor, result) in results.into_iter().enumerate() {
                assert_eq!(result, accessor == kind, "kind {kind}, accessor {accessor}");
            }
        }
    }

    #[test]
    fn depth_counts_arrays_and_objects() {
        for (json, depth) in [
            (json!(null), 0),
            (json!("a"), 0),
            (json!([]), 1),
            (json!({}), 1),
            (json!({"a": 1}), 1),
            (json!([1, [2, [3]], 4]), 3),
            (json!({"a": [{"b": {}}], "c": 1}), 4),
        ] {
            assert_eq!(Value::from(json.clone()).depth(), depth, "{json}");
        }
    }
}
