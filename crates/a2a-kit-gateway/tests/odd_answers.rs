//! Answers of an upstream agent, and failures of the index, that must not harm callers.
#![allow(
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Message, Result, Task, TaskState,
    v1::{
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig,
        TaskStatus, TaskStatusUpdateEvent, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_gateway::{Forward, Isolation, OwnerIndex};
use a2a_kit_operations::{
    Agent, Call, Caller, Engine, EngineConfig, Event, EventStream, MemoryStore, Reply, Scope,
    agent_fn, async_trait, forward_agent, forward_store,
    store::{Committed, NewTask, StoreError, TaskStore},
};
use futures_util::{StreamExt as _, stream};

/// An upstream agent whose answers are made up.
#[derive(Clone)]
struct Odd {
    engine: Engine,
    /// The next answers: what a message or a subscription yields; otherwise the first of them.
    answers: Arc<Mutex<VecDeque<Vec<Payload>>>>,
    calls: Arc<AtomicUsize>,
}

impl Odd {
    fn new() -> Self {
        let engine =
            Engine::new(AgentCard::new("Odd", "Errs"), agent_fn(async |text: String| text));
        Self { engine, answers: Arc::default(), calls: Arc::default() }
    }

    fn answers(&self, payloads: impl IntoIterator<Item = Payload>) {
        self.answers.lock().unwrap().push_back(payloads.into_iter().collect());
    }

    fn next(&self) -> Vec<Payload> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.answers.lock().unwrap().pop_front().unwrap_or_default()
    }

    fn stream(&self) -> Reply<EventStream> {
        let event = |payload| Ok(Event::new(None, StreamResponse { payload: Some(payload) }));
        let events = stream::iter(self.next().into_iter().map(event));
        Reply::new(EventStream::new(events.chain(stream::pending())))
    }
}

#[async_trait]
impl Agent for Odd {
    async fn send_message(
        &self,
        _: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let payload = match self.next().into_iter().next() {
            Some(Payload::Task(task)) => send_message_response::Payload::Task(task),
            Some(Payload::Message(message)) => send_message_response::Payload::Message(message),
            other => unreachable!("no answer to a message: {other:?}"),
        };
        Ok(Reply::new(SendMessageResponse { payload: Some(payload) }))
    }

    async fn send_streaming_message(
        &self,
        _: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        Ok(self.stream())
    }

    async fn subscribe_to_task(
        &self,
        _: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        Ok(self.stream())
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        match self.next().into_iter().next() {
            Some(Payload::Task(task)) => Ok(Reply::new(Arc::new(task))),
            _ => Err(Error::task_not_found(&call.request.id)),
        }
    }

    async fn get_task_push_notification_config(
        &self,
        _: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        Ok(Reply::new(TaskPushNotificationConfig { id: "any".into(), ..Default::default() }))
    }

    forward_agent! {
        this => this.engine;
        list_tasks, cancel_task, create_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}

fn odd() -> (Odd, Forward<Odd>) {
    let odd = Odd::new();
    (odd.clone(), Forward::new(odd))
}

fn call<R>(caller: &str, request: R) -> Call<R> {
    let mut call = Call::new(request);
    call.context.caller = Caller::authenticated(caller);
    call
}

fn send() -> SendMessageRequest {
    SendMessageRequest { message: Some(Message::user("hello")), ..SendMessageRequest::default() }
}

fn task(id: &str, context: &str) -> Task {
    Task {
        id: id.into(),
        context_id: context.into(),
        status: Some(TaskStatus::now(TaskState::Working, None)),
        ..Task::default()
    }
}

fn working(id: &str, context: &str) -> Payload {
    Payload::StatusUpdate(TaskStatusUpdateEvent {
        task_id: id.into(),
        context_id: context.into(),
        status: Some(TaskStatus::now(TaskState::Working, None)),
        ..TaskStatusUpdateEvent::default()
    })
}

/// The task of a message that the agent answers with it.
async fn begin(gateway: &Forward<Odd>, odd: &Odd, caller: &str, task: Task) -> Result<Task> {
    odd.answers([Payload::Task(task)]);
    let reply = gateway.send_message(call(caller, send())).await?.response;
    match reply.payload {
        Some(send_message_response::Payload::Task(task)) => Ok(task),
        other => unreachable!("not a task: {other:?}"),
    }
}

async fn events(gateway: &Forward<Odd>, caller: &str) -> EventStream {
    gateway.send_streaming_message(call(caller, send())).await.unwrap().response
}

async fn get(gateway: &Forward<Odd>, caller: &str, id: &str) -> Result<Arc<Task>> {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    Ok(gateway.get_task(call(caller, request)).await?.response)
}

async fn listed(gateway: &Forward<Odd>, caller: &str) -> Vec<(String, TaskState)> {
    let listed = gateway.list_tasks(call(caller, ListTasksRequest::default())).await.unwrap();
    listed.response.tasks.into_iter().map(|task| (task.id.clone(), task.state())).collect()
}

fn is_invalid<T: std::fmt::Debug>(answer: Result<T>, case: &str) {
    let kind = answer.as_ref().map_err(Error::kind);
    assert!(matches!(kind, Err(ErrorKind::InvalidAgentResponse)), "{case}: {answer:?}");
}

#[tokio::test]
async fn stream_that_changes_to_another_task_is_rejected_and_the_task_keeps_its_owner() {
    let (odd, gateway) = odd();
    for (first, second) in [("b1", "q1"), ("b2", "q2")] {
        odd.answers([Payload::Task(task(first, "")), working(second, "")]);
        let mut events = events(&gateway, "bob").await;
        events.next().await.unwrap().unwrap();
        is_invalid(events.next().await.unwrap(), second);
        assert_eq!(begin(&gateway, &odd, "ann", task(second, "")).await.unwrap().id, second);
        assert_eq!(get(&gateway, "bob", second).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
    // Also if the message continues a task.
    let mut more = send();
    more.message.as_mut().unwrap().task_id = "b1".into();
    odd.answers([Payload::Task(task("q3", ""))]);
    is_invalid(gateway.send_message(call("bob", more)).await, "a message to a task");
}

#[tokio::test]
async fn a_task_without_an_id_is_refused() {
    let (odd, gateway) = odd();
    is_invalid(begin(&gateway, &odd, "ann", task("", "")).await, "a task");
    odd.answers([working("", "")]);
    is_invalid(events(&gateway, "ann").await.next().await.unwrap(), "an event");
}

#[tokio::test]
async fn an_answer_in_a_context_of_another_caller_is_refused() {
    let (odd, gateway) = odd();
    begin(&gateway, &odd, "ann", task("a", "of ann")).await.unwrap();
    let said = Message::agent("hi").with_context_id("said to ann");
    odd.answers([Payload::Message(said)]);
    gateway.send_message(call("ann", send())).await.unwrap();
    begin(&gateway, &odd, "bob", task("b", "of bob")).await.unwrap();
    for context in ["of ann", "said to ann"] {
        is_invalid(begin(&gateway, &odd, "bob", task("new", context)).await, context);
        let said = Message::agent("hi").with_context_id(context);
        odd.answers([Payload::Message(said.clone())]);
        is_invalid(gateway.send_message(call("bob", send())).await, context);
        odd.answers([Payload::Message(said)]);
        is_invalid(events(&gateway, "bob").await.next().await.unwrap(), context);
        odd.answers([Payload::Task(task("b", context))]);
        is_invalid(get(&gateway, "bob", "b").await, context);
        odd.answers([Payload::Task(task("b", "of nobody"))]);
        is_invalid(get(&gateway, "bob", "b").await, "a task changes its context");
        // A caller's own id of a context is not that of the upstream agent.
        let mut named = send();
        named.message.as_mut().unwrap().context_id = context.into();
        odd.answers([Payload::Task(task("new", context))]);
        is_invalid(gateway.send_message(call("bob", named)).await, context);
        let again = begin(&gateway, &odd, "ann", task(&format!("{context}, again"), context)).await;
        assert_eq!(again.unwrap().context_id, context);
    }
}

#[tokio::test]
async fn messages_in_answers_mention_only_what_is_the_callers() {
    let (odd, gateway) = odd();
    begin(&gateway, &odd, "ann", task("a", "of ann")).await.unwrap();
    begin(&gateway, &odd, "bob", task("b", "of bob")).await.unwrap();
    let mut message = Message::agent("see").with_task_id("a").with_context_id("of ann");
    message.reference_task_ids = vec!["a".into(), "b".into(), "unknown".into(), "c".into()];
    let mut answer = task("c", "with c");
    answer.history = vec![message.clone(), Message::agent("own").with_task_id("b")];
    answer.status = Some(TaskStatus::now(TaskState::Working, Some(message.clone())));
    let checks = |message: &Message| {
        assert_eq!((message.task_id.as_str(), message.context_id.as_str()), ("", ""));
        assert_eq!(message.reference_task_ids, ["b", "c"]);
    };
    let begun = begin(&gateway, &odd, "bob", answer.clone()).await.unwrap();
    odd.answers([Payload::Task(answer)]);
    let got = get(&gateway, "bob", "c").await.unwrap();
    for task in [&begun, &*got] {
        checks(&task.history[0]);
        checks(task.status.as_ref().unwrap().message.as_ref().unwrap());
        assert_eq!(task.history[1].task_id, "b");
    }
    let Payload::StatusUpdate(mut update) = working("c", "with c") else { unreachable!() };
    update.status = Some(TaskStatus::now(TaskState::Working, Some(message)));
    odd.answers([Payload::StatusUpdate(update)]);
    let request = SubscribeToTaskRequest { id: "c".into(), ..Default::default() };
    let mut events = gateway.subscribe_to_task(call("bob", request)).await.unwrap().response;
    let event = events.next().await.unwrap().unwrap();
    let Some(Payload::StatusUpdate(update)) = event.payload() else { unreachable!() };
    checks(update.status.as_ref().unwrap().message.as_ref().unwrap());
}

#[tokio::test]
async fn a_webhook_that_names_no_task_is_refused() {
    let (odd, gateway) = odd();
    begin(&gateway, &odd, "bob", task("b", "")).await.unwrap();
    let request = GetTaskPushNotificationConfigRequest {
        task_id: "b".into(),
        id: "any".into(),
        ..GetTaskPushNotificationConfigRequest::default()
    };
    is_invalid(gateway.get_task_push_notification_config(call("bob", request)).await, "webhook");
}

#[tokio::test]
async fn a_task_that_was_not_found_for_a_while_is_listed_as_it_is_read() {
    for state in [TaskState::Completed, TaskState::Working] {
        let (odd, gateway) = odd();
        begin(&gateway, &odd, "ann", task("t", "")).await.unwrap();
        assert_eq!(listed(&gateway, "ann").await, [("t".to_owned(), TaskState::Failed)]);
        let mut found = task("t", "");
        found.status = Some(TaskStatus::now(state, None));
        odd.answers([Payload::Task(found.clone())]);
        assert_eq!(get(&gateway, "ann", "t").await.unwrap().state(), state);
        odd.answers([Payload::Task(found)]);
        assert_eq!(listed(&gateway, "ann").await, [("t".to_owned(), state)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_of_a_task_that_was_removed_ends() {
    let odd = Odd::new();
    let config = EngineConfig::default().with_parked_retention(Some(Duration::from_secs(60)));
    let index = OwnerIndex::new(Arc::new(MemoryStore::new()), config);
    let gateway = Forward::new(odd.clone()).with_isolation(Isolation::Store(index));
    let mut waiting = task("t", "");
    waiting.status = Some(TaskStatus::now(TaskState::InputRequired, None));
    odd.answers([Payload::Task(waiting)]);
    let mut events = events(&gateway, "ann").await;
    events.next().await.unwrap().unwrap();
    let end = tokio::time::timeout(Duration::from_secs(300), events.next()).await;
    let error = end.expect("it ends").unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    assert!(events.next().await.is_none());
}

/// A store that accepts no writes while it is full, and knows from a write whether it is.
#[derive(Debug, Default)]
struct Full {
    store: MemoryStore,
    is_full: AtomicBool,
    has_failed: AtomicBool,
}

impl Full {
    fn check(&self) -> Result<(), StoreError> {
        let is_full = self.is_full.load(Ordering::Relaxed);
        self.has_failed.store(is_full, Ordering::Relaxed);
        if is_full { Err(StoreError::Unwritable("full".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl TaskStore for Full {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        self.check()?;
        self.store.insert(scope, new).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        if self.has_failed.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }

    forward_store! {
        TaskStore: this => this.store;
        commit, get, load, replay, list, usage, open_tasks, claim_key, take_over_key,
        release_key, sweep, close,
    }
}

#[tokio::test]
async fn no_message_is_forwarded_after_a_failed_write_until_one_succeeds() {
    let odd = Odd::new();
    let store = Arc::new(Full::default());
    let index = OwnerIndex::new(store.clone(), EngineConfig::default());
    let gateway = Forward::new(odd.clone()).with_isolation(Isolation::Store(index.clone()));
    begin(&gateway, &odd, "ann", task("before", "")).await.unwrap();
    store.is_full.store(true, Ordering::Relaxed);
    begin(&gateway, &odd, "ann", task("lost", "")).await.unwrap_err();
    let calls = odd.calls.load(Ordering::Relaxed);
    for id in ["", "before"] {
        let mut message = send();
        message.message.as_mut().unwrap().task_id = id.into();
        gateway.send_message(call("ann", message.clone())).await.unwrap_err();
        let streamed = gateway.send_streaming_message(call("ann", message)).await;
        assert!(streamed.is_err(), "{id:?}");
    }
    assert_eq!(odd.calls.load(Ordering::Relaxed), calls, "none was forwarded");
    odd.answers([Payload::Task(task("before", ""))]);
    get(&gateway, "ann", "before").await.expect("reads go on");
    store.is_full.store(false, Ordering::Relaxed);
    begin(&gateway, &odd, "ann", task("after", "")).await.unwrap();
}
