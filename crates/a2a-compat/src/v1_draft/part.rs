//! Parts: text, or a nested file or data.

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

/// The content of a part, in the member of its type.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Content {
    Text(String),
    File(File),
    Data(Data),
}

/// A file: its bytes or its URI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(alias = "uri", skip_serializing_if = "Option::is_none")]
    file_with_uri: Option<String>,
    #[serde(
        default,
        alias = "bytes",
        with = "member::base64",
        skip_serializing_if = "Option::is_none"
    )]
    file_with_bytes: Option<Bytes>,
    #[serde(alias = "mimeType", skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Data, which must be an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Data {
    data: Value,
}

/// The unvalidated members of a part.
#[derive(Deserialize)]
struct Members {
    text: Option<String>,
    file: Option<File>,
    data: Option<Data>,
    metadata: Option<Struct>,
}

impl TryFrom<Members> for Part {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<Self, &'static str> {
        let content = match (members.text, members.file, members.data) {
            (Some(text), None, None) => Content::Text(text),
            (None, Some(file), None) => {
                if file.file_with_uri.is_some() == file.file_with_bytes.is_some() {
                    return Err("a file must have exactly one of fileWithUri and fileWithBytes");
                }
                Content::File(file)
            }
            (None, None, Some(data)) => Content::Data(data),
            _ => return Err("a part must have exactly one of text, file and data"),
        };
        Ok(Self { content, metadata: members.metadata })
    }
}

pub(super) fn into_v1(part: Part) -> v1::Part {
    let mut up = v1::Part { metadata: part.metadata, ..v1::Part::default() };
    up.content = Some(match part.content {
        Content::Text(text) => V1Content::Text(text),
        Content::File(file) => {
            up.filename = file.name.unwrap_or_default();
            up.media_type = file.media_type.unwrap_or_default();
            match file.file_with_bytes {
                Some(bytes) => V1Content::Raw(bytes),
                None => V1Content::Url(file.file_with_uri.unwrap_or_default()),
            }
        }
        Content::Data(Data { data }) => {
            let (data, metadata) = unwrap_data(data, up.metadata.take());
            up.metadata = metadata;
            V1Content::Data(data)
        }
    });
    with_found_members(up)
}

pub(super) fn from_v1(part: &v1::Part) -> Part {
    let file = |file_with_bytes: Option<Bytes>, file_with_uri: Option<String>| {
        let name = some(&part.filename);
        let media_type = some(&part.media_type);
        let file = File { file_with_uri, file_with_bytes, media_type, name };
        Part { content: Content::File(file), metadata: part.metadata.clone() }
    };
    match &part.content {
        Some(V1Content::Raw(bytes)) => file(Some(bytes.clone()), None),
        Some(V1Content::Url(url)) => file(None, Some(url.clone())),
        Some(V1Content::Text(text)) => {
            Part { content: Content::Text(text.clone()), metadata: with_lost_members(part) }
        }
        Some(V1Content::Data(data)) => {
            let (object, metadata) = wrap_data(data, with_lost_members(part));
            Part { content: Content::Data(Data { data: Value::Object(object) }), metadata }
        }
        // 1.0 rejects parts without content, so only a non-compliant agent has one.
        None => Part { content: Content::Text(String::new()), metadata: with_lost_members(part) },
    }
}
