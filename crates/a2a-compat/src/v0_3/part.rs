//! Parts: text, a file, or data.

use a2a_core::{
    v1::{self, part::Content},
    well_known::{Struct, Value},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::common::{
    json::some,
    member::{base64, or_default},
    part::{unwrap_data, with_found_members, with_lost_members, wrap_data},
};

/// A part of a message or an artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", try_from = "Form")]
pub(super) enum Part {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Struct>,
    },
    File {
        file: File,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Struct>,
    },
    Data {
        data: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Struct>,
    },
}

/// A file: its bytes or its URI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    // Examples use `data`; the draft's description of 0.3 uses the other names.
    #[serde(with = "base64", alias = "data", alias = "fileWithBytes")]
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "fileWithUri")]
    uri: Option<String>,
}

/// A part as received: `type` or nothing instead of `kind`, or `TextPart` instead of `text`.
#[derive(Deserialize)]
struct Form {
    #[serde(default, deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    r#type: String,
    text: Option<String>,
    file: Option<File>,
    data: Option<Value>,
    metadata: Option<Struct>,
    // File members next to `kind`, as in the draft's description of 0.3.
    name: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    #[serde(default, rename = "fileWithBytes", with = "base64")]
    bytes: Option<Bytes>,
    #[serde(rename = "fileWithUri")]
    uri: Option<String>,
}

impl Form {
    fn into_file(self) -> Option<File> {
        let Self { name, mime_type, bytes, uri, .. } = self;
        self.file.or_else(|| {
            (bytes.is_some() || uri.is_some()).then_some(File { name, mime_type, bytes, uri })
        })
    }
}

impl TryFrom<Form> for Part {
    type Error = String;

    fn try_from(mut form: Form) -> Result<Self, String> {
        let kind = if form.kind.is_empty() { &form.r#type } else { &form.kind };
        let kind = match kind.as_str() {
            "text" | "TextPart" => "text",
            "file" | "FilePart" => "file",
            "data" | "DataPart" => "data",
            "" if form.text.is_some() => "text",
            "" if form.data.is_some() => "data",
            "" if form.file.is_some() => "file",
            "" => return Err("kind is required: text, file or data".into()),
            other => {
                return Err(format!("unknown part kind {other:?}: must be text, file or data"));
            }
        };
        let metadata = form.metadata.take();
        match kind {
            "text" => match form.text {
                Some(text) => Ok(Self::Text { text, metadata }),
                None => Err("text is required in a text part".into()),
            },
            "data" => match form.data {
                Some(data) => Ok(Self::Data { data, metadata }),
                None => Err("data is required in a data part".into()),
            },
            _ => match form.into_file() {
                Some(file) if file.bytes.is_some() != file.uri.is_some() => {
                    Ok(Self::File { file, metadata })
                }
                _ => {
                    Err("file is required in a file part, with exactly one of bytes and uri".into())
                }
            },
        }
    }
}

impl From<Part> for v1::Part {
    fn from(part: Part) -> Self {
        match part {
            Part::Text { text, metadata } => {
                with_found_members(Self { metadata, ..Self::text(text) })
            }
            Part::Data { data, metadata } => {
                let (data, metadata) = unwrap_data(data, metadata);
                with_found_members(Self { metadata, ..Self::data(data) })
            }
            Part::File { file, metadata } => {
                let uri = file.uri.map(Content::Url);
                Self {
                    content: file.bytes.map(Content::Raw).or(uri),
                    metadata,
                    filename: file.name.unwrap_or_default(),
                    media_type: file.mime_type.unwrap_or_default(),
                }
            }
        }
    }
}

impl From<v1::Part> for Part {
    fn from(part: v1::Part) -> Self {
        let file = |bytes, uri| File {
            name: some(&part.filename),
            mime_type: some(&part.media_type),
            bytes,
            uri,
        };
        match &part.content {
            Some(Content::Raw(bytes)) => {
                let file = file(Some(bytes.clone()), None);
                Self::File { file, metadata: part.metadata }
            }
            Some(Content::Url(url)) => {
                let file = file(None, Some(url.clone()));
                Self::File { file, metadata: part.metadata }
            }
            Some(Content::Data(data)) => {
                let (data, metadata) = wrap_data(data, with_lost_members(&part));
                Self::Data { data: Value::Object(data), metadata }
            }
            Some(Content::Text(text)) => {
                Self::Text { text: text.clone(), metadata: with_lost_members(&part) }
            }
            // 1.0 rejects parts without content, but this revision requires some.
            None => Self::Text { text: String::new(), metadata: with_lost_members(&part) },
        }
    }
}
