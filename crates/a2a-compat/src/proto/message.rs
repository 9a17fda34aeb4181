//! Messages, parts and artifacts.

use a2a_core::v1;
use a2a_core::well_known::Value;

use super::{Artifact, DataPart, FilePart, Message, Part, file_part::File, part};
use crate::common::part::{unwrap_data, with_found_members, with_lost_members, wrap_data};

impl From<Part> for v1::Part {
    fn from(part: Part) -> Self {
        let metadata = part.metadata;
        match part.part {
            Some(part::Part::Text(text)) => {
                with_found_members(Self { metadata, ..Self::text(text) })
            }
            Some(part::Part::File(FilePart { file, mime_type: media_type, name: filename })) => {
                let content = file.map(|file| match file {
                    File::FileWithUri(uri) => v1::part::Content::Url(uri),
                    File::FileWithBytes(bytes) => v1::part::Content::Raw(bytes),
                });
                Self { content, metadata, filename, media_type }
            }
            Some(part::Part::Data(DataPart { data })) => {
                let (data, metadata) =
                    unwrap_data(Value::Object(data.unwrap_or_default()), metadata);
                with_found_members(Self { metadata, ..Self::data(data) })
            }
            None => Self { metadata, ..Self::default() },
        }
    }
}

impl From<v1::Part> for Part {
    fn from(part: v1::Part) -> Self {
        // Only files have a name and a media type.
        let (kind, metadata) = match &part.content {
            Some(v1::part::Content::Text(_)) => (None, with_lost_members(&part)),
            Some(v1::part::Content::Data(data)) => {
                let (data, metadata) = wrap_data(data, with_lost_members(&part));
                (Some(part::Part::Data(DataPart { data: Some(data) })), metadata)
            }
            Some(v1::part::Content::Raw(_) | v1::part::Content::Url(_)) | None => {
                (None, part.metadata)
            }
        };
        let file = |file| {
            let file =
                FilePart { file: Some(file), mime_type: part.media_type, name: part.filename };
            part::Part::File(file)
        };
        let kind = match part.content {
            Some(v1::part::Content::Text(text)) => Some(part::Part::Text(text)),
            Some(v1::part::Content::Raw(bytes)) => Some(file(File::FileWithBytes(bytes))),
            Some(v1::part::Content::Url(url)) => Some(file(File::FileWithUri(url))),
            Some(v1::part::Content::Data(_)) | None => kind,
        };
        Self { part: kind, metadata }
    }
}

impl From<Message> for v1::Message {
    fn from(message: Message) -> Self {
        Self {
            message_id: message.message_id,
            context_id: message.context_id,
            task_id: message.task_id,
            role: message.role,
            parts: each(message.content),
            metadata: message.metadata,
            extensions: message.extensions,
            reference_task_ids: message.reference_task_ids,
        }
    }
}

impl From<v1::Message> for Message {
    fn from(message: v1::Message) -> Self {
        Self {
            message_id: message.message_id,
            context_id: message.context_id,
            task_id: message.task_id,
            role: message.role,
            content: each(message.parts),
            metadata: message.metadata,
            extensions: message.extensions,
            reference_task_ids: message.reference_task_ids,
        }
    }
}

impl From<Artifact> for v1::Artifact {
    fn from(artifact: Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: artifact.name,
            description: artifact.description,
            parts: each(artifact.parts),
            metadata: artifact.metadata,
            extensions: artifact.extensions,
        }
    }
}

impl From<v1::Artifact> for Artifact {
    fn from(artifact: v1::Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: artifact.name,
            description: artifact.description,
            parts: each(artifact.parts),
            metadata: artifact.metadata,
            extensions: artifact.extensions,
        }
    }
}

/// Converts the elements of a list.
pub(super) fn each<A, B: From<A>>(list: Vec<A>) -> Vec<B> {
    list.into_iter().map(Into::into).collect()
}
