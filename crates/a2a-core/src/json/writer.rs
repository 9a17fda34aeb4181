//! A JSON serializer with the output of `serde_json`, byte for byte, that scans strings for escapes
//! 16 bytes at a time. The scan per byte of `serde_json` took a fifth of the time of a stream.

use serde::{
    Serialize, Serializer,
    ser::{self, Error as _},
};
use serde_json::{Error, Value};

/// Appends a value as JSON on one line, exactly as [`serde_json::to_writer`] does.
///
/// # Errors
///
/// Returns an error if the `Serialize` implementation of a value fails, or if a map has a key that
/// is not a string. `out` then ends with a part of the value.
pub fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    value.serialize(Writer(out))
}

struct Writer<'a>(&'a mut Vec<u8>);

/// How `serde_json` serializes a [`RawValue`](serde_json::value::RawValue): as a struct with this
/// name, whose one field is the text.
const RAW: &str = "$serde_json::private::RawValue";

/// Bytes per step of the scan.
const STRIDE: usize = 16;

/// An open array or object, with the wrapper of an enum variant.
enum Compound<'a> {
    /// `closing` is written at the end, and then the brace of an enum variant.
    Members { out: &'a mut Vec<u8>, is_first: bool, closing: u8, is_variant: bool },
    /// The text of a raw value.
    Raw(&'a mut Vec<u8>),
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn is_plain_stride(stride: &[u8]) -> bool {
    !stride.iter().fold(false, |any, b| any | needs_escape(*b))
}

/// The length of a prefix that needs no escapes, in whole steps.
fn plain(text: &[u8]) -> usize {
    text.chunks_exact(STRIDE).take_while(|stride| is_plain_stride(stride)).count() * STRIDE
}

/// Whether a text needs no escapes. Its last step overlaps with the one before.
fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk::<STRIDE>() {
        return text.chunks_exact(STRIDE).all(is_plain_stride) && is_plain_stride(last);
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        return is_plain_word(u64::from_ne_bytes(*first))
            && is_plain_word(u64::from_ne_bytes(*last));
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let half = |half: &[u8; 4]| u64::from(u32::from_ne_bytes(*half));
        return is_plain_word(half(first) << 32 | half(last));
    }
    !text.iter().any(|byte| needs_escape(*byte))
}

/// Whether eight bytes need no escapes.
fn is_plain_word(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    // The highest bit of some byte is set if some byte is less than `limit`, which is ASCII.
    let less = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let is = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
    (less(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7) == 0
}

/// Writes a comma before all but the first element.
fn separate(out: &mut Vec<u8>, is_first: &mut bool) {
    if !std::mem::take(is_first) {
        out.push(b',');
    }
}

/// Writes a map key and the colon. Numbers and booleans are quoted.
fn write_key(out: &mut Vec<u8>, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    let start = out.len();
    key.serialize(Writer(out))?;
    match out.get(start) {
        Some(b'"') => {}
        Some(b'{' | b'[' | b'n') | None => return Err(Error::custom("key must be a string")),
        Some(_) => {
            out.insert(start, b'"');
            out.push(b'"');
        }
    }
    out.push(b':');
    Ok(())
}

/// Writes the wrapper of an enum variant up to its value.
fn write_variant(out: &mut Vec<u8>, variant: &str) {
    out.push(b'{');
    write_text(out, variant);
    out.push(b':');
}

/// Writes the name of a member; not once more for each type of value.
fn write_name(out: &mut Vec<u8>, is_first: &mut bool, name: &str) {
    separate(out, is_first);
    write_text(out, name);
    out.push(b':');
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    out.push(b'"');
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        write_escaped(out, text);
    }
    out.push(b'"');
}

#[cold]
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while !rest.is_empty() {
        let mut len = plain(rest);
        len += rest[len..].iter().take_while(|byte| !needs_escape(**byte)).count();
        out.extend_from_slice(&rest[..len]);
        let Some((byte, tail)) = rest[len..].split_first() else { break };
        write_escape(out, *byte);
        rest = tail;
    }
}

#[cold]
fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

impl<'a> Writer<'a> {
    fn text(self, text: &str) -> Result<(), Error> {
        write_text(self.0, text);
        Ok(())
    }

    /// Writes a floating-point number with `serde_json`.
    fn number(self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(self.0, value)
    }

    fn open(self, opening: u8, closing: u8) -> Compound<'a> {
        self.0.push(opening);
        Compound::Members { out: self.0, is_first: true, closing, is_variant: false }
    }

    fn open_variant(self, variant: &str, opening: u8, closing: u8) -> Compound<'a> {
        let out = self.0;
        write_variant(out, variant);
        out.push(opening);
        Compound::Members { out, is_first: true, closing, is_variant: true }
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty,)*) => {
        $(
            fn $method(self, value: $type) -> Result<(), Error> {
                self.0.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                Ok(())
            }
        )*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_i128: i128, serialize_u128: u128,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.number(&value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.number(&value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let Self(out) = self;
        write_variant(out, variant);
        value.serialize(Writer(&mut *out))?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(self.open_variant(variant, b'[', b']'))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'{', b'}'))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, Error> {
        Ok(if name == RAW { Compound::Raw(self.0) } else { self.open(b'{', b'}') })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(self.open_variant(variant, b'{', b'}'))
    }
}

impl Compound<'_> {
    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        match self {
            Self::Members { out, is_first, .. } => {
                separate(out, is_first);
                value.serialize(Writer(out))
            }
            Self::Raw(_) => Err(Error::custom("a raw value has no elements")),
        }
    }

    fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        match self {
            Self::Members { out, is_first, .. } => {
                write_name(out, is_first, name);
                value.serialize(Writer(out))
            }
            Self::Raw(out) => match serde_json::to_value(value)? {
                Value::String(text) => {
                    out.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                _ => Err(Error::custom("a raw value is a text")),
            },
        }
    }

    fn close(self) {
        if let Self::Members { out, closing, is_variant, .. } = self {
            out.push(closing);
            if is_variant {
                out.push(b'}');
            }
        }
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident,)*) => {
        $(
            impl ser::$trait for Compound<'_> {
                type Ok = ();
                type Error = Error;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                    self.element(value)
                }

                fn end(self) -> Result<(), Error> {
                    self.close();
                    Ok(())
                }
            }
        )*
    };
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! structs {
    ($($trait:ident,)*) => {
        $(
            impl ser::$trait for Compound<'_> {
                type Ok = ();
                type Error = Error;

                fn serialize_field<T: Serialize + ?Sized>(
                    &mut self,
                    name: &'static str,
                    value: &T,
                ) -> Result<(), Error> {
                    self.member(name, value)
                }

                fn end(self) -> Result<(), Error> {
                    self.close();
                    Ok(())
                }
            }
        )*
    };
}

structs! { SerializeStruct, SerializeStructVariant, }

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        match self {
            Self::Members { out, is_first, .. } => {
                separate(out, is_first);
                write_key(out, key)
            }
            Self::Raw(_) => Err(Error::custom("a raw value has no keys")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        match self {
            Self::Members { out, .. } => value.serialize(Writer(out)),
            Self::Raw(_) => Err(Error::custom("a raw value has no values")),
        }
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{json, value::RawValue};

    use super::*;

    fn same(value: &(impl Serialize + ?Sized)) {
        let mut written = b"before".to_vec();
        match serde_json::to_string(value) {
            Ok(expected) => {
                write(&mut written, value).unwrap();
                assert_eq!(String::from_utf8(written).unwrap(), format!("before{expected}"));
            }
            Err(expected) => {
                assert_eq!(
                    write(&mut written, value).unwrap_err().to_string(),
                    expected.to_string()
                );
            }
        }
    }

    /// Values of every type of the serde data model.
    #[derive(Serialize)]
    struct Everything<'a> {
        numbers: (i8, i16, i32, i64, i128, u8, u16, u32, u64, u128),
        floats: [f64; 7],
        short: [f32; 3],
        texts: (char, &'a str, String),
        none: Option<u8>,
        some: Option<&'a str>,
        unit: (),
        empty: Empty,
        wrapped: Wrapped,
        pair: Pair,
        variants: Vec<Variant>,
        #[serde(flatten)]
        rest: BTreeMap<String, bool>,
        by_number: BTreeMap<i32, u8>,
        by_truth: BTreeMap<bool, u8>,
        by_letter: BTreeMap<char, u8>,
        by_variant: BTreeMap<Unit, ()>,
        raw: Box<RawValue>,
        nothing: [u8; 0],
    }

    #[derive(Serialize)]
    struct Empty;

    #[derive(Serialize)]
    struct Wrapped(u8);

    #[derive(Serialize)]
    struct Pair(u8, Empty);

    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Unit {
        One,
    }

    #[derive(Serialize)]
    enum Variant {
        Unit,
        New(u8),
        Tuple(u8, char),
        Struct { a: u8, b: Option<Empty> },
        Bare {},
    }

    #[test]
    fn output_matches_serde_json() {
        same(&Everything {
            numbers: (-1, i16::MIN, 7, i64::MIN, i128::MIN, 255, 0, 1, u64::MAX, u128::MAX),
            floats: [0.0, -0.0, 1.5, 1e300, 5e-324, f64::NAN, f64::INFINITY],
            short: [0.1, f32::MIN_POSITIVE, f32::NEG_INFINITY],
            texts: ('"', "\u{0}\u{1f}\u{7f}\u{80}\\/", "\u{8}\u{c}\n\r\t".to_owned()),
            none: None,
            some: Some("x"),
            unit: (),
            empty: Empty,
            wrapped: Wrapped(1),
            pair: Pair(2, Empty),
            variants: vec![
                Variant::Unit,
                Variant::New(1),
                Variant::Tuple(1, 'x'),
                Variant::Struct { a: 1, b: Some(Empty) },
                Variant::Bare {},
            ],
            rest: BTreeMap::from([("a \"key\"".to_owned(), true), ("b".to_owned(), false)]),
            by_number: BTreeMap::from([(-1, 1)]),
            by_truth: BTreeMap::from([(true, 1)]),
            by_letter: BTreeMap::from([('"', 1)]),
            by_variant: BTreeMap::from([(Unit::One, ())]),
            raw: RawValue::from_string("{ \"as\" : [\"it\", 1.0] }".to_owned()).unwrap(),
            nothing: [],
        });
        same(&BTreeMap::from([((1, 2), 3)]));
        same(&BTreeMap::from([((), 3)]));
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = || prop_oneof![any::<String>(), "[ -~]{0,60}", "[\"\\\\\u{0}-\u{20}a]{0,40}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(text(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_matches_serde_json(value in values()) {
            same(&value);
        }
    }
}
