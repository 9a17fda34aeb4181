//! Callers of a gateway whose upstream agent sees one caller.
#![allow(
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::sync::{Arc, Mutex};

use a2a_core::{
    AgentCard, Error, ErrorKind, Message, Part, Result, Task, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest,
        TaskPushNotificationConfig, TaskStatus, send_message_response::Payload,
    },
};
use a2a_kit_gateway::{Forward, Isolation, OwnerIndex, Tenants};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Caller, CallerLimits, Engine, EngineConfig, EventStream,
    MemoryStore, Reply, RequestContext, TaskUpdater, async_trait, forward_agent,
};
use futures_util::StreamExt as _;

/// Asks once, and fails a message that says so.
struct Talk;

impl AgentExecutor for Talk {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        match context.text().as_str() {
            "hello" => Ok(updates.complete("hello").await?),
            _ => Ok(updates.require_input("what else?").await?),
        }
    }
}

fn engine() -> Engine {
    Engine::new(AgentCard::new("Talk", "Talks").with_streaming(true), Talk)
}

fn gateway() -> Forward<Engine> {
    Forward::new(engine())
}

fn call<R>(caller: &str, request: R) -> Call<R> {
    let mut call = Call::new(request);
    call.context.caller =
        if caller.is_empty() { Caller::ANONYMOUS } else { Caller::authenticated(caller) };
    call
}

fn message(text: &str) -> Message {
    Message::user(text)
}

fn send(message: Message) -> SendMessageRequest {
    SendMessageRequest { message: Some(message), ..SendMessageRequest::default() }
}

async fn begin(agent: &impl Agent, caller: &str, text: &str) -> Task {
    task(agent.send_message(call(caller, send(message(text)))).await.unwrap())
}

fn task(reply: Reply<SendMessageResponse>) -> Task {
    match reply.response.payload {
        Some(Payload::Task(task)) => task,
        other => unreachable!("not a task: {other:?}"),
    }
}

async fn ids(agent: &impl Agent, caller: &str, request: ListTasksRequest) -> Vec<String> {
    let listed = agent.list_tasks(call(caller, request)).await.unwrap().response;
    assert_eq!(usize::try_from(listed.total_size).unwrap(), listed.tasks.len());
    listed.tasks.into_iter().map(|task| task.id).collect()
}

async fn get(agent: &impl Agent, caller: &str, id: &str) -> Result<Arc<Task>> {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    Ok(agent.get_task(call(caller, request)).await?.response)
}

/// The errors of every operation that names a task.
async fn errors(agent: &impl Agent, caller: &str, id: &str) -> Vec<(&'static str, Error)> {
    let of = |message: Message| call(caller, send(message.with_task_id(id)));
    let config = TaskPushNotificationConfig {
        task_id: id.into(),
        url: "https://hooks.example/".into(),
        ..TaskPushNotificationConfig::default()
    };
    let mut with_config = send(message("more"));
    with_config.configuration = Some(SendMessageConfiguration {
        task_push_notification_config: Some(config.clone()),
        ..SendMessageConfiguration::default()
    });
    let (id, tenant) = (id.to_owned(), String::new());
    let named = (id.clone(), "config".to_owned());
    vec![
        ("send", agent.send_message(of(message("more"))).await.unwrap_err()),
        ("stream", agent.send_streaming_message(of(message("more"))).await.unwrap_err()),
        ("webhook of a send", agent.send_message(call(caller, with_config)).await.unwrap_err()),
        ("get", get(agent, caller, &id).await.unwrap_err()),
        ("cancel", {
            let request = CancelTaskRequest { id: id.clone(), ..CancelTaskRequest::default() };
            agent.cancel_task(call(caller, request)).await.unwrap_err()
        }),
        ("subscribe", {
            let request = SubscribeToTaskRequest { id: id.clone(), tenant: tenant.clone() };
            agent.subscribe_to_task(call(caller, request)).await.unwrap_err()
        }),
        ("create webhook", {
            let call = call(caller, config);
            agent.create_task_push_notification_config(call).await.unwrap_err()
        }),
        ("get webhook", {
            let (task_id, id) = named.clone();
            let request =
                GetTaskPushNotificationConfigRequest { task_id, id, tenant: tenant.clone() };
            agent.get_task_push_notification_config(call(caller, request)).await.unwrap_err()
        }),
        ("list webhooks", {
            let request =
                ListTaskPushNotificationConfigsRequest { task_id: id, ..Default::default() };
            agent.list_task_push_notification_configs(call(caller, request)).await.unwrap_err()
        }),
        ("delete webhook", {
            let (task_id, id) = named;
            let request = DeleteTaskPushNotificationConfigRequest { task_id, id, tenant };
            agent.delete_task_push_notification_config(call(caller, request)).await.unwrap_err()
        }),
    ]
}

#[tokio::test]
async fn a_task_of_another_caller_is_as_unknown_as_none_in_every_operation() {
    let gateway = gateway();
    let anns = begin(&gateway, "ann", "ask").await;
    for stranger in ["bob", ""] {
        let never = errors(&gateway, stranger, "00000000").await;
        for ((operation, theirs), (_, never)) in
            errors(&gateway, stranger, &anns.id).await.into_iter().zip(never)
        {
            assert_eq!(theirs.kind(), ErrorKind::TaskNotFound, "{operation}: {theirs}");
            let masked = theirs.message().replace(&anns.id, "00000000");
            assert_eq!(masked, never.message(), "{operation}");
        }
        assert_eq!(ids(&gateway, stranger, ListTasksRequest::default()).await, [""; 0]);
    }
    assert_eq!(get(&gateway, "ann", &anns.id).await.unwrap().state(), TaskState::InputRequired);
    let mut own = message("hello");
    own.task_id.clone_from(&anns.id);
    let ended = task(gateway.send_message(call("ann", send(own))).await.unwrap());
    assert_eq!((ended.id, ended.history.len() > 1), (anns.id, true));
}

#[tokio::test]
async fn a_task_of_one_tenant_is_unknown_in_another() {
    let gateway = gateway();
    let mut request = send(message("ask"));
    request.tenant = "acme".into();
    let id = task(gateway.send_message(call("ann", request)).await.unwrap()).id;
    let error = get(&gateway, "ann", &id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    for tenant in ["\u{1}acme", &"x".repeat(513)] {
        let request = ListTasksRequest { tenant: tenant.into(), ..ListTasksRequest::default() };
        let error = gateway.list_tasks(call("ann", request)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
    }
}

#[tokio::test]
async fn a_task_that_the_gateway_did_not_begin_is_unknown() {
    let engine = engine();
    let before = begin(&engine, "", "ask").await;
    let gateway = Forward::new(engine);
    let error = get(&gateway, "", &before.id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    assert_eq!(ids(&gateway, "", ListTasksRequest::default()).await, [""; 0]);
}

#[tokio::test]
async fn one_idempotency_key_of_two_callers_is_two_keys() {
    let gateway = gateway();
    let sent = |caller: &str| {
        let request = send(Message { message_id: "m".into(), ..message("ask") });
        let mut call = call(caller, request);
        call.context.idempotency_key = Some("key".into());
        call
    };
    let anns = task(gateway.send_message(sent("ann")).await.unwrap()).id;
    let bobs = task(gateway.send_message(sent("bob")).await.unwrap()).id;
    assert_ne!(anns, bobs);
    assert_eq!(task(gateway.send_message(sent("ann")).await.unwrap()).id, anns, "a retry joins");
}

#[tokio::test]
async fn a_context_of_another_caller_is_a_new_one_with_the_same_id() {
    let upstream = engine();
    let gateway = Forward::new(upstream.clone());
    let anns = begin(&gateway, "ann", "hello").await;
    let of = |context: &str| message("hello").with_context_id(context);
    for context in [anns.context_id.as_str(), "made up by both"] {
        let sent = task(gateway.send_message(call("ann", send(of(context)))).await.unwrap());
        assert_eq!(sent.context_id, context);
        let mut seen = vec![get(&upstream, "", &sent.id).await.unwrap().context_id.clone()];
        for caller in ["bob", "zoe"] {
            let first = task(gateway.send_message(call(caller, send(of(context)))).await.unwrap());
            // Both times the same context, by way of the list too.
            let second = task(gateway.send_message(call(caller, send(of(context)))).await.unwrap());
            for sent in [&first, &second] {
                assert_eq!(sent.context_id, context, "{caller}");
                assert!(sent.history.iter().all(|message| message.context_id == context));
                assert_eq!(get(&gateway, caller, &sent.id).await.unwrap().context_id, context);
            }
            let upstreams = get(&upstream, "", &first.id).await.unwrap().context_id.clone();
            assert_eq!(upstreams, get(&upstream, "", &second.id).await.unwrap().context_id);
            assert!(!seen.contains(&upstreams), "{caller} joins {upstreams}");
            seen.push(upstreams);
            let own = ListTasksRequest { context_id: context.into(), ..Default::default() };
            assert_eq!(ids(&gateway, caller, own).await, [second.id, first.id]);
        }
        // The id that the upstream agent knows helps nobody else.
        for theirs in &seen[1..] {
            let sent = task(gateway.send_message(call("eve", send(of(theirs)))).await.unwrap());
            assert!(!seen.contains(&get(&upstream, "", &sent.id).await.unwrap().context_id));
        }
    }
    // Of events too.
    let events = gateway.send_streaming_message(call("bob", send(of(&anns.context_id)))).await;
    let events: Vec<_> = events.unwrap().response.map(Result::unwrap).collect().await;
    assert!(events.len() > 1);
    let texts = events.iter().map(|event| String::from_utf8(event.json().to_vec()).unwrap());
    for text in texts {
        assert!(text.contains(&anns.context_id), "{text}");
    }
}

#[tokio::test]
async fn references_to_tasks_of_others_are_not_forwarded() {
    let upstream = engine();
    let gateway = Forward::new(upstream.clone());
    let anns = begin(&gateway, "ann", "hello").await.id;
    let bobs = begin(&gateway, "bob", "hello").await.id;
    let mut refers = message("hello");
    refers.reference_task_ids = vec![anns, bobs.clone(), "unknown".into()];
    let sent = task(gateway.send_message(call("bob", send(refers.clone()))).await.unwrap());
    let forwarded = get(&upstream, "", &sent.id).await.unwrap();
    assert_eq!(forwarded.history[0].reference_task_ids, [bobs]);
    refers.reference_task_ids = vec!["t".into(); 101];
    let error = gateway.send_message(call("bob", send(refers))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn pages_totals_filters_and_order_are_those_of_the_callers_own_tasks() {
    let gateway = gateway();
    let mut anns = Vec::new();
    for index in 0..7 {
        let text = if index % 2 == 0 { "ask" } else { "hello" };
        anns.push(begin(&gateway, "ann", text).await.id);
        begin(&gateway, "bob", "hello").await;
    }
    anns.reverse();
    assert_eq!(ids(&gateway, "ann", ListTasksRequest::default()).await, anns);
    let mut waiting = ListTasksRequest::default();
    waiting.set_status(TaskState::InputRequired);
    let expected: Vec<_> = anns.iter().step_by(2).cloned().collect();
    assert_eq!(ids(&gateway, "ann", waiting).await, expected);

    let (mut listed, mut request) = (Vec::new(), ListTasksRequest::default());
    request.page_size = Some(3);
    request.history_length = Some(1);
    request.include_artifacts = Some(true);
    loop {
        let page = gateway.list_tasks(call("ann", request.clone())).await.unwrap().response;
        assert_eq!((page.total_size, page.page_size), (7, 3));
        assert!(page.tasks.iter().all(|task| task.history.len() == 1), "as asked for: {page:?}");
        listed.extend(page.tasks.into_iter().map(|task| task.id));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
        // A position of ann's says nothing of bob's tasks.
        let bobs = gateway.list_tasks(call("bob", request.clone())).await.unwrap().response;
        assert!(bobs.tasks.iter().all(|task| !anns.contains(&task.id)));
    }
    assert_eq!(listed, anns);
    for page_size in [0, 101] {
        request.page_size = Some(page_size);
        let error = gateway.list_tasks(call("ann", request.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{page_size}");
    }
}

/// An upstream agent whose answers are made up.
#[derive(Clone)]
struct Odd {
    engine: Engine,
    answer: Arc<Mutex<Option<Payload>>>,
}

#[async_trait]
impl Agent for Odd {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let answer = self.answer.lock().unwrap().take();
        match answer {
            Some(payload) => Ok(Reply::new(SendMessageResponse { payload: Some(payload) })),
            None => self.engine.send_message(call).await,
        }
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let answer = self.answer.lock().unwrap().take();
        match answer {
            Some(Payload::Task(task)) => Ok(Reply::new(Arc::new(task))),
            _ => self.engine.get_task(call).await,
        }
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let answer = self.answer.lock().unwrap().take();
        let Some(Payload::Task(task)) = answer else {
            return self.engine.subscribe_to_task(call).await;
        };
        let payload = Some(a2a_core::v1::stream_response::Payload::Task(task));
        let event = a2a_kit_operations::Event::new(None, a2a_core::v1::StreamResponse { payload });
        Ok(Reply::new(EventStream::new(futures_util::stream::iter([Ok(event)]))))
    }

    forward_agent! {
        this => this.engine;
        send_streaming_message, list_tasks, cancel_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}

fn odd() -> (Odd, Forward<Odd>) {
    let odd = Odd { engine: engine(), answer: Arc::default() };
    (odd.clone(), Forward::new(odd))
}

#[tokio::test]
async fn answers_about_tasks_of_others_do_not_pass() {
    let (upstream, gateway) = odd();
    let anns = begin(&gateway, "ann", "ask").await;
    let bobs = begin(&gateway, "bob", "ask").await;
    let answers = || *upstream.answer.lock().unwrap() = Some(Payload::Task(anns.clone()));
    answers();
    let sent = gateway.send_message(call("bob", send(message("hello")))).await.unwrap_err();
    answers();
    let got = get(&gateway, "bob", &bobs.id).await.unwrap_err();
    answers();
    let request = SubscribeToTaskRequest { id: bobs.id.clone(), ..Default::default() };
    let mut events = gateway.subscribe_to_task(call("bob", request)).await.unwrap().response;
    let event = events.next().await.unwrap().unwrap_err();
    for error in [sent, got, event] {
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
        assert!(!error.to_string().contains(&anns.id), "{error}");
    }
    assert_eq!(ids(&gateway, "bob", ListTasksRequest::default()).await, [bobs.id]);
}

#[tokio::test]
async fn a_context_of_a_message_continues_for_its_caller_only() {
    let (upstream, gateway) = odd();
    let answer = Message::agent("hi").with_context_id("theirs").with_task_id("of nobody");
    *upstream.answer.lock().unwrap() = Some(Payload::Message(answer.clone()));
    let reply = gateway.send_message(call("ann", send(message("hello")))).await.unwrap();
    let Some(Payload::Message(said)) = reply.response.payload else { unreachable!() };
    assert_eq!((said.context_id.as_str(), said.task_id.as_str()), ("theirs", ""));
    for (caller, is_own) in [("ann", true), ("bob", false)] {
        let again = message("ask").with_context_id("theirs");
        let sent = task(gateway.send_message(call(caller, send(again))).await.unwrap());
        assert_eq!(sent.context_id, "theirs");
        let context = get(&upstream, "", &sent.id).await.unwrap().context_id.clone();
        assert_eq!(context == "theirs", is_own, "{caller}: {context}");
    }
    assert_eq!(ids(&gateway, "ann", ListTasksRequest::default()).await.len(), 1, "no messages");
}

#[tokio::test]
async fn lists_show_what_ended_unseen_and_what_the_agent_lost() {
    let (upstream, gateway) = odd();
    let open = |id: &str| Task {
        id: id.into(),
        status: Some(TaskStatus::now(TaskState::Working, None)),
        ..Task::default()
    };
    let own = message("hello");
    let ended = task(upstream.engine.send_message(Call::new(send(own))).await.unwrap());
    for id in [ended.id.as_str(), "lost"] {
        *upstream.answer.lock().unwrap() = Some(Payload::Task(open(id)));
        begin(&gateway, "ann", "hello").await;
    }
    let mut request = ListTasksRequest::default();
    request.set_status(TaskState::Completed);
    assert_eq!(ids(&gateway, "ann", request.clone()).await, [ended.id]);
    request.set_status(TaskState::Failed);
    assert_eq!(ids(&gateway, "ann", request).await, ["lost"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_its_share_of_the_index_until_its_tasks_are_swept() {
    let limits = CallerLimits::default().with_open_tasks(std::num::NonZeroUsize::new(2));
    let config = EngineConfig::default()
        .with_caller_limits(limits)
        .with_retention(Some(std::time::Duration::from_secs(60)));
    let index = OwnerIndex::new(Arc::new(MemoryStore::new()), config);
    let gateway = Forward::new(engine()).with_isolation(Isolation::Store(index));
    let first = begin(&gateway, "ann", "ask").await;
    begin(&gateway, "ann", "ask").await;
    let error = gateway.send_message(call("ann", send(message("ask")))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    begin(&gateway, "bob", "ask").await;
    let request = CancelTaskRequest { id: first.id.clone(), ..CancelTaskRequest::default() };
    gateway.cancel_task(call("ann", request)).await.unwrap();
    begin(&gateway, "ann", "ask").await;
    tokio::time::sleep(std::time::Duration::from_secs(180)).await;
    let error = get(&gateway, "ann", &first.id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound, "swept");
}

#[tokio::test]
async fn callers_with_tenants_of_their_own_are_apart_and_shared_ones_are_not() {
    for (isolation, is_shared) in
        [(Isolation::Tenant(Tenants::default()), false), (Isolation::Shared, true)]
    {
        let gateway = Forward::new(engine()).with_isolation(isolation);
        let anns = begin(&gateway, "ann", "ask").await.id;
        assert_eq!(get(&gateway, "ann", &anns).await.unwrap().id, anns);
        assert_eq!(get(&gateway, "bob", &anns).await.is_ok(), is_shared);
        let listed = ids(&gateway, "bob", ListTasksRequest::default()).await;
        assert_eq!(listed.len(), usize::from(is_shared));
    }
}

#[tokio::test]
async fn text_parts_pass_unchanged() {
    let mut long = message("ask");
    long.parts.push(Part::text("more"));
    let gateway = gateway();
    let sent = task(gateway.send_message(call("ann", send(long.clone()))).await.unwrap());
    assert_eq!(sent.history[0].parts, long.parts);
}
