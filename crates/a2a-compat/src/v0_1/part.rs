//! Parts with a `type`: text, file or data.

use a2a_core::{
    v1::{self, part::Content as V1Content},
    well_known::{Struct, Value},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::common::{
    json::some,
    member,
    part::{unwrap_data, with_found_members, with_lost_members, wrap_data},
};

/// A part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Members")]
pub(super) struct Part {
    #[serde(flatten)]
    content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Content {
    Text { text: String },
    File { file: File },
    Data { data: Value },
}

/// A file: its bytes or its URI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    // Examples use `data`.
    #[serde(
        default,
        alias = "data",
        with = "member::base64",
        skip_serializing_if = "Option::is_none"
    )]
    bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

/// The unvalidated members of a part.
#[derive(Deserialize)]
struct Members {
    // The discriminator of later revisions is also accepted.
    #[serde(rename = "type", alias = "kind")]
    kind: Option<String>,
    text: Option<String>,
    file: Option<File>,
    // `null` is data; a missing member is not.
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    metadata: Option<Struct>,
}

fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl TryFrom<Members> for Part {
    type Error = String;

    fn try_from(members: Members) -> Result<Self, String> {
        let kind = match members.kind.as_deref() {
            Some(kind) => kind,
            None if members.text.is_some() => "text",
            None if members.file.is_some() => "file",
            None if members.data.is_some() => "data",
            None => return Err("type is required: text, file or data".into()),
        };
        let missing = |name: &str| format!("{name} is required in a part of type {kind:?}");
        let content = match kind {
            "text" => Content::Text { text: members.text.ok_or_else(|| missing("text"))? },
            "file" => {
                let file = members.file.ok_or_else(|| missing("file"))?;
                if file.bytes.is_some() == file.uri.is_some() {
                    return Err("a file must have exactly one of bytes and uri".into());
                }
                Content::File { file }
            }
            "data" => Content::Data { data: members.data.ok_or_else(|| missing("data"))? },
            other => return Err(format!("unknown part type {other:?}")),
        };
        Ok(Self { content, metadata: members.metadata })
    }
}

pub(super) fn into_v1(part: Part) -> v1::Part {
    let mut up = v1::Part { metadata: part.metadata, ..v1::Part::default() };
    up.content = Some(match part.content {
        Content::Text { text } => V1Content::Text(text),
        Content::File { file } => {
            up.filename = file.name.unwrap_or_default();
            up.media_type = file.mime_type.unwrap_or_default();
            match file.bytes {
                Some(bytes) => V1Content::Raw(bytes),
                None => V1Content::Url(file.uri.unwrap_or_default()),
            }
        }
        Content::Data { data } => {
            let (data, metadata) = unwrap_data(data, up.metadata.take());
            up.metadata = metadata;
            V1Content::Data(data)
        }
    });
    with_found_members(up)
}

pub(super) fn from_v1(part: &v1::Part) -> Part {
    let file = |bytes: Option<Bytes>, uri: Option<String>| {
        let name = some(&part.filename);
        let mime_type = some(&part.media_type);
        let file = File { name, mime_type, bytes, uri };
        Part { content: Content::File { file }, metadata: part.metadata.clone() }
    };
    match &part.content {
        Some(V1Content::Raw(bytes)) => file(Some(bytes.clone()), None),
        Some(V1Content::Url(url)) => file(None, Some(url.clone())),
        Some(V1Content::Text(text)) => Part {
            content: Content::Text { text: text.clone() },
            metadata: with_lost_members(part),
        },
        Some(V1Content::Data(data)) => {
            let (object, metadata) = wrap_data(data, with_lost_members(part));
            Part { content: Content::Data { data: Value::Object(object) }, metadata }
        }
        // 1.0 rejects parts without content, so only a non-compliant agent has one.
        None => Part {
            content: Content::Text { text: String::new() },
            metadata: with_lost_members(part),
        },
    }
}
