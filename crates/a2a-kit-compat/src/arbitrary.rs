//! Random objects of 1.0 for property tests of conversions, as simple as possible.

use a2a_core::{
    Message, Part, Role, Task, TaskState,
    v1::{
        AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
        Artifact, AuthenticationInfo, SendMessageConfiguration, SendMessageRequest, StreamResponse,
        TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent,
        part::Content, stream_response::Payload,
    },
    well_known::{Struct, Timestamp, Value},
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::{Just, Strategy, any, prop_oneof},
};

use crate::common::part::{with_found_members, with_lost_members};

/// Text, including the empty string.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zäß\"\\\\ ]{0,6}", Just(String::new())]
}

/// An id.
pub(crate) fn id() -> impl Strategy<Value = String> {
    "[a-z0-9-]{1,8}"
}

/// An id or the empty string.
pub(crate) fn maybe_id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), id()]
}

/// Any JSON.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            btree_map("[a-z]{1,3}", inner, 0..3).prop_map(|fields| Value::Object(fields.into())),
        ]
    })
}

/// Metadata or none.
pub(crate) fn metadata() -> impl Strategy<Value = Option<Struct>> {
    option::of(btree_map("[a-z]{1,3}|mediaType", value(), 1..3).prop_map(Struct::from))
}

/// A part with content.
pub(crate) fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        text().prop_map(Part::text),
        vec(any::<u8>(), 0..5).prop_map(Part::raw),
        "https://[a-z]{1,5}".prop_map(Part::url),
        value().prop_map(Part::data),
    ];
    let names = (prop_oneof![Just(""), Just("text/x")], prop_oneof![Just(""), Just("x.txt")]);
    (content, names, metadata()).prop_map(|(part, (media_type, filename), metadata)| Part {
        media_type: media_type.into(),
        filename: filename.into(),
        metadata,
        ..part
    })
}

/// Changes a part as a round trip through the metadata does: only files have a media type and a
/// file name.
pub(crate) fn through_metadata(part: &mut Part) {
    if let Some(Content::Text(_) | Content::Data(_)) = part.content {
        part.metadata = with_lost_members(part);
        part.media_type.clear();
        part.filename.clear();
        *part = with_found_members(part.clone());
    }
}

/// A message with any role.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (id(), maybe_id(), maybe_id());
    let lists = (vec(id(), 0..3), vec(id(), 0..3));
    (role, ids, vec(part(), 1..4), lists, metadata()).prop_map(
        |(role, (message_id, context_id, task_id), parts, lists, metadata)| Message {
            message_id,
            context_id,
            task_id,
            role: role.into(),
            parts,
            metadata,
            extensions: lists.0,
            reference_task_ids: lists.1,
        },
    )
}

/// An artifact with an id.
pub(crate) fn artifact() -> impl Strategy<Value = Artifact> {
    (id(), text(), text(), vec(part(), 1..3), vec(id(), 0..2), metadata()).prop_map(
        |(artifact_id, name, description, parts, extensions, metadata)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

/// Any valid task state.
pub(crate) fn state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Submitted),
        Just(TaskState::Working),
        Just(TaskState::Completed),
        Just(TaskState::Failed),
        Just(TaskState::Canceled),
        Just(TaskState::InputRequired),
        Just(TaskState::Rejected),
        Just(TaskState::AuthRequired),
    ]
}

/// A status with any state.
pub(crate) fn status() -> impl Strategy<Value = TaskStatus> {
    let timestamp = option::of((0_i64..4_000_000_000_000).prop_map(Timestamp::from_millis));
    (state(), option::of(message()), timestamp).prop_map(|(state, message, timestamp)| TaskStatus {
        state: state.into(),
        message,
        timestamp,
    })
}

/// A task with a status and both ids.
pub(crate) fn task() -> impl Strategy<Value = Task> {
    let lists = (vec(artifact(), 0..3), vec(message(), 0..3));
    (id(), id(), status(), lists, metadata()).prop_map(
        |(id, context_id, status, (artifacts, history), metadata)| Task {
            id,
            context_id,
            status: Some(status),
            artifacts,
            history,
            metadata,
        },
    )
}

/// An event of any type.
pub(crate) fn event() -> impl Strategy<Value = StreamResponse> {
    let status_update =
        (id(), id(), status(), metadata()).prop_map(|(task_id, context_id, status, metadata)| {
            let status = Some(status);
            Payload::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata })
        });
    let flags = (any::<bool>(), any::<bool>());
    let artifact_update = (id(), id(), artifact(), flags, metadata()).prop_map(
        |(task_id, context_id, artifact, (append, last_chunk), metadata)| {
            Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact: Some(artifact),
                append,
                last_chunk,
                metadata,
            })
        },
    );
    let payload = prop_oneof![
        task().prop_map(Payload::Task),
        message().prop_map(Payload::Message),
        status_update,
        artifact_update,
    ];
    payload.prop_map(|payload| StreamResponse { payload: Some(payload) })
}

/// A webhook of a task.
pub(crate) fn push_config() -> impl Strategy<Value = TaskPushNotificationConfig> {
    let authentication = option::of(
        ("[A-Z][a-z]{1,5}", text())
            .prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials }),
    );
    (maybe_id(), id(), "https://[a-z]{1,5}", text(), authentication).prop_map(
        |(id, task_id, url, token, authentication)| TaskPushNotificationConfig {
            tenant: String::new(),
            id,
            task_id,
            url,
            token,
            authentication,
        },
    )
}

/// A send request without a tenant.
pub(crate) fn send_request() -> impl Strategy<Value = SendMessageRequest> {
    let webhook = option::of(
        push_config()
            .prop_map(|config| TaskPushNotificationConfig { task_id: String::new(), ..config }),
    );
    let configuration = (vec(id(), 0..3), webhook, option::of(0..100_i32), any::<bool>()).prop_map(
        |(accepted_output_modes, task_push_notification_config, history_length, at_once)| {
            SendMessageConfiguration {
                accepted_output_modes,
                task_push_notification_config,
                history_length,
                return_immediately: at_once,
            }
        },
    );
    (message(), option::of(configuration), metadata()).prop_map(
        |(message, configuration, metadata)| SendMessageRequest {
            tenant: String::new(),
            message: Some(Message { role: Role::User.into(), ..message }),
            configuration,
            metadata,
        },
    )
}

/// A card without security, with distinct interfaces of the given version.
pub(crate) fn card(version: &'static str) -> impl Strategy<Value = AgentCard> {
    let interfaces = vec(prop_oneof![Just("JSONRPC"), Just("GRPC"), Just("HTTP+JSON")], 1..4)
        .prop_map(move |bindings| {
            let interface = |(index, binding): (usize, &str)| AgentInterface {
                url: format!("https://host-{index}"),
                protocol_binding: binding.into(),
                tenant: String::new(),
                protocol_version: version.into(),
            };
            bindings.into_iter().enumerate().map(interface).collect::<Vec<_>>()
        });
    let skill = (id(), text(), text(), vec(text(), 0..3), vec(text(), 0..2)).prop_map(
        |(id, name, description, tags, examples)| AgentSkill {
            id,
            name,
            description,
            tags,
            examples,
            input_modes: vec!["text/plain".into()],
            ..AgentSkill::default()
        },
    );
    let flag = || option::of(any::<bool>());
    let extension = (id(), text(), any::<bool>(), metadata()).prop_map(
        |(uri, description, required, params)| AgentExtension {
            uri,
            description,
            required,
            params,
        },
    );
    let capabilities = (flag(), flag(), flag(), vec(extension, 0..2)).prop_map(
        |(streaming, push_notifications, extended_agent_card, extensions)| AgentCapabilities {
            streaming,
            push_notifications,
            extensions,
            extended_agent_card,
        },
    );
    let provider = option::of(
        (text(), text()).prop_map(|(url, organization)| AgentProvider { url, organization }),
    );
    let texts = (id(), text(), text(), option::of(id()), option::of(id()));
    (texts, interfaces, provider, capabilities, vec(skill, 0..3)).prop_map(
        |(texts, supported_interfaces, provider, capabilities, skills)| AgentCard {
            name: texts.0,
            description: texts.1,
            version: texts.2,
            documentation_url: texts.3,
            icon_url: texts.4,
            supported_interfaces,
            provider,
            capabilities: Some(capabilities),
            default_input_modes: vec!["text/plain".into()],
            default_output_modes: vec!["image/png".into(), "text/plain".into()],
            skills,
            ..AgentCard::default()
        },
    )
}
