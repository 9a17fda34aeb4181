//! The JSON form of plain messages.

use serde::{Deserializer, de::Visitor};

/// Defines the JSON form of a message by its derived serialization (`remote = "Self"`, which
/// rustdoc does not see).
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
