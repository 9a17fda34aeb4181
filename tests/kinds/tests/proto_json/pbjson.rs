//! Where the JSON of our generator is not that of pbjson.

use a2a_test_kinds::{v1, v1_of_pbjson};
use prost_reflect::EnumDescriptor;

use super::*;

/// Whether a difference can be in a field with a value.
type Applies = fn(&FieldDescriptor, &Value) -> bool;

/// What pbjson writes or reads differently in a message, as tests of a member.
const DIFFERENCES: [(&str, Applies); 4] = [
    ("NaN and infinity are written as null", |_, value| {
        number(value).is_some_and(|number| !number.is_finite())
    }),
    ("-0.0 is not written", |_, value| {
        number(value).is_some_and(|number| number == 0.0 && number.is_sign_negative())
    }),
    ("an unknown number of an enum can't be written", |field, value| match (kind(field), value) {
        (Kind::Enum(names), Value::EnumNumber(number)) => is_unknown(&names, *number),
        _ => false,
    }),
    ("null in a Value is unset", |field, _| field.name() == "null_value"),
];

/// What pbjson reads differently: a document, what we write of it, and what pbjson writes; `None`
/// for one that is rejected.
const DOCUMENTS: [(&str, Option<&str>, Option<&str>); 11] = [
    (r#"{"aString":null}"#, Some("{}"), None),
    (r#"{"aBool":null}"#, Some("{}"), None),
    (r#"{"aBytes":null}"#, Some("{}"), None),
    (r#"{"aColor":null}"#, Some("{}"), None),
    (r#"{"aInt32":null}"#, Some("{}"), None),
    (r#"{"aValue":null}"#, Some(r#"{"aValue":null}"#), Some("{}")),
    (r#"{"aInt32":7.0}"#, Some(r#"{"aInt32":7}"#), None),
    (r#"{"aInt32":"1e5"}"#, Some(r#"{"aInt32":100000}"#), None),
    (r#"{"aColor":7}"#, Some(r#"{"aColor":7}"#), None),
    (r#"{"aColor":"COLOR_X"}"#, Some(r#"{"aColor":"COLOR_UNSPECIFIED"}"#), None),
    (r#"{"aDouble":"inf"}"#, None, Some(r#"{"aDouble":null}"#)),
];

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_f32().map(f64::from))
}

fn is_unknown(names: &EnumDescriptor, number: i32) -> bool {
    names.get_value(number).is_none()
}

/// The kind of a member, or of the values of a map.
fn kind(field: &FieldDescriptor) -> Kind {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    }
}

/// Returns whether a member of a message, or of one in it, has a property.
fn any_member(message: &DynamicMessage, has: fn(&FieldDescriptor, &Value) -> bool) -> bool {
    fn in_value(
        field: &FieldDescriptor,
        value: &Value,
        has: fn(&FieldDescriptor, &Value) -> bool,
    ) -> bool {
        match value {
            Value::List(values) => values.iter().any(|value| in_value(field, value, has)),
            Value::Map(values) => values.values().any(|value| in_value(field, value, has)),
            Value::Message(message) => any_member(message, has),
            value => has(field, value),
        }
    }
    message.fields().any(|(field, value)| in_value(&field, value, has))
}

/// Checks that both generators agree about a message, unless one of the differences is in it.
fn compare<Ours, Theirs>(message: &DynamicMessage) -> Result<(), TestCaseError>
where
    Ours: Message + Default + Serialize,
    Theirs: Message + Default + Serialize + DeserializeOwned,
{
    if DIFFERENCES.iter().any(|(_, has)| any_member(message, *has)) {
        return Ok(());
    }
    let bytes = message.encode_to_vec();
    let ours = serde_json::to_value(Ours::decode(bytes.as_slice()).unwrap()).unwrap();
    let theirs = Theirs::decode(bytes.as_slice()).unwrap();
    prop_assert_eq!(&serde_json::to_value(&theirs).unwrap(), &ours);
    let read = Theirs::deserialize(&ours).unwrap();
    prop_assert_eq!(read.encode_to_vec(), theirs.encode_to_vec());
    Ok(())
}

macro_rules! generators {
    ($($test:ident: $message:ident,)*) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: 100,
                failure_persistence: None,
                ..ProptestConfig::default()
            })]

            $(
                #[test]
                fn $test(
                    case in message_of(descriptor(&v1::$message::full_name()), 0).prop_map(Case)
                ) {
                    compare::<v1::$message, v1_of_pbjson::$message>(&case.0)?;
                }
            )*
        }
    };
}

generators! {
    singular_members_agree_with_pbjson: Singular,
    optional_members_agree_with_pbjson: Optional,
    repeated_members_agree_with_pbjson: Repeated,
    map_values_agree_with_pbjson: MapValues,
    map_keys_agree_with_pbjson: MapKeys,
    unions_agree_with_pbjson: Union,
    names_agree_with_pbjson: Names,
    unions_with_names_of_rust_agree_with_pbjson: Choice,
}

#[test]
fn pbjson_writes_the_listed_members_differently() {
    for (difference, text) in DIFFERENCES.iter().map(|(difference, _)| *difference).zip([
        r#"{"aDouble":"NaN"}"#,
        r#"{"aDouble":-0.0}"#,
        r#"{"aColor":7}"#,
        r#"{"aValue":null}"#,
    ]) {
        let ours: Singular = json::from_slice(text.as_bytes()).unwrap();
        let bytes = ours.encode_to_vec();
        let theirs = v1_of_pbjson::Singular::decode(bytes.as_slice()).unwrap();
        let again = serde_json::to_string(&theirs).ok().filter(|written| written == text);
        let again =
            again.and_then(|text| serde_json::from_str::<v1_of_pbjson::Singular>(&text).ok());
        assert_ne!(again.map(|read| read.encode_to_vec()), Some(bytes), "{difference}");
    }
}

#[test]
fn pbjson_reads_the_listed_documents_differently() {
    for (text, ours, theirs) in DOCUMENTS {
        assert_eq!(read::<Singular>(text).ok().as_deref(), ours, "{text}");
        let read = serde_json::from_str::<v1_of_pbjson::Singular>(text).ok();
        let written = read.map(|read| serde_json::to_string(&read).unwrap());
        assert_eq!(written.as_deref(), theirs, "{text}");
    }
    // A member of a union that is unset, after the one that is set.
    let text = r#"{"aString":"x","aInt64":null}"#;
    assert_eq!(read::<Union>(text).as_deref(), Ok(r#"{"aString":"x"}"#));
    assert!(serde_json::from_str::<v1_of_pbjson::Union>(text).is_err());
}
