//! What of a proto is visible on the wire, by name.

use std::collections::BTreeMap;

use prost_reflect::{FieldDescriptor, Kind};

use crate::{
    Result,
    schema::proto::{Proto, is_deprecated},
};

/// The messages, enums and rpcs of a package.
#[derive(Debug)]
pub(super) struct Surface {
    pub(super) messages: BTreeMap<String, BTreeMap<String, Field>>,
    pub(super) enums: BTreeMap<String, BTreeMap<String, i32>>,
    pub(super) rpcs: BTreeMap<String, Rpc>,
}

/// A field; its type is that of the proto, without the package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) json_name: String,
    pub(super) kind: String,
    /// `singular`, `optional`, `repeated`, `map` or `oneof NAME`.
    pub(super) label: String,
    pub(super) required: bool,
    pub(super) deprecated: bool,
}

/// An rpc, with its HTTP routes such as `POST /message:send (body)`.
#[derive(Debug)]
pub(super) struct Rpc {
    /// Such as `Request -> stream Response`.
    pub(super) signature: String,
    pub(super) routes: Vec<String>,
}

impl Surface {
    pub(super) fn of(proto: &Proto) -> Result<Self> {
        let mut messages = BTreeMap::new();
        for message in proto.messages() {
            let fields = message.fields().map(|field| {
                let required = proto.is_required(&field)?;
                Ok((field.name().to_owned(), Field::of(&field, required)))
            });
            messages.insert(short(message.full_name()), fields.collect::<Result<_>>()?);
        }
        let enums = proto.enums().map(|item| {
            let values = item.values().map(|value| (value.name().to_owned(), value.number()));
            (short(item.full_name()), values.collect())
        });
        let enums = enums.collect();
        let mut rpcs = BTreeMap::new();
        for method in proto.service()?.methods() {
            let routes = proto.http_rules(&method)?.into_iter().map(|rule| {
                let body = if rule.has_body { " (body)" } else { "" };
                format!("{} {}{body}", rule.verb.to_uppercase(), rule.path)
            });
            let stream = |streams| if streams { "stream " } else { "" };
            let signature = format!(
                "{}{} -> {}{}",
                stream(method.is_client_streaming()),
                short(method.input().full_name()),
                stream(method.is_server_streaming()),
                short(method.output().full_name())
            );
            rpcs.insert(method.name().to_owned(), Rpc { signature, routes: routes.collect() });
        }
        Ok(Self { messages, enums, rpcs })
    }
}

impl Field {
    fn of(field: &FieldDescriptor, required: bool) -> Self {
        let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
        let label = match oneof {
            Some(oneof) => format!("oneof {}", oneof.name()),
            None if field.is_map() => "map".to_owned(),
            None if field.is_list() => "repeated".to_owned(),
            None if field.field_descriptor_proto().proto3_optional() => "optional".to_owned(),
            None => "singular".to_owned(),
        };
        let kind = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
                format!("map<{}, {}>", kind_name(&key.kind()), kind_name(&value.kind()))
            }
            kind => kind_name(&kind),
        };
        Self {
            number: field.number(),
            json_name: field.json_name().to_owned(),
            kind,
            label,
            required,
            deprecated: is_deprecated(field),
        }
    }
}

fn kind_name(kind: &Kind) -> String {
    short(&format!("{kind:?}"))
}

/// A name without the package.
fn short(name: &str) -> String {
    name.strip_prefix("lf.a2a.v1.").unwrap_or(name).to_owned()
}
