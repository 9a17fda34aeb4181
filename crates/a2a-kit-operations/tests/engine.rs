//! An engine with misbehaving executors and readers.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Artifact, ErrorKind, Message, Part, Task, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentError, AgentExecutor, BoxError, Call, CallContext, Caller, CancelContext, Engine,
    EngineConfig, Event, EventId, EventStream, RequestContext, TaskUpdater, agent_fn, stream_fn,
};
use futures_util::{StreamExt as _, stream};
use tokio::sync::{Notify, mpsc};

fn card() -> AgentCard {
    AgentCard::new("Test", "An agent under test")
}

fn send(text: &str) -> Call<SendMessageRequest> {
    Call::new(SendMessageRequest {
        message: Some(Message::user(text)),
        ..SendMessageRequest::default()
    })
}

fn to_task(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Message::user(text).with_task_id(task_id);
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

fn at_once(mut call: Call<SendMessageRequest>) -> Call<SendMessageRequest> {
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    call
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

fn cancel(id: &str) -> Call<CancelTaskRequest> {
    Call::new(CancelTaskRequest { id: id.into(), ..CancelTaskRequest::default() })
}

fn subscribe(id: &str) -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: id.into(), ..SubscribeToTaskRequest::default() })
}

async fn get(engine: &Engine, id: &str) -> Arc<Task> {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    engine.get_task(Call::new(request)).await.expect("the task").response
}

async fn events(stream: EventStream) -> Vec<Event> {
    stream.map(|event| event.expect("no error")).collect().await
}

/// An executor made from a closure over the whole interface.
struct Script<F>(F);

impl<F, Fut> AgentExecutor for Script<F>
where
    F: Fn(RequestContext, TaskUpdater) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        (self.0)(context, updates).await
    }
}

#[tokio::test]
async fn closure_result_is_the_artifact_of_a_completed_task() {
    let engine = Engine::new(card(), agent_fn(async |text: String| format!("You said: {text}")));
    let task = task_of(&engine, send("hi")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.text(), "You said: hi");
    assert_eq!(task.history.len(), 1);
    assert_eq!(task.history[0].task_id, task.id);
    assert_eq!(*get(&engine, &task.id).await, task);
}

#[tokio::test]
async fn stream_starts_with_the_task_and_ends_at_the_final_status() {
    let words = |text: String| stream::iter(text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let engine = Engine::new(card(), stream_fn(words));
    let stream = engine.send_streaming_message(send("one two three")).await.unwrap().response;
    let events = events(stream).await;
    let ids: Vec<_> = events.iter().filter_map(Event::id).map(EventId::get).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(events[0].task().map(Task::state), Some(TaskState::Submitted));
    assert_eq!(events[1].state(), Some(TaskState::Working));
    let flags: Vec<_> = events
        .iter()
        .filter_map(|event| match event.payload() {
            Some(Payload::ArtifactUpdate(update)) => Some((update.append, update.last_chunk)),
            _ => None,
        })
        .collect();
    assert_eq!(flags, [(false, false), (true, false), (true, true)]);
    assert_eq!(events[5].state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn message_reply_creates_no_task() {
    let engine = Engine::new(card(), agent_fn(async |_text: String| Message::agent("direct")));
    let answer = engine.send_message(send("hi")).await.unwrap().response;
    let Some(send_message_response::Payload::Message(message)) = answer.payload else {
        panic!("not a message: {answer:?}");
    };
    assert_eq!(message.text(), "direct");
    assert!(!message.context_id.is_empty());
    let listed = engine.list_tasks(Call::default()).await.unwrap().response;
    assert_eq!(listed.total_size, 0);
    let events = events(engine.send_streaming_message(send("hi")).await.unwrap().response).await;
    assert_eq!(events.len(), 1);
}

//
#[tokio::test]
async fn message_reply_to_a_visible_task_completes_it() {
    let engine = Engine::new(
        card(),
        Script(async |_, updates: TaskUpdater| {
            updates.start().await?;
            updates.reply("direct").await?;
            Ok(())
        }),
    );
    let stream = engine.send_streaming_message(send("hi")).await.unwrap().response;
    for event in events(stream).await {
        assert!(!matches!(event.payload(), Some(Payload::Message(_))), "{event:?}");
    }
    let task = task_of(&engine, send("hi")).await;
    assert_eq!(task.state(), TaskState::Completed);
    let message = task.status.as_ref().and_then(|status| status.message.as_ref());
    assert_eq!(message.map(Message::text).as_deref(), Some("direct"));
    assert_eq!(*get(&engine, &task.id).await, task);
}

#[tokio::test]
async fn executor_failure_fails_the_task_and_hides_the_cause() {
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| match &*context.text() {
            "public" => Err(AgentError::new("no such city").into()),
            "hidden" => Err(std::io::Error::other("password is 1234").into()),
            "early" => panic!("password is 1234"),
            _ => {
                updates.start().await?;
                panic!("password is {}", 1234)
            }
        }),
    );
    for text in ["public", "hidden", "early", "late"] {
        let task = task_of(&engine, send(text)).await;
        assert_eq!(task.state(), TaskState::Failed, "{text}");
        let message = task.status_message().expect("a message").text();
        assert!(!message.contains("1234"), "{message}");
        assert_eq!(message == "no such city", text == "public", "{message}");
    }
}

#[tokio::test]
async fn executor_returning_early_leaves_the_task_unchanged() {
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| {
            if context.text() == "work" {
                updates.start().await?;
            }
            Ok(())
        }),
    );
    let task = task_of(&engine, send("nothing")).await;
    assert_eq!(task.state(), TaskState::Submitted);
    let task = task_of(&engine, send("work")).await;
    assert_eq!(task.state(), TaskState::Working);
    let mut stream = engine.send_streaming_message(send("work")).await.unwrap().response;
    let mut last = None;
    while let Some(item) = stream.next().await {
        last = Some(item);
    }
    assert_eq!(last.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn executor_ignoring_cancel_is_dropped_after_the_grace_period() {
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| {
            assert!(!context.is_cancelled());
            updates.start().await?;
            std::future::pending().await
        }),
    );
    let task = task_of(&engine, at_once(send("hang"))).await;
    let stream = engine.subscribe_to_task(subscribe(&task.id)).await.unwrap().response;
    let (first, second) =
        tokio::join!(engine.cancel_task(cancel(&task.id)), engine.cancel_task(cancel(&task.id)));
    assert_eq!(first.unwrap().response.state(), TaskState::Canceled);
    assert_eq!(second.unwrap().response.state(), TaskState::Canceled);
    assert_eq!(events(stream).await.last().unwrap().state(), Some(TaskState::Canceled));
    let again = engine.cancel_task(cancel(&task.id)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::TaskNotCancelable);
}

#[tokio::test(start_paused = true)]
async fn executor_observing_cancel_ends_at_once() {
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| {
            updates.start().await?;
            context.cancelled().await;
            Ok(())
        }),
    );
    let task = task_of(&engine, at_once(send("wait"))).await;
    let before = tokio::time::Instant::now();
    let canceled = engine.cancel_task(cancel(&task.id)).await.unwrap().response;
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn executor_that_cannot_notice_a_cancel_is_dropped_at_once() {
    let silent = agent_fn(async |_: String| std::future::pending::<String>().await);
    let working = Script(async |_: RequestContext, updates: TaskUpdater| {
        updates.start().await?;
        std::future::pending().await
    });
    for engine in [Engine::new(card(), silent), Engine::new(card(), working)] {
        let task = task_of(&engine, at_once(send("work"))).await;
        let before = tokio::time::Instant::now();
        let canceled = engine.cancel_task(cancel(&task.id)).await.unwrap().response;
        assert_eq!(canceled.state(), TaskState::Canceled);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn executor_that_has_looked_for_a_cancel_gets_the_grace_period() {
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| {
            updates.start().await?;
            while !context.is_cancelled() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok(updates.cancel("rolled back").await?)
        }),
    );
    let task = task_of(&engine, at_once(send("work"))).await;
    let canceled = engine.cancel_task(cancel(&task.id)).await.unwrap().response;
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert_eq!(canceled.status_message().unwrap().text(), "rolled back");
}

#[tokio::test]
async fn executor_cancels_a_question_with_its_own_words() {
    async fn plan(updates: &TaskUpdater) -> Result<(), BoxError> {
        let answer = updates.ask("Where to?").await?;
        Ok(updates.complete(answer.text()).await?)
    }
    let engine = Engine::new(
        card(),
        Script(async |context: RequestContext, updates: TaskUpdater| {
            tokio::select! {
                biased;
                () = context.cancelled() => Ok(updates.cancel("Nothing was booked").await?),
                done = plan(&updates) => done,
            }
        }),
    );
    for _ in 0..50 {
        let task = task_of(&engine, send("plan")).await;
        assert_eq!(task.state(), TaskState::InputRequired);
        let canceled = engine.cancel_task(cancel(&task.id)).await.unwrap().response;
        assert_eq!(canceled.state(), TaskState::Canceled);
        assert_eq!(canceled.status_message().unwrap().text(), "Nothing was booked");
    }
}

/// Returns when it is cancelled, and reports the end of its `cancel`.
struct ReturnsFirst(mpsc::UnboundedSender<()>);

impl AgentExecutor for ReturnsFirst {
    async fn execute(&self, context: RequestContext, _: TaskUpdater) -> Result<(), BoxError> {
        context.cancelled().await;
        Ok(())
    }

    async fn cancel(&self, _: CancelContext) {
        tokio::task::yield_now().await;
        let _ = self.0.send(());
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_completes_even_if_execute_returns_first() {
    let (sender, mut told) = mpsc::unbounded_channel();
    let engine = Engine::new(card(), ReturnsFirst(sender));
    for _ in 0..50 {
        let task = task_of(&engine, at_once(send("work"))).await;
        engine.cancel_task(cancel(&task.id)).await.expect("canceled");
        told.recv().await.expect("the end of a cancel");
    }
}

#[tokio::test]
async fn ended_task_is_immutable() {
    let late = Arc::new(Notify::new());
    let refused = Arc::clone(&late);
    let engine = Engine::new(
        card(),
        Script(move |_context: RequestContext, updates: TaskUpdater| {
            let refused = Arc::clone(&refused);
            async move {
                updates.complete("done").await?;
                assert!(updates.fail("no").await.is_err());
                assert!(updates.artifact(Artifact::new("a", "b")).await.is_err());
                assert!(updates.reply("no").await.is_err());
                assert!(updates.ask("no?").await.is_err());
                refused.notify_one();
                Ok(())
            }
        }),
    );
    let task = task_of(&engine, send("go")).await;
    late.notified().await;
    let task = get(&engine, &task.id).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert!(task.artifacts.is_empty());
    let again = engine.send_message(to_task(&task.id, "more")).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn ask_continues_the_executor_in_place() {
    let engine = Engine::new(
        card(),
        Script(async |_context: RequestContext, updates: TaskUpdater| {
            let name = updates.ask("Name?").await?.text();
            let age = updates.ask("Age?").await?.text();
            updates.complete(format!("{name} is {age}")).await?;
            Ok(())
        }),
    );
    let task = task_of(&engine, send("hello")).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    assert_eq!(task.status_message().unwrap().text(), "Name?");
    let task = task_of(&engine, to_task(&task.id, "Ann")).await;
    assert_eq!(task.status_message().unwrap().text(), "Age?");
    let task = task_of(&engine, to_task(&task.id, "30")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.status_message().unwrap().text(), "Ann is 30");
    let said: Vec<_> = task.history.iter().map(Message::text).collect();
    assert_eq!(said, ["hello", "Name?", "Ann", "Age?", "30"]);
}

#[tokio::test(start_paused = true)]
async fn timed_out_ask_leaves_the_question_open() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let engine = Engine::builder(
        card(),
        Script(move |context: RequestContext, updates: TaskUpdater| {
            let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                assert_eq!((context.is_replay(), context.text().as_str()), (run == 2, "hello"));
                let name = updates.ask("Name?").await?.text();
                Ok(updates.complete(format!("{name} in run {run}")).await?)
            }
        }),
    )
    .config(EngineConfig::default().with_ask_timeout(Duration::from_secs(60)))
    .build();
    let task = task_of(&engine, send("hello")).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&engine, &task.id).await.state(), TaskState::InputRequired);
    let task = task_of(&engine, to_task(&task.id, "Ann")).await;
    assert_eq!(task.status_message().unwrap().text(), "Ann in run 2");
}

#[tokio::test]
async fn messages_to_a_working_task_queue_up_to_the_limit() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let engine = Engine::builder(
        card(),
        Script(move |context: RequestContext, updates: TaskUpdater| {
            let wait = Arc::clone(&wait);
            async move {
                updates.start().await?;
                wait.notified().await;
                updates.require_input(format!("heard {}", context.text())).await?;
                Ok(())
            }
        }),
    )
    .config(EngineConfig::default().with_max_queued_messages(2))
    .build();
    let task = task_of(&engine, at_once(send("0"))).await;
    let mut waiting = Vec::new();
    for text in ["1", "2"] {
        let (engine, call) = (engine.clone(), to_task(&task.id, text));
        waiting.push(tokio::spawn(async move { task_of(&engine, call).await }));
        tokio::task::yield_now().await;
    }
    let refused = engine.send_message(to_task(&task.id, "3")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    let refused = engine.send_message(at_once(to_task(&task.id, "3"))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    for (index, waiting) in waiting.into_iter().enumerate() {
        go.notify_one();
        if index == 0 {
            go.notify_one();
        }
        while !waiting.is_finished() {
            go.notify_one();
            tokio::task::yield_now().await;
        }
        let task = waiting.await.unwrap();
        assert!(task.history.iter().any(|message| message.text() == (index + 1).to_string()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_reader_does_not_affect_a_thousand_others() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let engine = Engine::new(
        card(),
        Script(move |_context: RequestContext, updates: TaskUpdater| {
            let wait = Arc::clone(&wait);
            async move {
                updates.start().await?;
                wait.notified().await;
                updates.begin(Artifact::new("n", "0").with_id("n")).await?;
                for index in 1..1_000 {
                    let part = Part::text(index.to_string());
                    updates.append(Artifact::new("n", part).with_id("n")).await?;
                }
                updates.complete("done").await?;
                Ok(())
            }
        }),
    );
    let task = task_of(&engine, at_once(send("go"))).await;
    // The executor may not have started; WORKING is seen by all readers or by none.
    let mut first = engine.subscribe_to_task(subscribe(&task.id)).await.unwrap().response;
    while first.next().await.unwrap().unwrap().state() != Some(TaskState::Working) {}
    drop(first);
    let never_read = engine.subscribe_to_task(subscribe(&task.id)).await.unwrap().response;
    let mut readers = Vec::new();
    for _ in 0..1_000 {
        let stream = engine.subscribe_to_task(subscribe(&task.id)).await.unwrap().response;
        readers.push(tokio::spawn(async move {
            let ids = events(stream).await.into_iter().filter_map(|event| event.id());
            ids.map(EventId::get).collect::<Vec<_>>()
        }));
    }
    go.notify_one();
    for reader in readers {
        let ids = reader.await.unwrap();
        assert_eq!(ids.len(), 1_002);
        assert!(ids.iter().copied().eq(2..=1_003), "no gap, no repeat");
    }
    assert_eq!(events(never_read).await.len(), 1_002, "it can still read everything");
}

#[tokio::test]
async fn resumed_reader_gets_exactly_the_missed_events() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let engine = Engine::new(
        card(),
        Script(move |_context: RequestContext, updates: TaskUpdater| {
            let wait = Arc::clone(&wait);
            async move {
                updates.start().await?;
                wait.notified().await;
                updates.artifact(Artifact::new("a", "b")).await?;
                updates.complete(()).await?;
                Ok(())
            }
        }),
    );
    let mut stream = engine.send_streaming_message(send("go")).await.unwrap().response;
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(stream.next().await.unwrap().unwrap());
    }
    let task_id = seen[0].task().unwrap().id.clone();
    drop(stream);
    let mut resume = subscribe(&task_id);
    resume.context = CallContext::default();
    resume.context.last_event_id = seen[1].id();
    let live = engine.subscribe_to_task(resume.clone()).await.unwrap().response;
    go.notify_one();
    let missed: Vec<_> = events(live).await.into_iter().filter_map(|event| event.id()).collect();
    assert_eq!(missed.iter().map(|id| id.get()).collect::<Vec<_>>(), [3, 4]);

    let ended = engine.subscribe_to_task(resume.clone()).await.unwrap().response;
    let again: Vec<_> = events(ended).await.into_iter().filter_map(|event| event.id()).collect();
    assert_eq!(again, missed);
    let without = engine.subscribe_to_task(subscribe(&task_id)).await.unwrap_err();
    assert_eq!(without.kind(), ErrorKind::UnsupportedOperation);
    resume.context.last_event_id = EventId::new(99);
    let beyond = engine.subscribe_to_task(resume).await.unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn retry_with_the_same_key_joins_the_first_task() {
    let engine = Engine::new(card(), agent_fn(async |text: String| text));
    let mut call = send("once");
    call.context.idempotency_key = Some("k".into());
    let first = task_of(&engine, call.clone()).await;
    let second = task_of(&engine, call.clone()).await;
    assert_eq!(first.id, second.id);
    call.request.message = Some(Message::user("other"));
    let other = engine.send_message(call).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn silent_executor_makes_its_task_visible_as_submitted() {
    let engine = Engine::new(
        card(),
        Script(async |_context: RequestContext, _updates: TaskUpdater| {
            std::future::pending().await
        }),
    );
    let mut stream = engine.send_streaming_message(send("hush")).await.unwrap().response;
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first.state(), Some(TaskState::Submitted));
    engine.shutdown(Duration::ZERO).await;
    assert_eq!(stream.next().await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    let refused = engine.send_message(send("late")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
}

//
#[tokio::test]
async fn task_of_another_caller_is_not_found() {
    let engine = Engine::new(card(), agent_fn(async |text: String| text));
    let by = |mut call: Call<SendMessageRequest>, name: &str| {
        call.context.caller = Caller::authenticated(name);
        call.request.message.as_mut().unwrap().context_id = "shared".into();
        call
    };
    let anns = task_of(&engine, by(send("secret"), "ann")).await;
    let bobs = task_of(&engine, by(send("other"), "bob")).await;
    assert_eq!(anns.context_id, bobs.context_id, "the same name, and two conversations");

    let mut list = Call::new(ListTasksRequest::default());
    list.context.caller = Caller::authenticated("bob");
    for context_id in ["", "shared"] {
        list.request.context_id = context_id.into();
        let page = engine.list_tasks(list.clone()).await.unwrap().response;
        let ids: Vec<_> = page.tasks.iter().map(|task| &task.id).collect();
        assert_eq!((ids, page.total_size), (vec![&bobs.id], 1));
    }
    let mut refusals = Vec::new();
    for id in [anns.id.as_str(), "never-existed"] {
        let mut get = Call::new(GetTaskRequest { id: id.into(), ..GetTaskRequest::default() });
        get.context.caller = Caller::authenticated("bob");
        let refused = engine.get_task(get).await.unwrap_err();
        let follow_up = by(to_task(id, "more"), "bob");
        let also = engine.send_message(follow_up).await.unwrap_err();
        refusals.push((refused.kind(), refused.message().replace(id, "?"), also.kind()));
    }
    assert_eq!(refusals[0], refusals[1]);
}
