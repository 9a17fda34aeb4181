//! ProtoJSON of the messages with a oneof, for which serde can't derive it.

use a2a_core::well_known::Struct;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap as _};

use super::{
    DataPart, FilePart, Message, Part, SendMessageResponse, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskStatusUpdateEvent, file_part, part, send_message_response,
    stream_response,
};
use crate::common::member::{base64, or_default};

/// Base64-encoded bytes.
#[derive(Serialize)]
struct Base64<'a>(#[serde(serialize_with = "as_base64")] &'a Bytes);

fn as_base64<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
    base64::serialize(&Some(bytes.clone()), to)
}

/// Returns the only member that is set.
fn only<T, E: serde::de::Error>(
    members: impl IntoIterator<Item = Option<T>>,
) -> Result<Option<T>, E> {
    let mut set = members.into_iter().flatten();
    match (set.next(), set.next()) {
        (_, Some(_)) => Err(E::custom("more than one member of a union is set")),
        (first, None) => Ok(first),
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match &self.part {
            Some(part::Part::Text(text)) => map.serialize_entry("text", text)?,
            Some(part::Part::File(file)) => map.serialize_entry("file", file)?,
            Some(part::Part::Data(data)) => map.serialize_entry("data", data)?,
            None => {}
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Form {
            text: Option<String>,
            file: Option<FilePart>,
            data: Option<DataPart>,
            metadata: Option<Struct>,
        }
        let form = Form::deserialize(from)?;
        let part = only([
            form.text.map(part::Part::Text),
            form.file.map(part::Part::File),
            form.data.map(part::Part::Data),
        ])?;
        Ok(Self { part, metadata: form.metadata })
    }
}

impl Serialize for FilePart {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match &self.file {
            Some(file_part::File::FileWithUri(uri)) => map.serialize_entry("fileWithUri", uri)?,
            Some(file_part::File::FileWithBytes(bytes)) => {
                map.serialize_entry("fileWithBytes", &Base64(bytes))?;
            }
            None => {}
        }
        for (name, text) in [("mimeType", &self.mime_type), ("name", &self.name)] {
            if !text.is_empty() {
                map.serialize_entry(name, text)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for FilePart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Form {
            #[serde(alias = "file_with_uri", alias = "uri")]
            file_with_uri: Option<String>,
            #[serde(default, alias = "file_with_bytes", alias = "bytes")]
            #[serde(deserialize_with = "base64::deserialize")]
            file_with_bytes: Option<Bytes>,
            #[serde(default, alias = "mime_type", alias = "mediaType", alias = "media_type")]
            #[serde(deserialize_with = "or_default")]
            mime_type: String,
            #[serde(default, deserialize_with = "or_default")]
            name: String,
        }
        let form = Form::deserialize(from)?;
        let file = only([
            form.file_with_uri.map(file_part::File::FileWithUri),
            form.file_with_bytes.map(file_part::File::FileWithBytes),
        ])?;
        Ok(Self { file, mime_type: form.mime_type, name: form.name })
    }
}

impl Serialize for SendMessageResponse {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use send_message_response::Payload;
        let mut map = to.serialize_map(None)?;
        match &self.payload {
            Some(Payload::Task(task)) => map.serialize_entry("task", task)?,
            Some(Payload::Msg(message)) => map.serialize_entry("message", message)?,
            None => {}
        }
        map.end()
    }
}

impl Serialize for StreamResponse {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use stream_response::Payload;
        let mut map = to.serialize_map(None)?;
        match &self.payload {
            Some(Payload::Task(task)) => map.serialize_entry("task", task)?,
            Some(Payload::Msg(message)) => map.serialize_entry("message", message)?,
            Some(Payload::StatusUpdate(event)) => map.serialize_entry("statusUpdate", event)?,
            Some(Payload::ArtifactUpdate(event)) => map.serialize_entry("artifactUpdate", event)?,
            None => {}
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SendMessageResponse {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use send_message_response::Payload;
        #[derive(Deserialize)]
        struct Form {
            task: Option<Task>,
            #[serde(alias = "msg")]
            message: Option<Message>,
        }
        let form = Form::deserialize(from)?;
        let payload = only([form.task.map(Payload::Task), form.message.map(Payload::Msg)])?;
        Ok(Self { payload })
    }
}

impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use stream_response::Payload;
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Form {
            task: Option<Task>,
            #[serde(alias = "msg")]
            message: Option<Message>,
            #[serde(alias = "status_update")]
            status_update: Option<TaskStatusUpdateEvent>,
            #[serde(alias = "artifact_update")]
            artifact_update: Option<TaskArtifactUpdateEvent>,
        }
        let form = Form::deserialize(from)?;
        let payload = only([
            form.task.map(Payload::Task),
            form.message.map(Payload::Msg),
            form.status_update.map(Payload::StatusUpdate),
            form.artifact_update.map(Payload::ArtifactUpdate),
        ])?;
        Ok(Self { payload })
    }
}
