//! The JSON form of messages that only have a union.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer, Serializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor},
    ser::SerializeMap as _,
};

use super::{Form, form::Borrowed};

/// Defines the JSON form of a message with the union `$oneof` and no other members: for each one
/// its position, its names, of which the first is written, its variant and its form.
macro_rules! union {
    ($name:ty, $oneof:ident; $($index:literal [$json:literal $(, $proto:literal)?] $variant:path: $form:ty;)*) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match &self.$oneof {
                    $(Some($variant(value)) => {
                        crate::json::write_member::<$form, S>(to, $json, value)
                    })*
                    None => ::serde::ser::SerializeMap::end(to.serialize_map(Some(0))?),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> ::serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("an object with one of" $(, " ", $json)*))
                    }

                    fn visit_map<A: ::serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        const NAMES: &[(&str, usize)] =
                            &[$(($json, $index), $(($proto, $index),)?)*];
                        let mut found = None;
                        while let Some(index) = map.next_key_seed(crate::json::Key(NAMES))? {
                            let value = match index {
                                $($index => {
                                    crate::json::read_member::<$form, A>(&mut map)?.map($variant)
                                })*
                                _ => {
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                    None
                                }
                            };
                            if value.is_some() && ::std::mem::replace(&mut found, value).is_some() {
                                return Err(::serde::de::Error::custom(concat!(
                                    "must have only one of" $(, " ", $json)*
                                )));
                            }
                        }
                        Ok(Self::Value { $oneof: found })
                    }
                }

                from.deserialize_map(Members)
            }
        }
    };
}
pub(crate) use union;

/// Writes an object with one member.
pub(crate) fn write_member<F: Form, S: Serializer>(
    to: S,
    name: &'static str,
    value: &F::Value,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(name, &Borrowed::<F>(value))?;
    map.end()
}

/// Reads the member whose name was read last.
pub(crate) fn read_member<'de, F: Form, A: MapAccess<'de>>(
    map: &mut A,
) -> Result<Option<F::Value>, A::Error> {
    map.next_value_seed(Member(PhantomData::<F>))
}

struct Member<F>(PhantomData<F>);

impl<'de, F: Form> DeserializeSeed<'de> for Member<F> {
    type Value = Option<F::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        F::read_member(from)
    }
}

/// Looks the name of a member up. Its position is `usize::MAX` if it is unknown.
pub(crate) struct Key(pub(crate) &'static [(&'static str, usize)]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        Ok(found.map_or(usize::MAX, |(_, index)| *index))
    }
}
