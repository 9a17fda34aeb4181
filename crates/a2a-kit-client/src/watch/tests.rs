use std::{sync::Mutex, time::Duration};

use a2a_core::{AgentCard, Operation, v1::SendMessageResponse};

use super::*;
use crate::{
    MessageRequest, RetryPolicy,
    test_agent::{TestAgent, chunk, describe, snapshot, status, task},
};

type Observed = Arc<Mutex<Vec<String>>>;

/// Returns a client without retries of requests, and what it observes.
fn observed_client(agent: &TestAgent, card: AgentCard) -> (Client, Observed) {
    let observed = Observed::default();
    let recorded = observed.clone();
    let client = Client::builder()
        .retry(RetryPolicy::NEVER)
        .resume(RetryPolicy::NEVER.with_attempts(1).with_first_delay(Duration::ZERO))
        .on_event(move |event| {
            let line = match event {
                ClientEvent::Reconnecting { task_id, attempt, .. } => {
                    format!("reconnecting {task_id:?} {attempt}")
                }
                ClientEvent::Resumed { task_id } => format!("resumed {task_id:?}"),
                ClientEvent::FellBackToPolling { task_id, error } => {
                    format!("polling {task_id:?}: {}", error.message())
                }
                other => format!("{other:?}"),
            };
            recorded.lock().unwrap().push(line);
        })
        .build_from_agent(agent.clone(), card);
    (client, observed)
}

fn client(agent: &TestAgent) -> Client {
    observed_client(agent, AgentCard::new("a", "b")).0
}

fn polling(policy: PollPolicy) -> WaitOptions {
    WaitOptions::default().with_delivery(UpdateDelivery::Polling).with_poll(policy)
}

/// Queues a polled task.
fn then_task(agent: TestAgent, state: TaskState) -> TestAgent {
    agent.then(Arc::new(task(state)))
}

/// Reads a watch to the end.
async fn read(watch: &mut Watch) -> (Vec<String>, Option<Error>) {
    let mut seen = Vec::new();
    while let Some(item) = watch.next().await {
        match item {
            Ok(event) => seen.push(describe(&event)),
            Err(error) => return (seen, Some(error)),
        }
    }
    (seen, None)
}

#[tokio::test(start_paused = true)]
async fn poll_interval_grows_up_to_its_maximum() {
    for (policy, total) in [
        (PollPolicy::default(), Duration::from_millis(100 + 200 + 400 + 800)),
        (PollPolicy::every(Duration::from_secs(2)), Duration::from_secs(8)),
        (
            PollPolicy::default().with_max_interval(Duration::from_millis(300)),
            Duration::from_millis(100 + 200 + 2 * 300),
        ),
    ] {
        let mut agent = TestAgent::new();
        for _ in 0..4 {
            agent = then_task(agent, TaskState::Working);
        }
        let agent = then_task(agent, TaskState::Completed);
        let started = Instant::now();
        let task = client(&agent).wait("t", polling(policy)).await.unwrap();
        assert_eq!((task.state(), started.elapsed()), (TaskState::Completed, total), "{policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn longest_poll_interval_waits_for_the_timeout() {
    let agent = then_task(TestAgent::new(), TaskState::Working);
    let options = polling(PollPolicy::every(Duration::MAX)).with_timeout(Duration::from_secs(60));
    let error = client(&agent).wait("t", options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn polling_survives_transient_errors_up_to_the_limit() {
    let policy = PollPolicy::every(Duration::from_secs(2));
    let down = || Error::unavailable("down");
    let mut agent = TestAgent::new();
    for error in [down(), down(), down(), down().with_retry_after(Duration::from_secs(7))] {
        agent = agent.then_fail(error);
    }
    let agent = then_task(agent, TaskState::Completed);
    let started = Instant::now();
    client(&agent).wait("t", polling(policy)).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(4 + 8 + 16 + 7));

    let mut agent = TestAgent::new();
    for _ in 0..5 {
        agent = agent.then_fail(down());
    }
    let error = client(&agent).wait("t", polling(policy)).await.unwrap_err();
    assert_eq!((error.kind(), agent.received().len()), (ErrorKind::Unavailable, 5));

    let agent = TestAgent::new().then_fail(Error::task_not_found("t"));
    let error = client(&agent).wait("t", polling(policy)).await.unwrap_err();
    assert_eq!((error.kind(), agent.received().len()), (ErrorKind::TaskNotFound, 1));
}

#[tokio::test(start_paused = true)]
async fn wait_ends_at_the_configured_states() {
    use TaskState::{AuthRequired, Completed, InputRequired, Working};
    for (stop_at, reached) in [
        (vec![InputRequired, AuthRequired], AuthRequired),
        (vec![InputRequired], InputRequired),
        (vec![], Completed),
        (vec![Working], Working),
    ] {
        let states = [AuthRequired, Working, InputRequired, Completed];
        let options = WaitOptions::default().with_stop_at(stop_at.clone());
        let polled = states.into_iter().fold(TestAgent::new(), then_task);
        let by_polling = options.clone().with_delivery(UpdateDelivery::Polling);
        let stopped = client(&polled).wait("t", by_polling).await.unwrap();
        assert_eq!(stopped.state(), reached, "polling, {stop_at:?}");

        let events = (1..).zip(states).map(|(id, state)| status(id, state));
        let complete = Task { id: "complete".into(), ..task(reached) };
        let streamed = TestAgent::new().then_stream(events).then(Arc::new(complete));
        let stopped = client(&streamed).wait("t", options).await.unwrap();
        // The stream never contained the whole task.
        assert_eq!((stopped.state(), stopped.id.as_str()), (reached, "complete"), "{stop_at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_stream_is_resumed_once_and_then_polled() {
    let agent = TestAgent::new()
        .then_stream([snapshot(1, task(TaskState::Working)), chunk(2, "1")])
        .then_stream([chunk(3, "2")])
        .then_fail(Error::unavailable("down"));
    let agent = then_task(then_task(agent, TaskState::Working), TaskState::Completed);
    let (client, observed) = observed_client(&agent, AgentCard::new("a", "b"));
    let mut watch = client.send_and_watch("go", WaitOptions::default()).await.unwrap();
    let (events, error) = read(&mut watch).await;
    // A polled task is an event only if its status has changed.
    assert_eq!(events, ["task WORKING \"\"", "1", "2", "task COMPLETED \"\""]);
    assert!(error.is_none() && watch.is_polled());
    assert_eq!(
        *observed.lock().unwrap(),
        [
            "reconnecting Some(\"t\") 1",
            "resumed Some(\"t\")",
            "reconnecting Some(\"t\") 1",
            "polling Some(\"t\"): down"
        ]
    );
    assert_eq!(watch.outcome().await.unwrap().state(), Some(TaskState::Completed));
}

#[tokio::test(start_paused = true)]
async fn stream_of_an_agent_that_was_unreachable_continues_once_it_answers() {
    let refused = || TransportError::new("refused").into_error("a");
    let agent = TestAgent::new()
        .then_stream([snapshot(1, task(TaskState::Working)), chunk(2, "1")])
        .then_fail(refused());
    let agent = then_task(agent.then_fail(refused()), TaskState::Working)
        .then_stream([chunk(3, "2"), status(4, TaskState::Completed)]);
    let (client, observed) = observed_client(&agent, AgentCard::new("a", "b"));
    let mut watch = client.send_and_watch("go", WaitOptions::default()).await.unwrap();
    let (events, error) = read(&mut watch).await;
    assert_eq!(events, ["task WORKING \"\"", "1", "2", "status COMPLETED"]);
    assert!(error.is_none() && !watch.is_polled());
    let observed = observed.lock().unwrap();
    assert!(observed.last().unwrap().starts_with("polling Some(\"t\"): "), "{observed:?}");
}

#[tokio::test(start_paused = true)]
async fn lost_stream_is_an_error_if_only_streaming_is_allowed() {
    let agent = TestAgent::new()
        .then_stream([snapshot(1, task(TaskState::Working))])
        .then_fail(Error::unavailable("down"));
    let options = WaitOptions::default().with_delivery(UpdateDelivery::Streaming);
    let mut watch = client(&agent).watch("t", options);
    let (events, error) = read(&mut watch).await;
    assert_eq!(events, ["task WORKING \"\""]);
    assert_eq!(error.unwrap().message(), "down");
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn rejected_subscription_returns_a_task_that_has_ended() {
    let options = WaitOptions::default().with_delivery(UpdateDelivery::Streaming);
    for (state, is_error) in [(TaskState::Completed, false), (TaskState::Working, true)] {
        let agent = TestAgent::new().then_fail(Error::unsupported("task has ended"));
        let result = client(&then_task(agent, state)).wait("t", options.clone()).await;
        assert_eq!(result.is_err(), is_error, "{state:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn agent_without_streaming_is_polled_without_a_fallback() {
    let card = || AgentCard::new("a", "b").with_streaming(false);
    let agent = then_task(TestAgent::new(), TaskState::Completed);
    let (client, observed) = observed_client(&agent, card());
    client.wait("t", WaitOptions::default()).await.unwrap();
    assert_eq!(agent.operations(), [Operation::GetTask]);

    let sent = SendMessageResponse::from(SendOutcome::Task(task(TaskState::Submitted)));
    let agent = then_task(TestAgent::new().then(sent), TaskState::Completed);
    let (client, observed_send) = observed_client(&agent, card());
    let started = Instant::now();
    let mut watch = client.send_and_watch("go", WaitOptions::default()).await.unwrap();
    let (events, _) = read(&mut watch).await;
    assert_eq!(events, ["task SUBMITTED \"\"", "task COMPLETED \"\""]);
    assert_eq!(started.elapsed(), PollPolicy::default().interval);
    assert!(observed.lock().unwrap().is_empty() && observed_send.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rejected_stream_of_a_send_is_replaced_by_polling() {
    let sent = SendMessageResponse::from(SendOutcome::Task(task(TaskState::Submitted)));
    let agent = TestAgent::new().then_fail(Error::unsupported("no streaming")).then(sent);
    let agent = then_task(agent, TaskState::Completed);
    let (client, observed) = observed_client(&agent, AgentCard::new("a", "b"));
    let watch = client.send_and_watch("go", WaitOptions::default()).await.unwrap();
    assert_eq!(watch.outcome().await.unwrap().state(), Some(TaskState::Completed));
    assert_eq!(*observed.lock().unwrap(), ["polling None: no streaming"]);
}

#[tokio::test(start_paused = true)]
async fn ended_send_stream_continues_with_a_subscription() {
    let agent = TestAgent::new()
        .then_stream([snapshot(1, task(TaskState::AuthRequired))])
        .then_stream([status(2, TaskState::Working), status(3, TaskState::Completed)]);
    let options = WaitOptions::default().with_stop_at([TaskState::InputRequired]);
    let mut watch = client(&agent).send_and_watch("go", options).await.unwrap();
    let (events, error) = read(&mut watch).await;
    assert_eq!(events, ["task AUTH_REQUIRED \"\"", "status WORKING", "status COMPLETED"]);
    assert!(error.is_none());
    assert_eq!(agent.received()[1].last_event_id(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn reply_is_not_ended_by_the_task_as_it_was_before() {
    let asked = || snapshot(1, task(TaskState::InputRequired));
    let agent = TestAgent::new().then_stream([asked(), status(2, TaskState::Completed)]);
    let reply = || MessageRequest::from("Ada").to_task("t");
    let mut watch = client(&agent).send_and_watch(reply(), WaitOptions::default()).await.unwrap();
    let (events, error) = read(&mut watch).await;
    assert_eq!(events, ["task INPUT_REQUIRED \"\"", "status COMPLETED"]);
    assert!(error.is_none());
    // Another question is the outcome, also if the stream stays open.
    for agent in
        [TestAgent::new().then_stream([asked()]), TestAgent::new().then_open_stream([asked()])]
    {
        let mut watch =
            client(&agent).send_and_watch(reply(), WaitOptions::default()).await.unwrap();
        assert_eq!(read(&mut watch).await.0, ["task INPUT_REQUIRED \"\""]);
        assert_eq!(agent.operations(), [Operation::SendStreamingMessage]);
    }
    // Without a stream, the next poll decides.
    for state in [TaskState::InputRequired, TaskState::Completed] {
        let sent = SendMessageResponse::from(SendOutcome::Task(task(TaskState::InputRequired)));
        let agent = then_task(TestAgent::new().then(sent), state);
        let client = observed_client(&agent, AgentCard::new("a", "b").with_streaming(false)).0;
        let watch = client.send_and_watch(reply(), WaitOptions::default()).await.unwrap();
        assert_eq!(watch.outcome().await.unwrap().state(), Some(state));
    }
}

#[tokio::test(start_paused = true)]
async fn late_message_is_the_outcome() {
    let message = || Message::agent("bye");
    let late = Event::from(message());
    let agent = TestAgent::new().then_stream([snapshot(1, task(TaskState::Working)), late]);
    let watch = client(&agent).send_and_watch("go", WaitOptions::default()).await.unwrap();
    assert_eq!(watch.outcome().await.unwrap().text(), "bye");
}

#[tokio::test(start_paused = true)]
async fn timeout_names_the_task_and_its_state() {
    let limit = Duration::from_secs(5);
    let options = WaitOptions::default().with_timeout(limit);
    let agent = TestAgent::new().then_open_stream([snapshot(1, task(TaskState::Working))]);
    let started = Instant::now();
    let watch = client(&agent).send_and_watch("go", options.clone()).await.unwrap();
    let error = watch.outcome().await.unwrap_err();
    assert_eq!((error.kind(), started.elapsed()), (ErrorKind::DeadlineExceeded, limit));
    assert!(error.message().contains("task t did not stop within 5s"), "{error}");
    assert!(error.message().contains("TASK_STATE_WORKING"), "{error}");

    let agent = TestAgent::new().then_no_response();
    let error = client(&agent).send_and_watch("go", options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
}

/// An event with a state by its number.
fn numbered(number: i32) -> Event {
    let mut task = task(TaskState::Working);
    task.status.as_mut().unwrap().state = number;
    snapshot(0, task)
}

#[tokio::test(start_paused = true)]
async fn unknown_state_ends_the_wait_with_an_error_that_names_it() {
    let invalid = |message: &str| Error::new(ErrorKind::InvalidAgentResponse, message.to_owned());
    let by_name = "failed to read the result: unknown task state \"TASK_STATE_PAUSED\"";
    for (agent, expected) in [
        (TestAgent::new().then_stream([numbered(2), numbered(99)]), "unknown task state 99"),
        (
            TestAgent::new()
                .then_fail(Error::unsupported("no"))
                .then(Arc::new(numbered(98).task().unwrap().clone())),
            "unknown task state 98",
        ),
        (
            TestAgent::new().then(EventStream::new(futures_util::stream::iter([
                Ok(snapshot(1, task(TaskState::Working))),
                Err(invalid(by_name)),
            ]))),
            "\"TASK_STATE_PAUSED\"",
        ),
    ] {
        let error = client(&agent).wait("t", WaitOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
        assert!(error.message().contains(expected), "{error}");
    }
    let agent = TestAgent::new().then_stream([numbered(99)]);
    let events = client(&agent).stream("go").await.unwrap();
    let error = events.outcome().await.unwrap_err();
    assert!(error.message().contains("unknown task state 99"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn unspecified_state_is_waited_for() {
    let agent = [TaskState::Unspecified, TaskState::Unspecified, TaskState::Completed]
        .into_iter()
        .fold(TestAgent::new(), then_task);
    let task = client(&agent).wait("t", polling(PollPolicy::default())).await.unwrap();
    assert_eq!(task.state(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn every_message_of_a_stream_is_an_event_and_the_last_one_is_the_outcome() {
    let message = |text: &str| Event::from(Message::agent(text.to_owned()));
    let messages = || ["a", "b", "c"].map(message);
    for agent in
        [TestAgent::new().then_stream(messages()), TestAgent::new().then_open_stream(messages())]
    {
        let options = WaitOptions::default().with_timeout(Duration::from_millis(1500));
        let mut watch = client(&agent).send_and_watch("go", options).await.unwrap();
        let (events, error) = read(&mut watch).await;
        assert_eq!(events, ["message \"a\"", "message \"b\"", "message \"c\""]);
        assert!(error.is_none());
        assert_eq!(watch.outcome().await.unwrap().text(), "c");
        assert_eq!(agent.operations(), [Operation::SendStreamingMessage]);
    }
}

#[tokio::test(start_paused = true)]
async fn streamed_artifact_is_part_of_the_outcome_if_no_task_lists_it() {
    let working = || snapshot(0, task(TaskState::Working));
    let end = || status(0, TaskState::Completed);
    let streamed =
        TestAgent::new().then_stream([chunk(0, "one "), working(), chunk(0, "two"), end()]);
    let resumed = TestAgent::new().then_stream([working(), chunk(0, "one ")]).then_stream([
        working(),
        chunk(0, "two"),
        end(),
    ]);
    let polled = TestAgent::new()
        .then_stream([working(), chunk(0, "one "), chunk(0, "two")])
        .then_fail(Error::unavailable("down"));
    // The stream has no task, which is fetched.
    let fetched = TestAgent::new().then_stream([chunk(0, "one "), chunk(0, "two"), end()]);
    for agent in [
        streamed,
        resumed,
        then_task(polled, TaskState::Completed),
        then_task(fetched, TaskState::Completed),
    ] {
        let watch = client(&agent).send_and_watch("go", WaitOptions::default()).await.unwrap();
        let outcome = watch.outcome().await.unwrap();
        assert_eq!(
            (outcome.text().as_str(), outcome.state()),
            ("one two", Some(TaskState::Completed))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn task_beyond_the_maximum_size_ends_the_wait() {
    let text = "x".repeat(10_000);
    let agent = TestAgent::new().then_stream([
        snapshot(1, task(TaskState::Working)),
        chunk(2, &text),
        chunk(3, &text),
        status(4, TaskState::Completed),
    ]);
    let client = Client::builder()
        .max_task_bytes(15_000)
        .build_from_agent(agent.clone(), AgentCard::new("a", "b"));
    let watch = client.send_and_watch("go", WaitOptions::default()).await.unwrap();
    let error = watch.outcome().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert!(error.message().contains("max_task_bytes"), "{error}");
    assert_eq!(agent.received().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn task_of_any_size_can_be_followed_without_its_artifacts() {
    let text = "x".repeat(10_000);
    let agent = TestAgent::new().then_stream([
        snapshot(1, task(TaskState::Working)),
        chunk(2, &text),
        chunk(3, &text),
        status(4, TaskState::Completed),
    ]);
    let client = Client::builder()
        .max_task_bytes(15_000)
        .build_from_agent(agent.clone(), AgentCard::new("a", "b"));
    let options = WaitOptions::default().with_artifacts(false);
    let mut watch = client.send_and_watch("go", options).await.unwrap();
    let (events, error) = read(&mut watch).await;
    assert_eq!(events.len(), 4);
    assert!(error.is_none());
    let outcome = watch.outcome().await.unwrap();
    assert_eq!((outcome.text().as_str(), outcome.state()), ("", Some(TaskState::Completed)));
}
