//! Messages, parts and artifacts.

use a2a_core::{v1, well_known::Value};

use super::{Artifact, DataPart, FilePart, Message, Part, convert::convert, file_part::File, part};
use crate::common::part::{decode, encode};

impl From<Part> for v1::Part {
    fn from(part: Part) -> Self {
        let metadata = part.metadata;
        let mut part = match part.part {
            Some(part::Part::Text(text)) => Self { metadata, ..Self::text(text) },
            Some(part::Part::File(FilePart { file, mime_type: media_type, name: filename })) => {
                let content = file.map(|file| match file {
                    File::FileWithUri(uri) => v1::part::Content::Url(uri),
                    File::FileWithBytes(bytes) => v1::part::Content::Raw(bytes),
                });
                return Self { content, metadata, filename, media_type };
            }
            Some(part::Part::Data(DataPart { data })) => {
                Self { metadata, ..Self::data(Value::Object(data.unwrap_or_default())) }
            }
            None => return Self { metadata, ..Self::default() },
        };
        decode(&mut part);
        part
    }
}

impl From<v1::Part> for Part {
    fn from(mut part: v1::Part) -> Self {
        if part.content.is_none() {
            return Self { part: None, metadata: part.metadata };
        }
        encode(&mut part);
        let file = |file| {
            let file =
                FilePart { file: Some(file), mime_type: part.media_type, name: part.filename };
            part::Part::File(file)
        };
        let content = part.content.map(|content| match content {
            v1::part::Content::Text(text) => part::Part::Text(text),
            v1::part::Content::Raw(bytes) => file(File::FileWithBytes(bytes)),
            v1::part::Content::Url(url) => file(File::FileWithUri(url)),
            v1::part::Content::Data(Value::Object(data)) => {
                part::Part::Data(DataPart { data: Some(data) })
            }
            // Encoded data is an object.
            v1::part::Content::Data(_) => part::Part::Data(DataPart { data: None }),
        });
        Self { part: content, metadata: part.metadata }
    }
}

convert! {
    Message:
        same(message_id, context_id, task_id, role, metadata, extensions, reference_task_ids),
        optional(),
        lists(content = parts);
    Artifact:
        same(artifact_id, name, description, metadata, extensions),
        optional(),
        lists(parts = parts);
}
