//! A limit of JSON values per message, in JSON and protobuf.
//!
//! Two bytes of JSON (`0,`) become a value of about thirty bytes, and one with a name a hundred: a
//! limit of bytes does not limit the memory or parsing time of a message.

use std::cell::Cell;

use memchr::memchr2;
use prost::{
    DecodeError, Message,
    bytes::{Buf, Bytes},
};

use crate::{Error, ErrorKind, Result};

/// Most reads of the protobuf wire per JSON value: an entry of a `google.protobuf.Struct` with its
/// name and a number.
const READS_PER_VALUE: usize = 10;

/// Reads that a message may need in addition to those of its JSON values.
const OTHER_READS: usize = 10_000;

thread_local! {
    /// Remaining JSON values of the message that this thread decodes; `None` without a limit.
    static REMAINING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Checks that a JSON text has at most `max` values (numbers, strings, arrays and so on) at all
/// levels. Counts without parsing; malformed JSON is left to the parser.
///
/// # Errors
///
/// [`ErrorKind::InvalidParams`] over the limit.
pub fn check_json(text: &[u8], max: usize) -> Result<()> {
    // A value takes at least one byte.
    if text.len() <= max || has_at_most(text, max) { Ok(()) } else { Err(exceeded(max)) }
}

/// Counts the outermost value, one per comma, and one per non-empty array or object.
fn has_at_most(text: &[u8], max: usize) -> bool {
    let mut values = 1_usize;
    let mut opened = false;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'"' => {
                values += usize::from(opened);
                opened = false;
                rest = after_string(rest);
            }
            b'[' | b'{' => {
                values += usize::from(opened);
                opened = true;
            }
            b']' | b'}' => opened = false,
            b',' => {
                values += 1;
                opened = false;
            }
            _ => {
                values += usize::from(opened);
                opened = false;
            }
        }
        if values > max {
            return false;
        }
    }
    values <= max
}

/// Skips the rest of a string.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        // An escaped character does not end the string.
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// Decodes a request message from protobuf. It may have at most `max` JSON values
/// (`google.protobuf.Value`), and a proportional number of fields.
///
/// # Errors
///
/// [`ErrorKind::InvalidParams`] over the limit, [`ErrorKind::ParseError`] for a malformed message.
pub fn decode_protobuf<M: Message + Default>(bytes: Bytes, max: usize) -> Result<M> {
    let before = REMAINING.replace(Some(max));
    let _restore = Restore(before);
    let mut reads = max.saturating_mul(READS_PER_VALUE).saturating_add(OTHER_READS);
    let decoded = M::decode(Bounded { bytes, reads: &mut reads });
    if reads == 0 || REMAINING.get().is_none() {
        return Err(exceeded(max));
    }
    // The peer may read the decoding error: it only describes the message.
    decoded.map_err(|error| {
        Error::new(ErrorKind::ParseError, format!("malformed request message: {error}"))
    })
}

/// Resets the limit when decoding ends or panics.
struct Restore(Option<usize>);

impl Drop for Restore {
    fn drop(&mut self) {
        REMAINING.set(self.0);
    }
}

/// Counts a JSON value of the message that this thread decodes. Removes the limit when it is
/// exceeded, which [`decode_protobuf`] detects.
pub(crate) fn count_one() -> Result<(), DecodeError> {
    match REMAINING.get() {
        Some(0) => {
            REMAINING.set(None);
            #[expect(
                deprecated,
                reason = "prost leaves hand-written messages no other constructor"
            )]
            let error = DecodeError::new("too many JSON values");
            Err(error)
        }
        remaining => {
            REMAINING.set(remaining.map(|remaining| remaining - 1));
            Ok(())
        }
    }
}

/// A buffer that ends after a number of reads: each field takes two or three, so this limits the
/// number of repeated fields.
struct Bounded<'a> {
    bytes: Bytes,
    reads: &'a mut usize,
}

impl Buf for Bounded<'_> {
    fn remaining(&self) -> usize {
        if *self.reads == 0 { 0 } else { self.bytes.remaining() }
    }

    fn chunk(&self) -> &[u8] {
        if *self.reads == 0 { &[] } else { self.bytes.chunk() }
    }

    fn advance(&mut self, count: usize) {
        if *self.reads > 0 {
            self.bytes.advance(count);
            *self.reads -= 1;
        }
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        // Without a copy; the length was checked above.
        if *self.reads == 0 { Bytes::new() } else { self.bytes.copy_to_bytes(length) }
    }
}

fn exceeded(max: usize) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("the request has more than {max} JSON values"))
        .with_metadata("maxJsonValues", max.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        v1::{Part, SendMessageRequest},
        well_known::{Struct, Value as WireValue},
    };

    fn count(value: &Value) -> usize {
        1 + match value {
            Value::Array(elements) => elements.iter().map(count).sum(),
            Value::Object(fields) => fields.values().map(count).sum(),
            _ => 0,
        }
    }

    #[test]
    fn json_values_are_counted_at_all_levels() {
        for value in [
            json!(1),
            json!("a,b[{"),
            json!("\\\",\\"),
            json!([]),
            json!({}),
            json!([[], {}, [[]], [{}], {"a": {}}]),
            json!([0, 1, 2]),
            json!({"a": [1, "x,\"]", null], "b,": {"c": true, "d\\": []}}),
            json!([["a"], [["b", "c"]], ""]),
        ] {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let count = count(&value);
                assert!(has_at_most(text.as_bytes(), count), "{text}: {count}");
                assert!(!has_at_most(text.as_bytes(), count - 1), "{text}: {count}");
            }
        }
    }

    #[test]
    fn malformed_json_is_left_to_the_parser() {
        for text in ["", "\"", "\"\\", "[", "]", "}{", "nul", "\"a\\\""] {
            assert!(check_json(text.as_bytes(), 100).is_ok(), "{text}");
        }
        assert!(check_json("[".repeat(1_000).as_bytes(), 100).is_err());
    }

    #[test]
    fn the_error_names_the_limit() {
        let error = check_json(b"[0,0,0]", 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        assert_eq!(error.message(), "the request has more than 3 JSON values");
        assert_eq!(error.metadata()["maxJsonValues"], "3");
    }

    #[test]
    fn protobuf_values_are_counted_in_the_whole_message() {
        let zeros = |count: usize| WireValue::Array(vec![WireValue::from(0); count]);
        let request = SendMessageRequest {
            message: Some(crate::Message {
                parts: vec![Part::data(zeros(40)), Part::data(zeros(40))],
                metadata: Some(Struct::from([("x", zeros(10)), ("y", zeros(7))])),
                ..crate::Message::default()
            }),
            ..SendMessageRequest::default()
        };
        let bytes = Bytes::from(request.encode_to_vec());
        assert_eq!(decode_protobuf::<SendMessageRequest>(bytes.clone(), 99).unwrap(), request);
        let error = decode_protobuf::<SendMessageRequest>(bytes.clone(), 98).unwrap_err();
        assert_eq!(error.message(), "the request has more than 98 JSON values");
        // The limit applies per message.
        assert!(decode_protobuf::<SendMessageRequest>(bytes.clone(), 99).is_ok());
        assert_eq!(SendMessageRequest::decode(bytes).unwrap(), request);
    }

    #[test]
    fn names_and_numbers_stay_within_reads_per_value() {
        let fields = (0..20_000).map(|number| (number.to_string(), json!(f64::from(number) + 0.5)));
        let object: Struct = fields.collect();
        let bytes = Bytes::from(object.encode_to_vec());
        assert_eq!(decode_protobuf::<Struct>(bytes, 20_000).unwrap(), object);
    }

    #[test]
    fn empty_repeated_fields_are_limited() {
        // A message with 100,000 parts of two bytes each.
        let parts = [0x2a, 0x00].repeat(100_000);
        let mut bytes = vec![0x12];
        prost::encoding::encode_varint(parts.len() as u64, &mut bytes);
        bytes.extend_from_slice(&parts);
        let bytes = Bytes::from(bytes);
        let decoded = decode_protobuf::<SendMessageRequest>(bytes.clone(), 100_000).unwrap();
        assert_eq!(decoded.message.unwrap().parts.len(), 100_000);
        let error = decode_protobuf::<SendMessageRequest>(bytes, 1_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
    }

    #[test]
    fn malformed_message_is_a_parse_error() {
        for bytes in [&b"\xff\xff\xff"[..], b"\x12\x7fshort"] {
            let error = decode_protobuf::<SendMessageRequest>(bytes.into(), 10).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ParseError);
        }
    }
}
