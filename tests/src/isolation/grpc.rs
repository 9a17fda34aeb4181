//! gRPC requests in each revision.

use a2a_core::{
    Message, Operation,
    ProtocolVersion::{self, V0_2, V0_3, V1_0, V1Draft},
    v1,
};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::Method;
use prost::Message as _;

use super::{
    probe::{Probe, Target},
    wire::WireRequest,
};

pub(super) fn request(
    revision: ProtocolVersion,
    probe: Probe,
    target: &Target,
) -> Option<WireRequest> {
    let mut headers = target.headers(probe);
    headers.push(("content-type", "application/grpc".to_owned()));
    headers.push(("te", "trailers".to_owned()));
    let (path, message) = match revision {
        V1_0 => {
            headers.push(("a2a-version", "1.0".to_owned()));
            let name = probe.operation().name();
            (format!("/lf.a2a.v1.A2AService/{name}"), current(probe, target))
        }
        V1Draft | V0_3 | V0_2 => {
            let version = match revision {
                V1Draft => "1.0",
                V0_3 => "0.3",
                _ => "0.2.5",
            };
            headers.push(("a2a-version", version.to_owned()));
            let name = older_name(revision, probe.operation())?;
            (format!("/a2a.v1.A2AService/{name}"), older(probe, target))
        }
        ProtocolVersion::V0_1 => return None,
    };
    Some(WireRequest { method: Method::POST, path, headers, body: framed(&message), http2: true })
}

/// A message with its prefix.
fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(message.len() + 5);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).expect("a small message"));
    frame.put_slice(message);
    frame.freeze()
}

fn current(probe: Probe, target: &Target) -> Vec<u8> {
    let tenant = target.tenant.clone();
    let (id, task_id) = (target.task.clone(), target.task.clone());
    let config = target.config.clone();
    match probe {
        Probe::Send | Probe::Stream => {
            let mut message = Message::user(target.text.clone());
            message.message_id = "m".to_owned();
            message.task_id = task_id;
            message.context_id.clone_from(&target.context);
            if !target.reference.is_empty() {
                message.reference_task_ids.push(target.reference.clone());
            }
            let message = Some(message);
            v1::SendMessageRequest { tenant, message, ..Default::default() }.encode_to_vec()
        }
        Probe::Get => v1::GetTaskRequest { tenant, id, ..Default::default() }.encode_to_vec(),
        Probe::List => v1::ListTasksRequest {
            tenant,
            context_id: target.context.clone(),
            page_token: target.page_token.clone(),
            page_size: target.page_size.and_then(|size| i32::try_from(size).ok()),
            ..Default::default()
        }
        .encode_to_vec(),
        Probe::Cancel => v1::CancelTaskRequest { tenant, id, ..Default::default() }.encode_to_vec(),
        Probe::Subscribe | Probe::Resume => {
            v1::SubscribeToTaskRequest { tenant, id }.encode_to_vec()
        }
        Probe::CreateConfig => v1::TaskPushNotificationConfig {
            tenant,
            task_id,
            id: config,
            url: target.webhook.clone(),
            ..Default::default()
        }
        .encode_to_vec(),
        Probe::GetConfig => {
            v1::GetTaskPushNotificationConfigRequest { tenant, task_id, id: config }.encode_to_vec()
        }
        Probe::ListConfigs => {
            v1::ListTaskPushNotificationConfigsRequest { tenant, task_id, ..Default::default() }
                .encode_to_vec()
        }
        Probe::DeleteConfig => {
            v1::DeleteTaskPushNotificationConfigRequest { tenant, task_id, id: config }
                .encode_to_vec()
        }
        Probe::Card => v1::GetExtendedAgentCardRequest { tenant }.encode_to_vec(),
    }
}

/// The name of an operation in `a2a.v1`; `None` if the revision does not have it.
fn older_name(revision: ProtocolVersion, operation: Operation) -> Option<&'static str> {
    use Operation::{
        CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
        GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig,
        ListTaskPushNotificationConfigs, ListTasks, SendMessage, SendStreamingMessage,
        SubscribeToTask,
    };
    Some(match (operation, revision) {
        (SendMessage, _) => "SendMessage",
        (SendStreamingMessage, _) => "SendStreamingMessage",
        (GetTask, _) => "GetTask",
        (ListTasks, V1Draft) => "ListTasks",
        (ListTasks, _) => return None,
        (CancelTask, _) => "CancelTask",
        (SubscribeToTask, V1Draft) => "SubscribeToTask",
        (SubscribeToTask, _) => "TaskSubscription",
        (CreateTaskPushNotificationConfig, V1Draft) => "SetTaskPushNotificationConfig",
        (CreateTaskPushNotificationConfig, V0_3) => "CreateTaskPushNotificationConfig",
        (CreateTaskPushNotificationConfig, _) => "CreateTaskPushNotification",
        (GetTaskPushNotificationConfig, V0_2) => "GetTaskPushNotification",
        (GetTaskPushNotificationConfig, _) => "GetTaskPushNotificationConfig",
        (ListTaskPushNotificationConfigs, V0_2) => "ListTaskPushNotification",
        (ListTaskPushNotificationConfigs, _) => "ListTaskPushNotificationConfig",
        (DeleteTaskPushNotificationConfig, _) => "DeleteTaskPushNotificationConfig",
        (GetExtendedAgentCard, V1Draft) => "GetExtendedAgentCard",
        (GetExtendedAgentCard, _) => "GetAgentCard",
    })
}

/// A request of `a2a.v1`, which uses resource names, by field number.
fn older(probe: Probe, target: &Target) -> Vec<u8> {
    let task = format!("tasks/{}", target.task);
    let config = format!("{task}/pushNotificationConfigs/{}", target.config);
    match probe {
        Probe::Send | Probe::Stream => {
            let message = Fields::default()
                .text(1, "m")
                .text(2, &target.context)
                .text(3, &target.task)
                .number(4, 1)
                .message(5, Fields::default().text(1, &target.text))
                .text(8, &target.reference);
            let blocking = Fields::default().number(4, 1);
            Fields::default().message(1, message).message(2, blocking)
        }
        Probe::Get | Probe::Cancel | Probe::Subscribe | Probe::Resume | Probe::ListConfigs => {
            Fields::default().text(1, &task)
        }
        Probe::List => Fields::default().text(1, &target.context).text(4, &target.page_token),
        Probe::CreateConfig => {
            let webhook = Fields::default().text(1, &target.config).text(2, &target.webhook);
            let named = Fields::default().text(1, &config).message(2, webhook);
            Fields::default().text(1, &task).text(2, &target.config).message(3, named)
        }
        Probe::GetConfig | Probe::DeleteConfig => Fields::default().text(1, &config),
        Probe::Card => Fields::default(),
    }
    .0
}

/// A protobuf message, built field by field.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn text(mut self, number: u32, text: &str) -> Self {
        if !text.is_empty() {
            prost::encoding::string::encode(number, &text.to_owned(), &mut self.0);
        }
        self
    }

    fn number(mut self, number: u32, value: u64) -> Self {
        prost::encoding::uint64::encode(number, &value, &mut self.0);
        self
    }

    fn message(mut self, number: u32, message: Self) -> Self {
        prost::encoding::bytes::encode(number, &message.0, &mut self.0);
        self
    }
}
