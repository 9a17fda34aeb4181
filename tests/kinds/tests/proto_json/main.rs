//! Every kind of field is read and written as `prost-reflect` does.

#![allow(clippy::unwrap_used, reason = "a failed test")]

mod pbjson;

use std::{collections::HashMap, fmt};

use a2a_test_kinds::{
    DESCRIPTOR, Validate as _, json,
    v1::{Choice, MapKeys, MapValues, Names, Optional, Repeated, Singular, Union},
};
use proptest::prelude::*;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage as _, SerializeOptions, Value,
    prost::{Message, Name},
};
use serde::{Serialize, de::DeserializeOwned};

fn descriptor(name: &str) -> MessageDescriptor {
    DescriptorPool::decode(DESCRIPTOR).unwrap().get_message_by_name(name).unwrap()
}

/// Values of a kind, with the limits of the type among them.
fn value_of(kind: &Kind, depth: u32) -> BoxedStrategy<Value> {
    match kind {
        Kind::Double => prop_oneof![
            any::<f64>(),
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(-0.0),
            Just(f64::MIN),
        ]
        .prop_map(Value::F64)
        .boxed(),
        Kind::Float => prop_oneof![
            any::<f32>(),
            Just(f32::NAN),
            Just(f32::NEG_INFINITY),
            Just(f32::MIN_POSITIVE)
        ]
        .prop_map(Value::F32)
        .boxed(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
            prop_oneof![any::<i32>(), Just(0), Just(i32::MIN)].prop_map(Value::I32).boxed()
        }
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            prop_oneof![any::<i64>(), Just(0), Just(i64::MIN)].prop_map(Value::I64).boxed()
        }
        Kind::Uint32 | Kind::Fixed32 => {
            prop_oneof![any::<u32>(), Just(0)].prop_map(Value::U32).boxed()
        }
        Kind::Uint64 | Kind::Fixed64 => {
            prop_oneof![any::<u64>(), Just(u64::MAX)].prop_map(Value::U64).boxed()
        }
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::String => ".{0,6}".prop_map(Value::String).boxed(),
        Kind::Bytes => any::<Vec<u8>>().prop_map(|bytes| Value::Bytes(bytes.into())).boxed(),
        Kind::Enum(_) => prop::sample::select(vec![0, 1, 3, 5, 7, -2, i32::MAX])
            .prop_map(Value::EnumNumber)
            .boxed(),
        Kind::Message(message) => match message.full_name() {
            // Their numbers and times have tests of their own.
            "google.protobuf.Value" => {
                let text = |name: &'static str| {
                    let descriptor = message.clone();
                    move |value| {
                        let mut message = DynamicMessage::new(descriptor.clone());
                        message.set_field_by_name(name, value);
                        Value::Message(message)
                    }
                };
                prop_oneof![
                    Just(Value::EnumNumber(0)).prop_map(text("null_value")),
                    any::<bool>().prop_map(Value::Bool).prop_map(text("bool_value")),
                    ".{0,6}".prop_map(Value::String).prop_map(text("string_value")),
                ]
                .boxed()
            }
            "google.protobuf.Struct" => {
                Just(Value::Message(DynamicMessage::new(message.clone()))).boxed()
            }
            "google.protobuf.Timestamp" => {
                let mut timestamp = DynamicMessage::new(message.clone());
                timestamp.set_field_by_name("nanos", Value::I32(5_000_000));
                Just(Value::Message(timestamp)).boxed()
            }
            _ => message_of(message.clone(), depth + 1).prop_map(Value::Message).boxed(),
        },
    }
}

fn field_of(field: &FieldDescriptor, depth: u32) -> BoxedStrategy<Value> {
    if let Kind::Message(entry) = field.kind()
        && field.is_map()
    {
        let key = value_of(&entry.map_entry_key_field().kind(), depth).prop_map(|key| match key {
            Value::Bool(key) => MapKey::Bool(key),
            Value::I32(key) => MapKey::I32(key),
            Value::I64(key) => MapKey::I64(key),
            Value::U32(key) => MapKey::U32(key),
            Value::U64(key) => MapKey::U64(key),
            Value::String(key) => MapKey::String(key),
            other => unreachable!("{other:?} as a key"),
        });
        let value = value_of(&entry.map_entry_value_field().kind(), depth);
        return prop::collection::hash_map(key, value, 0..3).prop_map(Value::Map).boxed();
    }
    let value = value_of(&field.kind(), depth);
    if field.is_list() {
        return prop::collection::vec(value, 0..3).prop_map(Value::List).boxed();
    }
    value
}

/// Random messages, in which a third of the fields is set.
fn message_of(descriptor: MessageDescriptor, depth: u32) -> BoxedStrategy<DynamicMessage> {
    let fields = descriptor.fields().filter(|field| depth < 2 || field.name() != "itself");
    let fields: Vec<_> = fields
        .map(|field| {
            let name = field.name().to_owned();
            prop::option::weighted(0.3, field_of(&field, depth))
                .prop_map(move |value| value.map(|value| (name.clone(), value)))
        })
        .collect();
    fields
        .prop_map(move |values| {
            let mut message = DynamicMessage::new(descriptor.clone());
            let values: HashMap<_, _> = values.into_iter().flatten().collect();
            for (name, value) in values {
                message.set_field_by_name(&name, value);
            }
            message
        })
        .boxed()
}

/// Compares our JSON form of a message with the other one, in both directions.
fn compare<T>(message: &DynamicMessage) -> Result<(), TestCaseError>
where
    T: Message + Default + Serialize + DeserializeOwned,
{
    let bytes = message.encode_to_vec();
    let ours = T::decode(bytes.as_slice()).unwrap();
    let mut written = Vec::new();
    json::write(&mut written, &ours).unwrap();
    prop_assert_eq!(&serde_json::to_vec(&ours).unwrap(), &written);
    let parsed = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    for use_proto_names in [false, true] {
        let options = SerializeOptions::new().use_proto_field_name(use_proto_names);
        let mut expected = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut expected);
        message.serialize_with_options(&mut serializer, &options).unwrap();
        if !use_proto_names {
            prop_assert_eq!(parsed(&written), parsed(&expected));
        }
        // NaN is equal to nothing, but its bytes are.
        let read: T = json::from_slice(&expected).unwrap();
        prop_assert_eq!(read.encode_to_vec(), ours.encode_to_vec());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(&written);
    let theirs = DynamicMessage::deserialize(message.descriptor(), &mut deserializer).unwrap();
    let theirs = T::decode(theirs.encode_to_vec().as_slice()).unwrap();
    prop_assert_eq!(theirs.encode_to_vec(), ours.encode_to_vec());
    Ok(())
}

/// A message that is printed as JSON: that of `prost-reflect` prints recursive types without end.
struct Case(DynamicMessage);

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).unwrap())
    }
}

macro_rules! kinds {
    ($($test:ident: $message:ty,)*) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: 100,
                failure_persistence: None,
                ..ProptestConfig::default()
            })]

            $(
                #[test]
                fn $test(case in message_of(descriptor(&<$message>::full_name()), 0).prop_map(Case)) {
                    compare::<$message>(&case.0)?;
                }
            )*
        }
    };
}

kinds! {
    singular_members_agree: Singular,
    optional_members_agree: Optional,
    repeated_members_agree: Repeated,
    map_values_agree: MapValues,
    map_keys_agree: MapKeys,
    unions_agree: Union,
    names_agree: Names,
    unions_with_names_of_rust_agree: Choice,
}

/// Reads a message and returns its JSON again.
fn read<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    let message: T = json::from_slice(text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(serde_json::to_string(&message).unwrap())
}

#[test]
fn values_are_read_in_all_forms() {
    for (given, expected) in [
        (r#"{"aInt32":"-7"}"#, r#"{"aInt32":-7}"#),
        (r#"{"aInt32":7.0}"#, r#"{"aInt32":7}"#),
        (r#"{"aInt32":1e5}"#, r#"{"aInt32":100000}"#),
        (r#"{"aInt32":"1e5"}"#, r#"{"aInt32":100000}"#),
        (r#"{"aInt64":9007199254740993}"#, r#"{"aInt64":"9007199254740993"}"#),
        (r#"{"aInt64":"-9223372036854775808"}"#, r#"{"aInt64":"-9223372036854775808"}"#),
        (r#"{"aUint64":18446744073709551615}"#, r#"{"aUint64":"18446744073709551615"}"#),
        (r#"{"aUint32":4294967295}"#, r#"{"aUint32":4294967295}"#),
        (r#"{"aDouble":"1.5e3"}"#, r#"{"aDouble":1500.0}"#),
        (r#"{"aDouble":"-Infinity"}"#, r#"{"aDouble":"-Infinity"}"#),
        (r#"{"aFloat":"NaN"}"#, r#"{"aFloat":"NaN"}"#),
        (r#"{"aFloat":0.1}"#, r#"{"aFloat":0.1}"#),
        (r#"{"aFloat":3.4028235e38}"#, r#"{"aFloat":3.4028235e+38}"#),
        (r#"{"aDouble":-0.0}"#, r#"{"aDouble":-0.0}"#),
        (r#"{"aBytes":"-_8"}"#, r#"{"aBytes":"+/8="}"#),
        (r#"{"aColor":"COLOR_BLUE"}"#, r#"{"aColor":"COLOR_BLUE"}"#),
        (r#"{"aColor":1}"#, r#"{"aColor":"COLOR_RED"}"#),
        (r#"{"aColor":7}"#, r#"{"aColor":7}"#),
        (r#"{"a_int64":1,"a_nested_enum":3}"#, r#"{"aInt64":"1","aNestedEnum":"SIZE_LARGE"}"#),
        (r#"{"aValue":null}"#, r#"{"aValue":null}"#),
        (r#"{"itself":{"aBool":true}}"#, r#"{"itself":{"aBool":true}}"#),
        (
            r#"{"aInt32":null,"aInt64":null,"aDouble":null,"aBool":null,"aString":null,
                "aBytes":null,"aColor":null,"aMessage":null,"itself":null}"#,
            "{}",
        ),
    ] {
        assert_eq!(read::<Singular>(given).as_deref(), Ok(expected), "{given}");
    }
    assert_eq!(
        read::<Optional>(r#"{"aInt64":0,"aColor":0,"aBytes":null}"#).as_deref(),
        Ok(r#"{"aInt64":"0","aColor":"COLOR_UNSPECIFIED"}"#)
    );
    assert_eq!(
        read::<Repeated>(r#"{"aInt64":null,"aValue":[null]}"#).as_deref(),
        Ok(r#"{"aValue":[null]}"#)
    );
    assert_eq!(
        read::<MapKeys>(r#"{"byBool":{"true":"a"},"byInt64":{"-1":"b"}}"#).as_deref(),
        Ok(r#"{"byInt64":{"-1":"b"},"byBool":{"true":"a"}}"#)
    );
    assert_eq!(
        read::<Union>(r#"{"aInt64":null,"a_value":null}"#).as_deref(),
        Ok(r#"{"aValue":null}"#)
    );
    assert_eq!(read::<Union>("{}").as_deref(), Ok("{}"));
}

#[test]
fn invalid_values_are_refused_with_their_path() {
    for (given, path) in [
        (r#"{"aInt32":2147483648}"#, "aInt32"),
        (r#"{"aInt32":1.5}"#, "aInt32"),
        (r#"{"aInt32":""}"#, "aInt32"),
        (r#"{"aInt32":"0x1"}"#, "aInt32"),
        (r#"{"aInt32":true}"#, "aInt32"),
        (r#"{"aUint32":-1}"#, "aUint32"),
        (r#"{"aUint64":"-1"}"#, "aUint64"),
        (r#"{"aInt64":9223372036854775808}"#, "aInt64"),
        (r#"{"aInt64":1e19}"#, "aInt64"),
        (r#"{"aFloat":1e39}"#, "aFloat"),
        (r#"{"aDouble":"inf"}"#, "aDouble"),
        (r#"{"aDouble":"nan"}"#, "aDouble"),
        (r#"{"aDouble":"1e999"}"#, "aDouble"),
        (r#"{"aBool":"true"}"#, "aBool"),
        (r#"{"aString":1}"#, "aString"),
        (r#"{"aBytes":"a b"}"#, "aBytes"),
        (r#"{"aColor":true}"#, "aColor"),
        (r#"{"aColor":4294967296}"#, "aColor"),
    ] {
        let error = json::from_slice::<Singular>(given.as_bytes()).unwrap_err();
        assert_eq!(error.violations()[0].field, path, "{given}");
    }
    for (given, path) in
        [(r#"{"aInt64":[1,null]}"#, "aInt64[1]"), (r#"{"aColor":["COLOR_RED",[]]}"#, "aColor[1]")]
    {
        let error = json::from_slice::<Repeated>(given.as_bytes()).unwrap_err();
        assert_eq!(error.violations()[0].field, path, "{given}");
    }
    for given in [r#"{"byInt32":{"x":"a"}}"#, r#"{"byBool":{"1":"a"}}"#, r#"{"colors":{"1":null}}"#]
    {
        assert!(json::from_slice::<MapKeys>(given.as_bytes()).is_err(), "{given}");
    }
    for given in [r#"{"aInt64":"1","aString":"x"}"#, r#"{"aInt64":[]}"#, "[]", "null"] {
        assert!(json::from_slice::<Union>(given.as_bytes()).is_err(), "{given}");
    }
}

#[test]
fn unknown_enum_values_are_found_wherever_they_are() {
    let repeated: Repeated = json::from_slice(br#"{"aColor":["COLOR_RED","COLOR_X"]}"#).unwrap();
    assert_eq!(repeated.violations()[0].field, "aColor[1]");
    let map: MapKeys = json::from_slice(br#"{"colors":{"7":"COLOR_X"}}"#).unwrap();
    assert_eq!(map.violations()[0].field, "colors.7");
    let optional: Optional = json::from_slice(br#"{"aColor":"COLOR_X"}"#).unwrap();
    assert_eq!(optional.violations()[0].field, "aColor");
    let union: Union = json::from_slice(br#"{"aColor":"COLOR_X"}"#).unwrap();
    assert_eq!(union.violations()[0].field, "aColor");
}
