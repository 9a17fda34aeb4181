//! Decodes values from protobuf, counting levels of JSON.

use std::{collections::BTreeMap, mem};

use prost::{
    DecodeError,
    bytes::Buf,
    encoding::{
        self, DecodeContext, WireType, check_wire_type, decode_key, double, int32, merge_loop,
        skip_field, string,
    },
};

use super::{
    Number, Value,
    field_numbers::{
        BOOL_VALUE, ENTRY_KEY, ENTRY_VALUE, LIST_VALUE, LIST_VALUES, NULL_VALUE, NUMBER_VALUE,
        STRING_VALUE, STRUCT_FIELDS, STRUCT_VALUE,
    },
};
use crate::value_limit::count_one;

/// Merges a field of `Value`, which may have `levels` nested arrays and objects.
pub(super) fn merge_value<B: Buf>(
    value: &mut Value,
    tag: u32,
    wire_type: WireType,
    buf: &mut B,
    context: DecodeContext,
    levels: usize,
) -> Result<(), DecodeError> {
    match tag {
        NULL_VALUE => {
            int32::merge(wire_type, &mut 0, buf, context)?;
            *value = Value::Null;
        }
        NUMBER_VALUE => {
            let mut number = 0.0;
            double::merge(wire_type, &mut number, buf, context)?;
            let number = Number::from_f64(number)
                .ok_or_else(|| malformed("a google.protobuf.Value holds NaN or infinity"))?;
            *value = Value::Number(number);
        }
        STRING_VALUE => {
            let mut text = String::new();
            string::merge(wire_type, &mut text, buf, context)?;
            *value = Value::String(text);
        }
        BOOL_VALUE => {
            let mut boolean = false;
            encoding::bool::merge(wire_type, &mut boolean, buf, context)?;
            *value = Value::Bool(boolean);
        }
        STRUCT_VALUE => {
            let levels = inner_levels(levels)?;
            // Repeated occurrences of a message in a oneof are merged.
            let mut fields = match mem::take(value) {
                Value::Object(object) => object.fields,
                _ => BTreeMap::new(),
            };
            merge_message(
                &mut fields,
                wire_type,
                buf,
                context,
                |fields, tag, wire_type, buf, context| {
                    merge_fields(fields, tag, wire_type, buf, context, levels)
                },
            )?;
            *value = Value::Object(fields.into());
        }
        LIST_VALUE => {
            let levels = inner_levels(levels)?;
            let mut elements = match mem::take(value) {
                Value::Array(elements) => elements,
                _ => Vec::new(),
            };
            merge_message(
                &mut elements,
                wire_type,
                buf,
                context,
                |elements, tag, wire_type, buf, context| {
                    merge_elements(elements, tag, wire_type, buf, context, levels)
                },
            )?;
            *value = Value::Array(elements);
        }
        _ => skip_field(wire_type, tag, buf, context)?,
    }
    Ok(())
}

/// Merges a field of `Struct`, whose values may have `levels` nested arrays and objects.
pub(super) fn merge_fields<B: Buf>(
    fields: &mut BTreeMap<String, Value>,
    tag: u32,
    wire_type: WireType,
    buf: &mut B,
    context: DecodeContext,
    levels: usize,
) -> Result<(), DecodeError> {
    if tag != STRUCT_FIELDS {
        return skip_field(wire_type, tag, buf, context);
    }
    count_one()?;
    let mut entry = (String::new(), Value::Null);
    merge_message(
        &mut entry,
        wire_type,
        buf,
        context,
        |(key, value), tag, wire_type, buf, context| match tag {
            ENTRY_KEY => string::merge(wire_type, key, buf, context),
            ENTRY_VALUE => merge_nested_value(value, wire_type, buf, context, levels),
            _ => skip_field(wire_type, tag, buf, context),
        },
    )?;
    fields.insert(entry.0, entry.1);
    Ok(())
}

/// Merges a field of `ListValue`, whose elements may have `levels` nested arrays and objects.
fn merge_elements<B: Buf>(
    elements: &mut Vec<Value>,
    tag: u32,
    wire_type: WireType,
    buf: &mut B,
    context: DecodeContext,
    levels: usize,
) -> Result<(), DecodeError> {
    if tag != LIST_VALUES {
        return skip_field(wire_type, tag, buf, context);
    }
    count_one()?;
    let mut element = Value::Null;
    merge_nested_value(&mut element, wire_type, buf, context, levels)?;
    elements.push(element);
    Ok(())
}

fn merge_nested_value<B: Buf>(
    value: &mut Value,
    wire_type: WireType,
    buf: &mut B,
    context: DecodeContext,
    levels: usize,
) -> Result<(), DecodeError> {
    merge_message(value, wire_type, buf, context, |value, tag, wire_type, buf, context| {
        merge_value(value, tag, wire_type, buf, context, levels)
    })
}

/// Merges the fields of a nested message. Unlike prost's, it leaves counting levels to the caller.
fn merge_message<T, B: Buf>(
    message: &mut T,
    wire_type: WireType,
    buf: &mut B,
    context: DecodeContext,
    merge_field: impl Fn(&mut T, u32, WireType, &mut B, DecodeContext) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    check_wire_type(WireType::LengthDelimited, wire_type)?;
    merge_loop(message, buf, context, |message, buf, context| {
        let (tag, wire_type) = decode_key(buf)?;
        merge_field(message, tag, wire_type, buf, context)
    })
}

fn inner_levels(levels: usize) -> Result<usize, DecodeError> {
    levels.checked_sub(1).ok_or_else(|| malformed("a google.protobuf.Value nests too deeply"))
}

#[expect(deprecated, reason = "prost leaves hand-written messages no other constructor")]
fn malformed(description: &'static str) -> DecodeError {
    DecodeError::new(description)
}
