//! How the members of a message are read and written: one value, `optional`, a list or a map.
//!
//! `build/json.rs` names these in `#[serde(with = "..")]`, for the types that serde itself writes
//! differently. A member that is `null` is unset.

#![allow(dead_code, reason = "forms that no message of the current proto needs")]

use std::{collections::BTreeMap, fmt::Display, marker::PhantomData, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::well_known::{Timestamp, Value};

/// The JSON form of a value.
pub(crate) trait Form {
    /// The type of the value in Rust.
    type Value;

    fn write<S: Serializer>(value: &Self::Value, to: S) -> Result<S::Ok, S::Error>;

    /// Reads a value that is not `null`.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error>;

    /// Reads a member, which is unset if it is `null`.
    fn read_member<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Self::Value>, D::Error> {
        Ok(Option::<Wrapped<Self>>::deserialize(from)?.map(|wrapped| wrapped.0))
    }
}

/// A value that serde reads and writes in its form.
pub(crate) struct Wrapped<F: Form + ?Sized>(pub(crate) F::Value);

impl<'de, F: Form + ?Sized> Deserialize<'de> for Wrapped<F> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        F::read(from).map(Self)
    }
}

/// A borrowed value that serde writes in its form.
pub(crate) struct Borrowed<'a, F: Form + ?Sized>(pub(crate) &'a F::Value);

impl<F: Form + ?Sized> Serialize for Borrowed<'_, F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, to)
    }
}

/// What serde reads and writes as ProtoJSON: messages, booleans and strings.
pub(crate) struct Plain<T>(PhantomData<T>);

impl<T: Serialize + for<'de> Deserialize<'de>> Form for Plain<T> {
    type Value = T;

    fn write<S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        T::deserialize(from)
    }
}

/// A `google.protobuf.Value`, for which `null` is a value.
pub(crate) struct Json;

impl Form for Json {
    type Value = Value;

    fn write<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        Value::deserialize(from)
    }

    fn read_member<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(from).map(Some)
    }
}

/// A member that has its default value if it is unset.
pub(crate) struct Singular<F>(PhantomData<F>);

impl<F: Form<Value: Default>> Singular<F> {
    pub(crate) fn serialize<S: Serializer>(value: &F::Value, to: S) -> Result<S::Ok, S::Error> {
        F::write(value, to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<F::Value, D::Error> {
        F::read_member(from).map(Option::unwrap_or_default)
    }
}

/// An `optional` member.
pub(crate) struct Optional<F>(PhantomData<F>);

impl<F: Form> Optional<F> {
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<F::Value>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => F::write(value, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<F::Value>, D::Error> {
        F::read_member(from)
    }
}

/// A `repeated` member.
pub(crate) struct Repeated<F>(PhantomData<F>);

impl<F: Form> Repeated<F> {
    pub(crate) fn serialize<S: Serializer>(values: &[F::Value], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(Borrowed::<F>))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<F::Value>, D::Error> {
        let values: Vec<Wrapped<F>> = or_default(from)?;
        Ok(values.into_iter().map(|wrapped| wrapped.0).collect())
    }
}

/// A map, whose keys are strings in JSON.
pub(crate) struct Map<K, F>(PhantomData<(K, F)>);

impl<K: Display + FromStr<Err: Display> + Ord, F: Form> Map<K, F> {
    pub(crate) fn serialize<S: Serializer>(
        map: &BTreeMap<K, F::Value>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(map.iter().map(|(key, value)| (key.to_string(), Borrowed::<F>(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<K, F::Value>, D::Error> {
        let map: BTreeMap<String, Wrapped<F>> = or_default(from)?;
        let entries = map.into_iter().map(|(key, value)| match key.parse() {
            Ok(key) => Ok((key, value.0)),
            Err(error) => Err(D::Error::custom(format_args!("invalid key {key:?}: {error}"))),
        });
        entries.collect()
    }
}

/// Reads a member for which `null` means unset.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Returns whether a member has its default value and is omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
