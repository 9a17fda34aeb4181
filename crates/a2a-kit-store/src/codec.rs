//! The storage format of tasks, events and webhooks.
//!
//! A task or an event is stored as protobuf after a format byte. If protobuf would be lossy (JSON
//! data with integers beyond 2^53, or nested too deeply to be decoded), it is stored as JSON
//! instead.

use a2a_core::{
    Artifact, Message, Part, ProtocolVersion, TaskState,
    v1::{
        StreamResponse, Task, TaskPushNotificationConfig, TaskStatus, part::Content,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{Event, EventId, Webhook, store::PageKey, trace::TraceContext};
use prost::Message as _;
use serde::{Serialize, de::DeserializeOwned};

use crate::seal::{SealError, SecretKeys};

const PROTOBUF: u8 = 0;
const JSON: u8 = 1;

/// Why stored bytes could not be decoded, or a value encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecError {
    #[error("malformed protobuf in the store")]
    Protobuf(#[from] prost::DecodeError),
    #[error("malformed JSON in the store")]
    Json(#[from] serde_json::Error),
    #[error("unknown encoding in the store")]
    Form,
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// An encoded task, with the fields that stores index.
pub(crate) struct EncodedTask {
    pub(crate) state: TaskState,
    /// The time of its status: see [`PageKey::millis_of`].
    pub(crate) millis: i64,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn encode_task(task: &Task) -> Result<EncodedTask, CodecError> {
    let body = encode(task, is_plain_task(task), |bytes| task.encode_raw(bytes))?;
    Ok(EncodedTask { state: task.state(), millis: PageKey::millis_of(task), body })
}

/// Decodes the output of [`encode_task`].
pub(crate) fn decode_task(bytes: &[u8]) -> Result<Task, CodecError> {
    decode(bytes)
}

/// Encodes an event, without its position.
pub(crate) fn encode_event(event: &Event) -> Result<Vec<u8>, CodecError> {
    let response = event.response();
    // The encoding is cached, and shared with gRPC readers of the event.
    encode(response, is_plain(response), |bytes| bytes.extend_from_slice(&event.protobuf()))
}

/// Decodes the output of [`encode_event`].
pub(crate) fn decode_event(position: EventId, bytes: &[u8]) -> Result<Event, CodecError> {
    let response: StreamResponse = decode(bytes)?;
    Ok(Event::new(Some(position), response))
}

/// Applies artifact chunks that are newer than the snapshot of a task.
pub(crate) fn apply(task: &mut Task, events: &[Event]) {
    for event in events {
        if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
            task.apply_artifact(update);
        }
    }
}

/// Flag in the first byte of a webhook with a trace context, which follows.
const TRACED: u8 = 0x80;

/// Encodes a webhook, encrypted with its task and id as associated data.
pub(crate) fn encode_webhook(webhook: &Webhook, keys: &SecretKeys) -> Result<Vec<u8>, CodecError> {
    let Webhook { config, revision, trace, .. } = webhook;
    if !config.token.is_empty() || config.authentication.is_some() {
        keys.warn_if_plain();
    }
    let mut bytes = vec![revision_byte(*revision)];
    if let Some(trace) = trace {
        bytes[0] |= TRACED;
        bytes.extend(trace.trace_id().to_be_bytes());
        bytes.extend(trace.span_id().to_be_bytes());
        bytes.push(trace.flags());
    }
    bytes.extend(keys.seal(&place(&config.task_id, &config.id), &config.encode_to_vec())?);
    Ok(bytes)
}

/// Decodes the output of [`encode_webhook`].
pub(crate) fn decode_webhook(
    task_id: &str,
    config_id: &str,
    bytes: &[u8],
    keys: &SecretKeys,
) -> Result<Webhook, CodecError> {
    let (first, mut sealed) = bytes.split_first().ok_or(CodecError::Form)?;
    let revision = revision_of(first & !TRACED).ok_or(CodecError::Form)?;
    let mut trace = None;
    if first & TRACED != 0 {
        let (trace_id, rest) = sealed.split_first_chunk().ok_or(CodecError::Form)?;
        let (span_id, rest) = rest.split_first_chunk().ok_or(CodecError::Form)?;
        let (flags, rest) = rest.split_first().ok_or(CodecError::Form)?;
        let (trace_id, span_id) = (u128::from_be_bytes(*trace_id), u64::from_be_bytes(*span_id));
        trace = TraceContext::new(trace_id, span_id, *flags);
        sealed = rest;
    }
    let config = keys.open(&place(task_id, config_id), sealed)?;
    let webhook = Webhook::from(TaskPushNotificationConfig::decode(&*config)?);
    Ok(webhook.with_revision(revision).with_trace(trace))
}

fn place(task_id: &str, config_id: &str) -> Vec<u8> {
    [task_id.as_bytes(), &[0], config_id.as_bytes()].concat()
}

/// The stored number of a revision, which never changes.
fn revision_byte(revision: ProtocolVersion) -> u8 {
    match revision {
        ProtocolVersion::V0_1 => 1,
        ProtocolVersion::V0_2 => 2,
        ProtocolVersion::V0_3 => 3,
        ProtocolVersion::V1Draft => 4,
        ProtocolVersion::V1_0 => 5,
    }
}

fn revision_of(byte: u8) -> Option<ProtocolVersion> {
    const ALL: [ProtocolVersion; 5] = [
        ProtocolVersion::V0_1,
        ProtocolVersion::V0_2,
        ProtocolVersion::V0_3,
        ProtocolVersion::V1Draft,
        ProtocolVersion::V1_0,
    ];
    ALL.into_iter().find(|revision| revision_byte(*revision) == byte)
}

fn encode<M>(
    message: &M,
    is_plain: bool,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<Vec<u8>, CodecError>
where
    M: prost::Message + Default + PartialEq + Serialize,
{
    let mut bytes = Vec::with_capacity(1 + message.encoded_len());
    bytes.push(PROTOBUF);
    write(&mut bytes);
    let is_exact = is_plain
        || M::decode(bytes.get(1..).unwrap_or_default()).is_ok_and(|read| read == *message);
    if !is_exact {
        bytes.clear();
        bytes.push(JSON);
        serde_json::to_writer(&mut bytes, message)?;
    }
    Ok(bytes)
}

fn decode<M: prost::Message + Default + DeserializeOwned>(bytes: &[u8]) -> Result<M, CodecError> {
    match bytes.split_first() {
        Some((&PROTOBUF, bytes)) => Ok(M::decode(bytes)?),
        Some((&JSON, bytes)) => {
            // Stored values were in memory before, so their depth is acceptable.
            let mut json = serde_json::Deserializer::from_slice(bytes);
            json.disable_recursion_limit();
            Ok(M::deserialize(&mut json)?)
        }
        _ => Err(CodecError::Form),
    }
}

/// Whether an event has no JSON data, which protobuf may not represent exactly.
fn is_plain(response: &StreamResponse) -> bool {
    match &response.payload {
        None => true,
        Some(Payload::Task(task)) => is_plain_task(task),
        Some(Payload::Message(message)) => is_plain_message(message),
        Some(Payload::StatusUpdate(update)) => {
            update.metadata.is_none() && update.status.as_ref().is_none_or(is_plain_status)
        }
        Some(Payload::ArtifactUpdate(update)) => {
            update.metadata.is_none() && update.artifact.as_ref().is_none_or(is_plain_artifact)
        }
    }
}

fn is_plain_task(task: &Task) -> bool {
    task.metadata.is_none()
        && task.status.as_ref().is_none_or(is_plain_status)
        && task.history.iter().all(is_plain_message)
        && task.artifacts.iter().all(is_plain_artifact)
}

fn is_plain_status(status: &TaskStatus) -> bool {
    status.message.as_ref().is_none_or(is_plain_message)
}

fn is_plain_message(message: &Message) -> bool {
    message.metadata.is_none() && message.parts.iter().all(is_plain_part)
}

fn is_plain_artifact(artifact: &Artifact) -> bool {
    artifact.metadata.is_none() && artifact.parts.iter().all(is_plain_part)
}

fn is_plain_part(part: &Part) -> bool {
    part.metadata.is_none() && !matches!(part.content, Some(Content::Data(_)))
}

#[cfg(test)]
mod tests {
    use a2a_core::well_known::Value;
    use a2a_kit_store_testing::store::fixtures::{at, chunk, shown, task, webhook};
    use serde_json::json;

    use super::*;

    fn with_data(data: serde_json::Value) -> Task {
        let artifact = Artifact::new("data", Part::data(Value::from(data)));
        Task { artifacts: vec![artifact], ..task("t", "c", TaskState::Completed, 5) }
    }

    #[test]
    fn encoding_round_trips() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        for (data, form) in [
            (json!({ "a": [1, 2.5, null, {}] }), PROTOBUF),
            (json!({ "id": u64::MAX }), JSON),
            (json!([i64::MIN + 1]), JSON),
            (deep, JSON),
        ] {
            let task = with_data(data);
            let bytes = encode_task(&task).unwrap().body;
            assert_eq!(bytes[0], form, "{task:?}");
            assert_eq!(decode_task(&bytes).unwrap(), task);
            let event = shown(7, &task);
            let bytes = encode_event(&event).unwrap();
            let read = decode_event(at(7), &bytes).unwrap();
            assert_eq!((read.id(), read.response()), (event.id(), event.response()));
        }
        let empty = encode_task(&Task::default()).unwrap().body;
        assert_eq!(decode_task(&empty).unwrap(), Task::default());
    }

    #[test]
    fn chunk_encoding_is_compact() {
        let id = "0198f0a4-7b1c-7d60-8a5e-0123456789ab";
        let bytes = encode_event(&chunk(2, id, &"x".repeat(40))).unwrap();
        assert!(bytes.len() < 40 + id.len() + 40, "{} bytes", bytes.len());
    }

    #[test]
    fn webhook_encoding_is_bound_to_its_task_and_id() {
        let keys = SecretKeys::new([crate::SecretKey::from_bytes([1; 32])]);
        for byte in 1..=5 {
            let revision = revision_of(byte).unwrap();
            for trace in [None, TraceContext::new(1 << 100, 2 << 50, 1)] {
                let webhook = webhook("t", "a").with_revision(revision).with_trace(trace);
                let bytes = encode_webhook(&webhook, &keys).unwrap();
                assert_eq!(decode_webhook("t", "a", &bytes, &keys).unwrap(), webhook);
                assert!(decode_webhook("t", "b", &bytes, &keys).is_err());
                assert!(decode_webhook("u", "a", &bytes, &keys).is_err());
            }
        }
        assert_eq!((revision_of(0), revision_of(6)), (None, None));
    }

    #[test]
    fn unknown_formats_are_rejected() {
        for bytes in [&b""[..], b"\x07", b"\x00\xff", b"\x01{", b"\x85abc"] {
            assert!(decode_task(bytes).is_err(), "{bytes:?}");
            assert!(decode_webhook("t", "a", bytes, &SecretKeys::default()).is_err());
        }
    }
}
