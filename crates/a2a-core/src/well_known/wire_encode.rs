//! Encodes values to protobuf: measured once, then written in one pass.

use std::collections::BTreeMap;

use prost::{
    bytes::BufMut,
    encoding::{
        self, WireType, double, encode_key, encode_varint, encoded_len_varint, int32, string,
    },
};

use super::{
    Value,
    field_numbers::{
        BOOL_VALUE, ENTRY_KEY, ENTRY_VALUE, LIST_VALUE, LIST_VALUES, NULL_VALUE, NUMBER_VALUE,
        STRING_VALUE, STRUCT_FIELDS, STRUCT_VALUE,
    },
};

/// The encoded lengths of the nested arrays and objects, in the order of writing.
#[derive(Default)]
pub(super) struct Lengths {
    measured: Vec<usize>,
    written: usize,
}

impl Lengths {
    /// Measures `value`, and records the lengths of its arrays and objects.
    pub(super) fn measure_value(&mut self, value: &Value) -> usize {
        value_len(value, || {
            let place = self.measured.len();
            self.measured.push(0);
            let length = match value {
                Value::Object(object) => self.measure_fields(&object.fields),
                Value::Array(elements) => self.measure_elements(elements),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
            };
            self.measured[place] = length;
            length
        })
    }

    pub(super) fn measure_fields(&mut self, fields: &BTreeMap<String, Value>) -> usize {
        let entries =
            fields.iter().map(|(key, value)| field_len(entry_len(key, self.measure_value(value))));
        entries.sum()
    }

    fn measure_elements(&mut self, elements: &[Value]) -> usize {
        elements.iter().map(|element| field_len(self.measure_value(element))).sum()
    }

    /// Returns the length of the next array or object.
    fn next(&self) -> usize {
        self.measured[self.written]
    }

    /// Like [`next`](Self::next), and advances.
    fn take_next(&mut self) -> usize {
        let length = self.next();
        self.written += 1;
        length
    }
}

/// Returns the length of a field with `body_len` bytes, including key and length. All keys here
/// take one byte.
fn field_len(body_len: usize) -> usize {
    1 + encoded_len_varint(body_len as u64) + body_len
}

fn value_len(value: &Value, container_len: impl FnOnce() -> usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(_) => 9,
        Value::String(text) => field_len(text.len()),
        Value::Array(_) | Value::Object(_) => field_len(container_len()),
    }
}

fn entry_len(key: &str, value_len: usize) -> usize {
    // Empty strings are omitted, as prost does in maps.
    let key_len = if key.is_empty() { 0 } else { field_len(key.len()) };
    key_len + field_len(value_len)
}

pub(super) fn write_value(value: &Value, lengths: &mut Lengths, buf: &mut impl BufMut) {
    match value {
        Value::Null => int32::encode(NULL_VALUE, &0, buf),
        Value::Bool(boolean) => encoding::bool::encode(BOOL_VALUE, boolean, buf),
        Value::Number(number) => double::encode(NUMBER_VALUE, &number.as_f64(), buf),
        Value::String(text) => string::encode(STRING_VALUE, text, buf),
        Value::Array(elements) => {
            write_length(LIST_VALUE, lengths.take_next(), buf);
            for element in elements {
                write_length(LIST_VALUES, value_len(element, || lengths.next()), buf);
                write_value(element, lengths, buf);
            }
        }
        Value::Object(object) => {
            write_length(STRUCT_VALUE, lengths.take_next(), buf);
            write_fields(&object.fields, lengths, buf);
        }
    }
}

pub(super) fn write_fields(
    fields: &BTreeMap<String, Value>,
    lengths: &mut Lengths,
    buf: &mut impl BufMut,
) {
    for (key, value) in fields {
        let value_len = value_len(value, || lengths.next());
        write_length(STRUCT_FIELDS, entry_len(key, value_len), buf);
        if !key.is_empty() {
            string::encode(ENTRY_KEY, key, buf);
        }
        write_length(ENTRY_VALUE, value_len, buf);
        write_value(value, lengths, buf);
    }
}

fn write_length(tag: u32, length: usize, buf: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buf);
    encode_varint(length as u64, buf);
}
