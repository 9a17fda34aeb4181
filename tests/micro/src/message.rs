//! Messages, tasks and events of a usual size.

use a2a_core::{
    Artifact, Message, Part, TaskState, json,
    v1::{
        SendMessageConfiguration, SendMessageRequest, StreamResponse, Task,
        TaskArtifactUpdateEvent, stream_response::Payload,
    },
    well_known::{Struct, Value},
};
use a2a_kit_operations::{Event, EventId};
use a2a_kit_store_testing::store::fixtures;
use bytes::Bytes;
use prost::Message as _;

/// A message of three sentences with metadata, in a context.
pub fn message() -> Message {
    let text = "Please find the cheapest flight from Lisbon to Tallinn in the second week of May. \
                I travel with one piece of hand luggage. Say \"none\" if there is none.";
    let metadata = Struct {
        fields: [("locale", "en-GB"), ("source", "chat")]
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into(),
    };
    Message {
        message_id: "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c21".to_owned(),
        context_id: "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c22".to_owned(),
        metadata: Some(metadata),
        ..Message::user(text)
    }
}

/// A request with [`message`] and a configuration.
pub fn request() -> SendMessageRequest {
    SendMessageRequest {
        message: Some(message()),
        configuration: Some(SendMessageConfiguration {
            accepted_output_modes: vec!["text/plain".to_owned(), "application/json".to_owned()],
            history_length: Some(10),
            ..SendMessageConfiguration::default()
        }),
        ..SendMessageRequest::default()
    }
}

/// The [`request`] as JSON.
pub fn request_json() -> Vec<u8> {
    let mut json = Vec::new();
    json::write(&mut json, &request()).expect("a request can be encoded");
    json
}

/// The [`request`] as protobuf.
pub fn request_protobuf() -> Bytes {
    request().encode_to_vec().into()
}

/// A completed task with two messages and an artifact of ten parts.
pub fn task() -> Task {
    let answer = Message {
        message_id: "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c23".to_owned(),
        ..Message::agent("Searching the timetables of three airlines.")
    };
    let mut artifact = Artifact::new("flights", "Three flights, the cheapest one first.");
    artifact.artifact_id = "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c24".to_owned();
    let line = |number: u32| Part::text(format!("{number}. Lisbon 09:40, Tallinn 18:05, one stop"));
    artifact.parts.extend((1..10).map(line));
    Task {
        history: vec![message(), answer],
        artifacts: vec![artifact],
        ..fixtures::task("0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c25", "context", TaskState::Completed, 5)
    }
}

/// A chunk of an artifact, such as a stream of a language model has many of.
pub fn chunk() -> Payload {
    Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c25".to_owned(),
        context_id: "0198c8f2-5f6e-7c1d-9d54-4a1e3f0b7c22".to_owned(),
        artifact: Some(Artifact::new("answer", "the second week of May ").with_id("answer")),
        append: true,
        ..TaskArtifactUpdateEvent::default()
    })
}

/// An event with a [`chunk`], at a position of the log.
pub fn event(position: u64) -> Event {
    Event::new(EventId::new(position), StreamResponse { payload: Some(chunk()) })
}

/// An event whose encoder has been at work before, as it has for all but the first event.
pub fn event_to_encode() -> Event {
    event(1).json();
    event(1)
}
