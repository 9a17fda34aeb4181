//! Texts that a store could not write are rejected before an operation begins, and a write that a
//! store rejects is not tried again.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{
    Error, ErrorKind, Message,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
    well_known::Timestamp,
};
use a2a_kit_operations::{
    Agent as _, AgentExecutor, BoxError, Call, Caller, Engine, MemoryStore, RequestContext, Scope,
    TaskUpdater, forward_store,
    store::{
        Committed, LeaseStore, MAX_ID_BYTES, MAX_TENANT_BYTES, NewTask, PushStore, StoreError,
        TaskStore, Transition,
    },
};
use async_trait::async_trait;

struct Done;

impl AgentExecutor for Done {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.complete("done").await?;
        Ok(())
    }
}

fn engine() -> Engine {
    Engine::builder(AgentCard::new("Done", "Is done"), Done).build()
}

/// The only field that an error names.
fn field(error: Option<Error>) -> String {
    let error = error.expect("a text that is too long, or has a NUL");
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error:?}");
    let fields: Vec<_> = error.violations().iter().map(|violation| &*violation.field).collect();
    fields.join(" ")
}

fn message() -> Message {
    Message::user("hello")
}

fn send(message: Message) -> SendMessageRequest {
    SendMessageRequest { message: Some(message), ..SendMessageRequest::default() }
}

/// A config with a URL, so that only its ids are at fault.
fn config(task_id: &str, id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: "https://example.com".into(),
        ..TaskPushNotificationConfig::default()
    }
}

#[tokio::test]
async fn ids_that_cannot_be_stored_are_rejected_by_every_operation() {
    let engine = engine();
    for id in ["x".repeat(MAX_ID_BYTES + 1), "a\0b".into()] {
        let named = id.clone();
        macro_rules! rejected {
            ($operation:ident $request:expr) => {
                field(engine.$operation(Call::new($request)).await.err())
            };
        }
        let long = send(message().with_task_id(&id));
        assert_eq!(rejected!(send_message long.clone()), "message.taskId");
        assert_eq!(rejected!(send_streaming_message long), "message.taskId");
        let long = send(message().with_context_id(&named));
        assert_eq!(rejected!(send_message long), "message.contextId");
        let long = send(Message { message_id: named.clone(), ..message() });
        assert_eq!(rejected!(send_message long), "message.messageId");
        let mut long = send(message());
        long.configuration = Some(SendMessageConfiguration {
            task_push_notification_config: Some(config("", &named)),
            ..SendMessageConfiguration::default()
        });
        let path = "configuration.taskPushNotificationConfig.id";
        assert_eq!(rejected!(send_message long), path);
        let long = GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() };
        assert_eq!(rejected!(get_task long), "id");
        let long = CancelTaskRequest { id: id.clone(), ..CancelTaskRequest::default() };
        assert_eq!(rejected!(cancel_task long), "id");
        let long = SubscribeToTaskRequest { id: id.clone(), ..SubscribeToTaskRequest::default() };
        assert_eq!(rejected!(subscribe_to_task long), "id");
        let long = ListTasksRequest { context_id: named.clone(), ..ListTasksRequest::default() };
        assert_eq!(rejected!(list_tasks long), "contextId");
        let long = config(&id, &named);
        assert_eq!(rejected!(create_task_push_notification_config long), "taskId id");
        let long = GetTaskPushNotificationConfigRequest {
            task_id: id.clone(),
            id: named.clone(),
            ..GetTaskPushNotificationConfigRequest::default()
        };
        assert_eq!(rejected!(get_task_push_notification_config long), "taskId id");
        let long = ListTaskPushNotificationConfigsRequest {
            task_id: id.clone(),
            ..ListTaskPushNotificationConfigsRequest::default()
        };
        assert_eq!(rejected!(list_task_push_notification_configs long), "taskId");
        let long = DeleteTaskPushNotificationConfigRequest {
            task_id: id.clone(),
            id: named.clone(),
            ..DeleteTaskPushNotificationConfigRequest::default()
        };
        assert_eq!(rejected!(delete_task_push_notification_config long), "taskId id");
        let mut call = Call::new(send(message()));
        call.context.idempotency_key = Some(named.clone());
        assert_eq!(field(engine.send_message(call).await.err()), "Idempotency-Key");
    }
    for tenant in ["x".repeat(MAX_TENANT_BYTES + 1), "a\0b".into()] {
        let long = SendMessageRequest { tenant: tenant.clone(), ..send(message()) };
        assert_eq!(field(engine.send_message(Call::new(long)).await.err()), "tenant");
        let long = ListTasksRequest { tenant, ..ListTasksRequest::default() };
        assert_eq!(field(engine.list_tasks(Call::new(long)).await.err()), "tenant");
    }
    for owner in ["x".repeat(MAX_ID_BYTES + 1), "a\0b".into()] {
        let mut call = Call::new(send(message()));
        call.context.caller = Caller::authenticated(owner);
        let error = engine.send_message(call).await.expect_err("no store has such an owner");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    }
}

#[tokio::test]
async fn texts_at_the_bounds_are_accepted() {
    let engine = engine();
    // Clients of 0.1 choose ids of this length, which are no ids of stored tasks.
    let get = GetTaskRequest { id: "x".repeat(MAX_ID_BYTES), ..GetTaskRequest::default() };
    let error = engine.get_task(Call::new(get)).await.expect_err("there is no such task");
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    let longest = "x".repeat(MAX_ID_BYTES);
    let message = Message { message_id: longest.clone(), ..message().with_context_id(&longest) };
    let request = SendMessageRequest { tenant: "x".repeat(MAX_TENANT_BYTES), ..send(message) };
    let mut call = Call::new(request);
    call.context.caller = Caller::authenticated(longest.as_str());
    call.context.idempotency_key = Some(longest);
    engine.send_message(call).await.expect("nothing is too long");
}

#[tokio::test]
async fn filters_out_of_range_are_rejected() {
    let engine = engine();
    for (seconds, nanos) in [(i64::MAX, 0), (i64::MIN, 0), (253_402_300_800, 0), (0, 1_000_000_000)]
    {
        let since = Some(Timestamp { seconds, nanos });
        let request =
            ListTasksRequest { status_timestamp_after: since, ..ListTasksRequest::default() };
        let error = engine.list_tasks(Call::new(request)).await.err();
        assert_eq!(field(error), "statusTimestampAfter", "{since:?}");
    }
}

/// Rejects one kind of write, and counts them.
#[derive(Debug)]
struct Rejecting {
    store: MemoryStore,
    rejects_commits: bool,
    writes: Arc<AtomicUsize>,
}

impl Rejecting {
    fn reject(&self) -> StoreError {
        self.writes.fetch_add(1, Ordering::SeqCst);
        StoreError::rejected("the value is too long")
    }
}

#[async_trait]
impl TaskStore for Rejecting {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        if self.rejects_commits { self.store.insert(scope, new).await } else { Err(self.reject()) }
    }

    async fn commit(&self, _: &Scope, _: Transition) -> Result<Committed, StoreError> {
        Err(self.reject())
    }

    forward_store! {
        TaskStore: this => this.store;
        get, load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key, sweep,
        probe, close,
    }
}

impl LeaseStore for Rejecting {
    forward_store!(LeaseStore: this => this.store);
}

impl PushStore for Rejecting {
    forward_store!(PushStore: this => this.store);
}

/// Starts a task before it completes.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        updates.complete("done").await?;
        Ok(())
    }
}

#[tokio::test]
async fn write_that_the_store_rejects_is_not_tried_again() {
    for rejects_commits in [false, true] {
        let writes = Arc::<AtomicUsize>::default();
        let store =
            Rejecting { store: MemoryStore::new(), rejects_commits, writes: Arc::clone(&writes) };
        let card = AgentCard::new("Worker", "Works");
        let engine = Engine::builder(card, Worker).store(store).build();
        let error = engine.send_message(Call::new(send(message()))).await.expect_err("rejected");
        assert_eq!(error.kind(), ErrorKind::Internal, "{error:?}");
        assert!(!error.is_transient());
        assert_eq!(writes.load(Ordering::SeqCst), 1);
    }
}
