//! The parts of a file descriptor set that the presence rules need.
//!
//! The types of `prost-types` drop extensions, and with them `google.api.field_behavior`.

use std::collections::HashMap;

const REPEATED: i32 = 3;
const BOOL: i32 = 8;
const STRING: i32 = 9;
const MESSAGE: i32 = 11;
/// The value REQUIRED of `google.api.FieldBehavior`.
const REQUIRED: i32 = 2;

/// `google.protobuf.FileDescriptorSet`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Descriptors {
    #[prost(message, repeated, tag = "1")]
    files: Vec<File>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct File {
    #[prost(string, tag = "2")]
    package: String,
    #[prost(message, repeated, tag = "4")]
    messages: Vec<Message>,
}

/// `google.protobuf.DescriptorProto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Message {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    fields: Vec<Field>,
    #[prost(message, repeated, tag = "3")]
    nested: Vec<Self>,
    #[prost(message, optional, tag = "7")]
    options: Option<MessageOptions>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct MessageOptions {
    #[prost(bool, tag = "7")]
    map_entry: bool,
}

/// `google.protobuf.FieldDescriptorProto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Field {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "4")]
    label: i32,
    #[prost(int32, tag = "5")]
    kind: i32,
    /// The full name of a message, with a leading dot.
    #[prost(string, tag = "6")]
    pub(super) type_name: String,
    #[prost(message, optional, tag = "8")]
    options: Option<FieldOptions>,
    /// Set for members of a `oneof`, and for optional fields.
    #[prost(int32, optional, tag = "9")]
    oneof_index: Option<i32>,
    #[prost(string, tag = "10")]
    pub(super) json_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct FieldOptions {
    /// `google.api.field_behavior`.
    #[prost(int32, repeated, packed = "false", tag = "1052")]
    behavior: Vec<i32>,
}

/// The type of a field, as far as its JSON form depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    String,
    Bool,
    Other,
}

impl Descriptors {
    /// The messages by full name, with a leading dot.
    pub(super) fn into_messages(self) -> HashMap<String, Message> {
        let mut found = HashMap::new();
        for file in self.files {
            let scope = format!(".{}", file.package);
            for message in file.messages {
                message.collect(&scope, &mut found);
            }
        }
        found
    }
}

impl Message {
    fn collect(mut self, scope: &str, found: &mut HashMap<String, Self>) {
        let name = format!("{scope}.{}", self.name);
        for nested in std::mem::take(&mut self.nested) {
            nested.collect(&name, found);
        }
        found.insert(name, self);
    }

    /// Returns the field with a ProtoJSON name or an original one.
    pub(super) fn field_named(&self, name: &str) -> Option<&Field> {
        let by_json_name = self.fields.iter().find(|field| field.json_name == name);
        by_json_name.or_else(|| self.fields.iter().find(|field| field.name == name))
    }

    /// Returns the field of the values, if the message is the entry of a map.
    pub(super) fn map_value(&self) -> Option<&Field> {
        self.options.filter(|options| options.map_entry)?;
        self.fields.iter().find(|field| field.name == "value")
    }
}

impl Field {
    pub(super) fn kind(&self) -> Kind {
        match self.kind {
            MESSAGE => Kind::Message,
            STRING => Kind::String,
            BOOL => Kind::Bool,
            _ => Kind::Other,
        }
    }

    pub(super) fn is_repeated(&self) -> bool {
        self.label == REPEATED
    }

    /// Returns whether an unset field differs from one with the default value.
    pub(super) fn has_presence(&self) -> bool {
        !self.is_repeated() && (self.kind == MESSAGE || self.oneof_index.is_some())
    }

    pub(super) fn is_required(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.behavior.contains(&REQUIRED))
    }
}
