//! Bounds of the texts by which stores find things, checked before an operation begins: what one
//! store could not write is refused with every store.

use a2a_core::{
    Error, ErrorKind, Result, Violation,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
    well_known::Timestamp,
};

use crate::{
    CallContext,
    store::{MAX_ID_BYTES, MAX_TENANT_BYTES},
};

/// The range of RFC 3339, in milliseconds since 1970.
const MIN_MILLIS: i64 = -62_135_596_800_000;
const MAX_MILLIS: i64 = 253_402_300_799_999;

/// A request with texts that become keys of a store.
pub(crate) trait Bounded {
    /// Visits the texts: the JSON path, the value, and its maximum length in bytes.
    fn texts(&self, visit: impl FnMut(&'static str, &str, usize));
}

macro_rules! bounded {
    ($($request:ident { $($name:literal: $member:ident <= $max:ident),* })+) => {
        $(impl Bounded for $request {
            fn texts(&self, mut visit: impl FnMut(&'static str, &str, usize)) {
                visit("tenant", &self.tenant, MAX_TENANT_BYTES);
                $(visit($name, &self.$member, $max);)*
            }
        })+
    };
}

bounded! {
    GetTaskRequest { "id": id <= MAX_ID_BYTES }
    ListTasksRequest { "contextId": context_id <= MAX_ID_BYTES }
    CancelTaskRequest { "id": id <= MAX_ID_BYTES }
    SubscribeToTaskRequest { "id": id <= MAX_ID_BYTES }
    TaskPushNotificationConfig { "taskId": task_id <= MAX_ID_BYTES, "id": id <= MAX_ID_BYTES }
    GetTaskPushNotificationConfigRequest {
        "taskId": task_id <= MAX_ID_BYTES, "id": id <= MAX_ID_BYTES
    }
    ListTaskPushNotificationConfigsRequest { "taskId": task_id <= MAX_ID_BYTES }
    DeleteTaskPushNotificationConfigRequest {
        "taskId": task_id <= MAX_ID_BYTES, "id": id <= MAX_ID_BYTES
    }
    GetExtendedAgentCardRequest {}
}

impl Bounded for SendMessageRequest {
    fn texts(&self, mut visit: impl FnMut(&'static str, &str, usize)) {
        visit("tenant", &self.tenant, MAX_TENANT_BYTES);
        if let Some(message) = &self.message {
            visit("message.messageId", &message.message_id, MAX_ID_BYTES);
            visit("message.taskId", &message.task_id, MAX_ID_BYTES);
            visit("message.contextId", &message.context_id, MAX_ID_BYTES);
        }
        let configuration = self.configuration.as_ref();
        let config = configuration
            .and_then(|configuration| configuration.task_push_notification_config.as_ref());
        if let Some(config) = config {
            let field = "configuration.taskPushNotificationConfig.id";
            visit(field, &config.id, MAX_ID_BYTES);
        }
    }
}

/// Checks the texts of a call that become keys of a store.
pub(crate) fn check(context: &CallContext, request: &impl Bounded) -> Result<()> {
    let owner = context.caller.subject().unwrap_or_default();
    if let Some(problem) = problem(owner, MAX_ID_BYTES) {
        // Not a member of the request.
        let message = format!("the subject of the credentials {problem}");
        return Err(Error::new(ErrorKind::PermissionDenied, message));
    }
    let key = context.idempotency_key.as_deref().unwrap_or_default();
    let mut violations = Vec::new();
    let mut check = |field, text: &str, max| {
        violations.extend(problem(text, max).map(|problem| Violation::new(field, problem)));
    };
    request.texts(&mut check);
    check("Idempotency-Key", key, MAX_ID_BYTES);
    if violations.is_empty() { Ok(()) } else { Err(Error::from_violations(violations)) }
}

/// Checks a time by which tasks are filtered: bindings without text can carry any number.
pub(crate) fn check_time(field: &str, time: Option<Timestamp>) -> Result<()> {
    let is_valid = |time: Timestamp| {
        (0..1_000_000_000).contains(&time.nanos)
            && (MIN_MILLIS..=MAX_MILLIS).contains(&time.as_millis())
    };
    if time.is_none_or(is_valid) {
        return Ok(());
    }
    Err(Error::invalid_params(field, "must be in the years 1 to 9999"))
}

/// Whether a text can be the id of a task or of a webhook.
pub(crate) fn is_possible_id(id: &str) -> bool {
    problem(id, MAX_ID_BYTES).is_none()
}

fn problem(text: &str, max: usize) -> Option<String> {
    if text.len() > max {
        Some(format!("must be at most {max} bytes long"))
    } else if text.as_bytes().contains(&0) {
        Some("must not contain NUL".to_owned())
    } else {
        None
    }
}
