//! Arbitrary messages of the protocol, generated from the descriptor.

use std::{collections::HashMap, fmt};

use proptest::{
    collection::{btree_map, hash_map, vec},
    option,
    prelude::*,
    sample::select,
    strategy::Union,
};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value,
};

/// The members of a message that are set.
type Members = Vec<Option<(FieldDescriptor, Value)>>;

/// A message whose debug form is its JSON; that of prost-reflect contains the descriptor.
#[derive(Clone)]
pub(crate) struct Sample(pub(crate) DynamicMessage);

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string_pretty(&self.0).map_err(|_unprintable| fmt::Error)?;
        f.write_str(&json)
    }
}

pub(crate) fn pool() -> DescriptorPool {
    DescriptorPool::decode(a2a_core::DESCRIPTOR).expect("a descriptor")
}

fn descriptor(name: &str) -> MessageDescriptor {
    pool().get_message_by_name(&format!("lf.a2a.v1.{name}")).expect("a message")
}

/// Any message of a type.
pub(crate) fn sample(name: &str) -> impl Strategy<Value = Sample> + use<> {
    message(&descriptor(name)).prop_map(Sample)
}

/// Any value of a message, members set and unset, at their default and not.
fn message(descriptor: &MessageDescriptor) -> BoxedStrategy<DynamicMessage> {
    match descriptor.full_name() {
        "google.protobuf.Timestamp" => return timestamp(descriptor),
        "google.protobuf.Struct" => {
            let fields = btree_map(text(), json(), 0..4);
            let object = fields.prop_map(|fields| fields.into_iter().collect());
            return from_json(descriptor, object.prop_map(serde_json::Value::Object));
        }
        "google.protobuf.Value" => return from_json(descriptor, json()),
        _ => {}
    }
    let mut members: Vec<BoxedStrategy<Option<(FieldDescriptor, Value)>>> = Vec::new();
    for field in descriptor.fields() {
        if field.containing_oneof().is_none_or(|oneof| oneof.is_synthetic()) {
            members.push(option::of(member(&field)).boxed());
        }
    }
    for oneof in descriptor.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let choices: Vec<_> = oneof.fields().map(|field| member(&field)).collect();
        members.push(option::weighted(0.9, Union::new(choices)).boxed());
    }
    let descriptor = descriptor.clone();
    let build = move |members: Members| {
        let mut message = DynamicMessage::new(descriptor.clone());
        for (field, value) in members.into_iter().flatten() {
            // A default without presence equals an unset member; prost-reflect distinguishes them.
            if field.supports_presence() || !value.is_default_for_field(&field) {
                message.set_field(&field, value);
            }
        }
        message
    };
    members.prop_map(build).boxed()
}

fn member(field: &FieldDescriptor) -> BoxedStrategy<(FieldDescriptor, Value)> {
    let value = if field.is_map() {
        let Kind::Message(entry) = field.kind() else { unreachable!("a map has entries") };
        hash_map(text().prop_map(MapKey::String), value(&entry.map_entry_value_field()), 0..3)
            .prop_map(|entries: HashMap<MapKey, Value>| Value::Map(entries))
            .boxed()
    } else if field.is_list() {
        vec(value(field), 0..3).prop_map(Value::List).boxed()
    } else {
        value(field)
    };
    let field = field.clone();
    value.prop_map(move |value| (field.clone(), value)).boxed()
}

fn value(field: &FieldDescriptor) -> BoxedStrategy<Value> {
    match field.kind() {
        Kind::String => text().prop_map(Value::String).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Int32 => prop_oneof![any::<i32>(), -2_i32..3].prop_map(Value::I32).boxed(),
        Kind::Bytes => vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())).boxed(),
        Kind::Enum(kind) => {
            let numbers: Vec<_> = kind.values().map(|value| value.number()).collect();
            select(numbers).prop_map(Value::EnumNumber).boxed()
        }
        Kind::Message(descriptor) => message(&descriptor).prop_map(Value::Message).boxed(),
        other => unreachable!("no member is a {other:?}"),
    }
}

fn text() -> BoxedStrategy<String> {
    // Few characters, among them those that JSON escapes.
    prop_oneof![Just(String::new()), "[a-z/:]{1,6}", "[\u{0}-\u{20}\"\\\\é\u{2028}😀]{1,4}"].boxed()
}

fn timestamp(descriptor: &MessageDescriptor) -> BoxedStrategy<DynamicMessage> {
    let descriptor = descriptor.clone();
    let seconds = prop_oneof![-62_135_596_800..=253_402_300_799_i64, -2_i64..3];
    let nanos = prop_oneof![
        Just(0),
        (0..1_000).prop_map(|millis| millis * 1_000_000),
        (0..1_000_000).prop_map(|micros| micros * 1_000),
        0..1_000_000_000
    ];
    let build = move |(seconds, nanos): (i64, i32)| {
        let mut message = DynamicMessage::new(descriptor.clone());
        if seconds != 0 {
            message.set_field_by_name("seconds", Value::I64(seconds));
        }
        if nanos != 0 {
            message.set_field_by_name("nanos", Value::I32(nanos));
        }
        message
    };
    (seconds, nanos).prop_map(build).boxed()
}

/// JSON whose numbers fit into a double.
fn json() -> BoxedStrategy<serde_json::Value> {
    let number = prop_oneof![
        proptest::num::f64::NORMAL | proptest::num::f64::ZERO,
        (-1_000_000_i32..1_000_000).prop_map(f64::from)
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        number.prop_map(serde_json::Value::from),
        text().prop_map(serde_json::Value::from),
    ];
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(serde_json::Value::from),
            btree_map(text(), inner, 0..3)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    });
    nested.boxed()
}

fn from_json(
    descriptor: &MessageDescriptor,
    json: impl Strategy<Value = serde_json::Value> + 'static,
) -> BoxedStrategy<DynamicMessage> {
    let descriptor = descriptor.clone();
    json.prop_map(move |json| {
        DynamicMessage::deserialize(descriptor.clone(), json).expect("its JSON form")
    })
    .boxed()
}
