//! The protobuf form of [`Value`] and [`Struct`].
//!
//! ```proto
//! message Struct { map<string, Value> fields = 1; }
//! message ListValue { repeated Value values = 1; }
//! message Value {
//!   oneof kind {
//!     NullValue null_value = 1;
//!     double number_value = 2;
//!     string string_value = 3;
//!     bool bool_value = 4;
//!     Struct struct_value = 5;
//!     ListValue list_value = 6;
//!   }
//! }
//! ```
//!
//! Handwritten for two reasons. prost limits nesting to 100 messages, and a level of JSON is two or
//! three of them; here the limit is [`Value::MAX_DEPTH`] levels of JSON. And prost measures a
//! message again at each level above it; here each is measured once.

use prost::{
    DecodeError, Message,
    bytes::{Buf, BufMut},
    encoding::{DecodeContext, WireType},
};

use super::{
    Struct, Value,
    wire_decode::{merge_fields, merge_value},
    wire_encode::{Lengths, write_fields, write_value},
};

impl Message for Value {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        let mut lengths = Lengths::default();
        lengths.measure_value(self);
        write_value(self, &mut lengths, buf);
    }

    fn encoded_len(&self) -> usize {
        Lengths::default().measure_value(self)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        merge_value(self, tag, wire_type, buf, context, Self::MAX_DEPTH)
    }

    fn clear(&mut self) {
        *self = Self::Null;
    }
}

impl Message for Struct {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        let mut lengths = Lengths::default();
        lengths.measure_fields(&self.fields);
        write_fields(&self.fields, &mut lengths, buf);
    }

    fn encoded_len(&self) -> usize {
        Lengths::default().measure_fields(&self.fields)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        merge_fields(&mut self.fields, tag, wire_type, buf, context, Value::MAX_DEPTH - 1)
    }

    fn clear(&mut self) {
        self.fields.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        hint, thread,
        time::{Duration, Instant},
    };

    use proptest::{
        collection::vec,
        prelude::{any, prop_assert_eq, proptest},
    };
    use prost::bytes::BufMut;
    use serde_json::json;

    use super::{Buf, DecodeError, Message, Struct, Value};
    use crate::well_known::arbitrary;

    /// The same value in the types of `prost-types`.
    fn theirs(value: &Value) -> prost_types::Value {
        use prost_types::{ListValue, value::Kind};

        let kind = match value {
            Value::Null => Kind::NullValue(0),
            Value::Bool(boolean) => Kind::BoolValue(*boolean),
            Value::Number(number) => Kind::NumberValue(number.as_f64()),
            Value::String(text) => Kind::StringValue(text.clone()),
            Value::Array(elements) => {
                Kind::ListValue(ListValue { values: elements.iter().map(theirs).collect() })
            }
            Value::Object(object) => Kind::StructValue(their_struct(object)),
        };
        prost_types::Value { kind: Some(kind) }
    }

    fn their_struct(object: &Struct) -> prost_types::Struct {
        let fields = object.iter().map(|(key, value)| (key.clone(), theirs(value)));
        prost_types::Struct { fields: fields.collect() }
    }

    /// Nested arrays as bytes of `Value`, encoded without recursion.
    fn nested_arrays(depth: usize) -> Vec<u8> {
        let mut bytes = vec![0x08, 0x00];
        for _ in 0..depth {
            for tag in [0x0a, 0x32] {
                let mut outer = vec![tag];
                prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
                outer.put_slice(&bytes);
                bytes = outer;
            }
        }
        bytes
    }

    #[test]
    fn encoding_matches_the_proto() {
        let cases: [(_, &[u8]); 9] = [
            (json!(null), b"\x08\x00"),
            (json!(1), b"\x11\x00\x00\x00\x00\x00\x00\xf0\x3f"),
            (json!(-0.0), b"\x11\x00\x00\x00\x00\x00\x00\x00\x00"),
            (json!("a"), b"\x1a\x01a"),
            (json!(""), b"\x1a\x00"),
            (json!(true), b"\x20\x01"),
            (json!({}), b"\x2a\x00"),
            (json!({"a": null}), b"\x2a\x09\x0a\x07\x0a\x01a\x12\x02\x08\x00"),
            (json!([[], false]), b"\x32\x08\x0a\x02\x32\x00\x0a\x02\x20\x00"),
        ];
        for (json, bytes) in cases {
            let value = Value::from(json.clone());
            assert_eq!(value.encode_to_vec(), bytes, "{json}");
            assert_eq!(value.encoded_len(), bytes.len(), "{json}");
            assert_eq!(Value::decode(bytes), Ok(value), "{json}");
        }
    }

    #[test]
    fn value_without_kind_is_null() {
        assert_eq!(Value::decode(&b""[..]), Ok(Value::Null));
        assert_eq!(Value::decode(&b"\x32\x02\x0a\x00"[..]), Ok(Value::from(json!([null]))));
        assert_eq!(
            Struct::decode(&b"\x0a\x03\x0a\x01a"[..]),
            Ok(Struct::from([("a", Value::Null)]))
        );
    }

    #[test]
    fn repeated_fields_are_merged() {
        let merged = |first: serde_json::Value, second: serde_json::Value| {
            let mut bytes = Value::from(first).encode_to_vec();
            bytes.extend(Value::from(second).encode_to_vec());
            Value::decode(bytes.as_slice()).map(serde_json::Value::from)
        };
        assert_eq!(merged(json!(1), json!("a")), Ok(json!("a")));
        assert_eq!(merged(json!([1]), json!([2])), Ok(json!([1, 2])));
        assert_eq!(merged(json!({"a": 1, "b": 1}), json!({"a": 2})), Ok(json!({"a": 2, "b": 1})));
        assert_eq!(merged(json!([1]), json!({"a": 2})), Ok(json!({"a": 2})));
    }

    #[test]
    fn unknown_fields_are_skipped() {
        // Field 7 as varint, field 8 as bytes, then the string "a".
        assert_eq!(Value::decode(&b"\x38\x01\x42\x01z\x1a\x01a"[..]), Ok(Value::from("a")));
    }

    #[test]
    fn non_finite_numbers_are_rejected() {
        for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let bytes = prost_types::Value::from(vec![double.into()]).encode_to_vec();
            let error = Value::decode(bytes.as_slice()).unwrap_err().to_string();
            assert!(error.ends_with("a google.protobuf.Value holds NaN or infinity"), "{error}");
        }
    }

    #[test]
    fn malformed_input_is_rejected() {
        let cases: [(&str, &[u8]); 7] = [
            ("a length past the end", b"\x1a\x05a"),
            ("a length of almost 2^64", b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            ("an element past its list", b"\x32\x02\x0a\x02\x20\x01"),
            ("a string that is not UTF-8", b"\x1a\x01\xff"),
            ("a wrong wire type", b"\x18\x01"),
            ("half a double", b"\x11\x00\x00"),
            ("an end of no group", b"\x3c"),
        ];
        for (case, bytes) in cases {
            assert!(Value::decode(bytes).is_err(), "{case}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deepest = nested_arrays(Value::MAX_DEPTH);
        let value = Value::decode(deepest.as_slice()).unwrap();
        assert_eq!(value.depth(), Value::MAX_DEPTH);
        assert_eq!(value.encode_to_vec(), deepest);

        for depth in [Value::MAX_DEPTH + 1, 2_000] {
            let error = Value::decode(nested_arrays(depth).as_slice()).unwrap_err().to_string();
            assert!(error.ends_with("a google.protobuf.Value nests too deeply"), "{error}");
        }
    }

    #[test]
    fn struct_is_one_level() {
        let holding = |depth| {
            let mut entry = vec![0x12];
            prost::encoding::encode_varint(nested_arrays(depth).len() as u64, &mut entry);
            entry.extend(nested_arrays(depth));
            let mut bytes = vec![0x0a];
            prost::encoding::encode_varint(entry.len() as u64, &mut bytes);
            bytes.extend(entry);
            Struct::decode(bytes.as_slice()).map(|object| object.depth())
        };
        assert_eq!(holding(Value::MAX_DEPTH - 1), Ok(Value::MAX_DEPTH));
        assert!(holding(Value::MAX_DEPTH).is_err());
    }

    #[test]
    fn deepest_nesting_fits_into_a_small_stack() {
        let decoded = thread::Builder::new()
            .stack_size(512 * 1024)
            .spawn(|| Value::decode(nested_arrays(Value::MAX_DEPTH).as_slice()).is_ok())
            .unwrap();
        assert!(decoded.join().unwrap());
    }

    #[test]
    fn encoding_time_is_independent_of_depth() {
        let wide = vec![true; 20_000];
        let time = |value: &Value| {
            let best_of = (0..5).map(|_| {
                let start = Instant::now();
                hint::black_box(value.encode_to_vec());
                start.elapsed()
            });
            best_of.min().unwrap_or_default().max(Duration::from_micros(50))
        };
        let flat = Value::from(wide);
        let deep = (1..Value::MAX_DEPTH).fold(flat.clone(), |inner, _| Value::from(vec![inner]));
        // Measuring at each level would take a hundred times as long.
        assert!(time(&deep) < time(&flat) * 20);
    }

    proptest! {
        #[test]
        fn values_round_trip_through_protobuf(value in arbitrary::value_of_doubles()) {
            prop_assert_eq!(Value::decode(value.encode_to_vec().as_slice()), Ok(value));
        }

        #[test]
        fn large_integers_are_rounded_to_doubles(integer: i64) {
            let sent = Value::from(integer).encode_to_vec();
            prop_assert_eq!(Value::decode(sent.as_slice()).unwrap().as_f64(), Some(integer as f64));
        }

        #[test]
        fn values_match_prost_types(value in arbitrary::value_of_doubles()) {
            let bytes = value.encode_to_vec();
            prop_assert_eq!(bytes.len(), value.encoded_len());
            prop_assert_eq!(prost_types::Value::decode(bytes.as_slice()), Ok(theirs(&value)));
            prop_assert_eq!(Value::decode(theirs(&value).encode_to_vec().as_slice()), Ok(value.clone()));
            prop_assert_eq!(bytes, theirs(&value).encode_to_vec());
        }

        #[test]
        fn structs_match_prost_types(value in arbitrary::value_of_doubles()) {
            let object = Struct::from([("", value.clone()), ("a", value)]);
            let bytes = object.encode_to_vec();
            prop_assert_eq!(bytes.len(), object.encoded_len());
            prop_assert_eq!(&bytes, &their_struct(&object).encode_to_vec());
            prop_assert_eq!(Struct::decode(bytes.as_slice()), Ok(object));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..256)) {
            if let Ok(value) = Value::decode(bytes.as_slice()) {
                prop_assert_eq!(Value::decode(value.encode_to_vec().as_slice()), Ok(value));
            }
            let _ = Struct::decode(bytes.as_slice());
        }

        #[test]
        fn damage_is_never_a_panic(
            value in arbitrary::value(), place: usize, byte: u8, cut: usize,
        ) {
            let mut bytes = value.encode_to_vec();
            let length = bytes.len();
            bytes[place % length] = byte;
            let _ = Value::decode(bytes.as_slice());
            let _ = Value::decode(&bytes[..cut % length]);
        }

        #[test]
        fn chunked_bytes_decode_the_same(value in arbitrary::value_of_doubles(), cut: usize) {
            let bytes = value.encode_to_vec();
            let (first, rest) = bytes.split_at(cut % bytes.len());
            let decoded: Result<Value, DecodeError> = Value::decode(first.chain(rest));
            prop_assert_eq!(decoded, Ok(value));
        }
    }
}
