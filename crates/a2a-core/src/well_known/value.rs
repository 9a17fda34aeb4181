//! JSON values and objects: `google.protobuf.Value` and `Struct`.

use std::{
    collections::{BTreeMap, btree_map},
    fmt::{self, Debug},
    ops::{Deref, DerefMut},
};

use super::Number;
use crate::ParseError;

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

/// A JSON object: values by name, sorted by name.
///
/// Dereferences to its map. In protobuf, it is `google.protobuf.Struct`.
///
/// ```
/// use a2a_core::well_known::{Struct, Value};
///
/// let mut metadata = Struct::from([("city", "Oslo")]);
/// metadata.insert("degrees", -3);
/// assert_eq!(metadata.get("degrees").and_then(Value::as_i64), Some(-3));
/// assert_eq!(metadata.len(), 2);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Struct {
    /// The values by name.
    pub fields: BTreeMap<String, Value>,
}

impl Struct {
    /// Returns an empty object.
    #[must_use]
    pub const fn new() -> Self {
        Self { fields: BTreeMap::new() }
    }

    /// Inserts a value and returns the previous value of the key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.fields.insert(key.into(), value.into())
    }

    /// Returns the nesting depth of arrays and objects, including this object.
    #[must_use]
    pub fn depth(&self) -> usize {
        1 + self.fields.values().map(Value::depth).max().unwrap_or(0)
    }
}

impl Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

impl Deref for Struct {
    type Target = BTreeMap<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl DerefMut for Struct {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.fields
    }
}

impl From<BTreeMap<String, Value>> for Struct {
    fn from(fields: BTreeMap<String, Value>) -> Self {
        Self { fields }
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Struct {
    fn from(fields: [(K, V); N]) -> Self {
        fields.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Struct {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(fields: I) -> Self {
        Self { fields: fields.into_iter().map(|(key, value)| (key.into(), value.into())).collect() }
    }
}

impl<K: Into<String>, V: Into<Value>> Extend<(K, V)> for Struct {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, fields: I) {
        self.fields.extend(fields.into_iter().map(|(key, value)| (key.into(), value.into())));
    }
}

impl IntoIterator for Struct {
    type Item = (String, Value);
    type IntoIter = btree_map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}

impl<'a> IntoIterator for &'a Struct {
    type Item = (&'a String, &'a Value);
    type IntoIter = btree_map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.iter()
    }
}

impl TryFrom<Value> for Struct {
    type Error = ParseError;

    fn try_from(value: Value) -> Result<Self, ParseError> {
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(not_an_object()),
        }
    }
}

pub(super) fn not_an_object() -> ParseError {
    ParseError::new("the value is not a JSON object")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Struct, Value, not_an_object};

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

    #[test]
    fn struct_is_a_map() {
        let mut object = Struct::from([("b", 2), ("a", 1)]);
        object.extend([("c", "three")]);
        assert_eq!(object.insert("a", true), Some(Value::from(1)));
        assert_eq!(object.remove("b"), Some(Value::from(2)));
        assert_eq!(object.keys().collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(object.clone().into_iter().collect::<Struct>(), object);
    }

    #[test]
    fn only_objects_convert_to_structs() {
        let object = Struct::from([("a", 1)]);
        assert_eq!(Struct::try_from(Value::from(object.clone())), Ok(object));
        assert_eq!(Struct::try_from(Value::Null), Err(not_an_object()));
        assert_eq!(Struct::try_from(serde_json::json!([])), Err(not_an_object()));
    }
}
