//! A JSON object: `google.protobuf.Struct`.

use std::{
    collections::{BTreeMap, btree_map},
    error, fmt,
    fmt::{Debug, Display},
    ops::{Deref, DerefMut},
};

use super::Value;

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
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(NotAnObject),
        }
    }
}

/// A JSON value that is not an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnObject;

impl Display for NotAnObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value is not a JSON object")
    }
}

impl error::Error for NotAnObject {}

#[cfg(test)]
mod tests {
    use super::{NotAnObject, Struct, Value};

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
        assert_eq!(Struct::try_from(Value::Null), Err(NotAnObject));
        assert_eq!(Struct::try_from(serde_json::json!([])), Err(NotAnObject));
    }
}
