//! The messages as JSON Schema 2020-12: what ProtoJSON writes, not every form it accepts.

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use super::{
    may_be_empty::MAY_BE_EMPTY,
    proto::{self, Proto},
};
use crate::Result;

/// Base64 of either alphabet, with or without padding. `contentEncoding` alone is an annotation and
/// validates nothing.
const BASE64: &str = concat!(
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw](==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$",
    "|^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw](==)?|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048]=?)?$",
);

/// Numbers with a minimum and an optional maximum (spec §3.1.4, §3.2.4).
const BOUNDS: [(&str, i32, Option<i32>); 5] = [
    ("lf.a2a.v1.SendMessageConfiguration.history_length", 0, None),
    ("lf.a2a.v1.GetTaskRequest.history_length", 0, None),
    ("lf.a2a.v1.ListTasksRequest.history_length", 0, None),
    ("lf.a2a.v1.ListTasksRequest.page_size", 1, Some(100)),
    ("lf.a2a.v1.ListTaskPushNotificationConfigsRequest.page_size", 0, Some(100)),
];

/// Every message and enum as one document of definitions.
pub(super) fn bundle(proto: &Proto) -> Result<Value> {
    let known: Vec<_> = proto.messages().flat_map(|message| fields(&message)).collect();
    for name in MAY_BE_EMPTY.into_iter().chain(BOUNDS.map(|(name, ..)| name)) {
        if !known.iter().any(|field| field.full_name() == name) {
            return Err(format!("{name} is named in a rule but does not exist").into());
        }
    }
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A2A protocol 1.0",
        "description": "The messages and enums of the proto package `lf.a2a.v1` in the JSON form \
            that senders write. Readers also accept the other forms of ProtoJSON: members in \
            snake_case, enums by number, integers as strings, `null` for an unset member, and \
            unknown members. Generated from the proto by `cargo xtask schema`.",
        "$defs": Definitions { proto, prefix: "#/$defs/" }.all()?,
    }))
}

/// Generates definitions whose references start with `prefix`.
pub(super) struct Definitions<'a> {
    pub(super) proto: &'a Proto,
    pub(super) prefix: &'static str,
}

impl Definitions<'_> {
    /// A definition for each message and enum, by name.
    pub(super) fn all(&self) -> Result<Map<String, Value>> {
        let mut all = Map::new();
        for message in self.proto.messages() {
            all.insert(message.name().to_owned(), self.message(&message, &[])?);
        }
        for item in self.proto.enums() {
            all.insert(item.name().to_owned(), self.enumeration(&item));
        }
        Ok(all)
    }

    /// A reference to the message or enum called `name`.
    pub(super) fn reference(&self, name: &str) -> Value {
        json!({ "$ref": format!("{}{name}", self.prefix) })
    }

    /// The object schema of a message, omitting the members whose proto names are in `without`.
    pub(super) fn message(&self, message: &MessageDescriptor, without: &[&str]) -> Result<Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in fields(message) {
            if without.contains(&field.name()) {
                continue;
            }
            if self.proto.is_required(&field)? {
                required.push(field.json_name().to_owned());
            }
            properties.insert(field.json_name().to_owned(), self.member(&field)?);
        }
        let mut schema = self.described(message.path());
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        let unions: Vec<Value> = proto::unions(message)
            .map(|union| {
                let members =
                    union.fields().map(|field| json!({ "required": [field.json_name()] }));
                json!({ "oneOf": members.collect::<Vec<_>>() })
            })
            .collect();
        match <[Value; 1]>::try_from(unions) {
            Ok([Value::Object(union)]) => schema.extend(union),
            Ok(_) => {}
            Err(unions) if unions.is_empty() => {}
            Err(unions) => {
                schema.insert("allOf".to_owned(), Value::Array(unions));
            }
        }
        Ok(Value::Object(schema))
    }

    /// The value of a member, with its documentation.
    pub(super) fn member(&self, field: &FieldDescriptor) -> Result<Value> {
        let mut schema = self.described(field.path());
        if proto::is_deprecated(field) {
            schema.insert("deprecated".to_owned(), json!(true));
        }
        schema.extend(self.shape(field)?);
        Ok(Value::Object(schema))
    }

    fn shape(&self, field: &FieldDescriptor) -> Result<Map<String, Value>> {
        let shape = match field.kind() {
            Kind::Message(entry) if field.is_map() => json!({
                "type": "object",
                "additionalProperties": self.kind(&entry.map_entry_value_field())?,
            }),
            _ if field.is_list() => {
                let mut list = json!({ "type": "array", "items": self.kind(field)? });
                if self.is_filled(field)? {
                    list["minItems"] = json!(1);
                }
                list
            }
            _ => self.bounded(field)?,
        };
        match shape {
            Value::Object(shape) => Ok(shape),
            other => Err(format!("{} has the unexpected schema {other}", field.full_name()).into()),
        }
    }

    /// Whether a member is required and must not be empty.
    fn is_filled(&self, field: &FieldDescriptor) -> Result<bool> {
        Ok(self.proto.is_required(field)? && !MAY_BE_EMPTY.contains(&field.full_name()))
    }

    /// One value of a field, with its limits.
    fn bounded(&self, field: &FieldDescriptor) -> Result<Value> {
        let mut value = self.kind(field)?;
        if self.is_filled(field)? {
            match field.kind() {
                Kind::String => value["minLength"] = json!(1),
                Kind::Enum(item) => value["not"] = json!({ "const": item.default_value().name() }),
                _ => {}
            }
        }
        if let Some((_, least, most)) = BOUNDS.iter().find(|(name, ..)| *name == field.full_name())
        {
            value["minimum"] = json!(least);
            if let Some(most) = most {
                value["maximum"] = json!(most);
            }
        }
        Ok(value)
    }

    /// One value of the field's kind (the ProtoJSON mapping).
    fn kind(&self, field: &FieldDescriptor) -> Result<Value> {
        Ok(match field.kind() {
            Kind::String => json!({ "type": "string" }),
            Kind::Bytes => {
                json!({ "type": "string", "contentEncoding": "base64", "pattern": BASE64 })
            }
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::Int32 => json!({ "type": "integer", "format": "int32" }),
            Kind::Enum(item) => self.reference(item.name()),
            Kind::Message(message) => match message.full_name() {
                "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
                "google.protobuf.Struct" => json!({ "type": "object" }),
                // Any JSON value, including null.
                "google.protobuf.Value" => json!({}),
                _ => self.reference(message.name()),
            },
            other => {
                return Err(format!("{}: unsupported kind {other:?}", field.full_name()).into());
            }
        })
    }

    fn enumeration(&self, item: &EnumDescriptor) -> Value {
        let names: Vec<_> = item.values().map(|value| value.name().to_owned()).collect();
        let meanings: Vec<_> = item
            .values()
            .map(|value| format!("- `{}`: {}", value.name(), self.proto.comment(value.path())))
            .collect();
        json!({
            "description":
                format!("{}\n\n{}", self.proto.comment(item.path()), meanings.join("\n")),
            "type": "string",
            "enum": names,
        })
    }

    fn described(&self, path: &[i32]) -> Map<String, Value> {
        let comment = self.proto.comment(path);
        let mut schema = Map::new();
        if !comment.is_empty() {
            schema.insert("description".to_owned(), json!(comment));
        }
        schema
    }
}

/// The members in the order of the proto file, which can differ from that of their numbers.
fn fields(message: &MessageDescriptor) -> Vec<FieldDescriptor> {
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by(|left, right| left.path().cmp(right.path()));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn definition(name: &str) -> Value {
        let proto = Proto::compile(&workspace::root().join("proto")).unwrap();
        bundle(&proto).unwrap()["$defs"][name].clone()
    }

    #[test]
    fn a_union_has_exactly_one_member_and_any_json_value_may_be_null() {
        let part = definition("Part");
        let union = json!(["text", "raw", "url", "data"].map(|name| json!({ "required": [name] })));
        assert_eq!(part["oneOf"], union);
        assert_eq!(part["properties"]["data"].get("type"), None);
        assert_eq!(part["properties"]["raw"]["contentEncoding"], "base64");
    }

    #[test]
    fn required_lists_need_an_element_unless_a_rule_allows_empty() {
        let card = definition("AgentCard");
        assert_eq!(card["properties"]["supportedInterfaces"]["minItems"], 1);
        assert_eq!(card["properties"]["skills"].get("minItems"), None);
        let required = card["required"].as_array().unwrap();
        assert!(required.contains(&json!("skills")) && !required.contains(&json!("provider")));
    }

    #[test]
    fn deprecated_members_are_marked() {
        assert_eq!(definition("OAuthFlows")["properties"]["implicit"]["deprecated"], true);
    }
}
