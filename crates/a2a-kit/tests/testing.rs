//! The test kit: what it accepts, what it reports, and how.

use std::time::Duration;

use a2a_kit::{
    AgentCard, AgentError, AgentExecutor, Artifact, BoxError, Caller, Client, Engine, Part,
    RequestContext, Server, Task, TaskState, TaskUpdater, agent_fn,
    client::{MessageRequest, Transport},
    operations::{CancelContext, Recovery},
    script::Script,
    testing::{self, Check, Law, TestAgent, TestServer, WebhookReceiver},
    v1::TaskStatus,
};

#[derive(Clone, Copy)]
enum Flaw {
    None,
    Unfinished,
    AppendsFirst,
    OpenArtifact,
    GoesOn,
    IgnoresCancel,
    FailsAgain,
}

/// Asks, streams, waits and completes, except for its flaw.
struct Worker(Flaw);

impl AgentExecutor for Worker {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let artifact = Artifact::new("text", "one ").with_id("text");
        let begin = updates.begin(artifact.clone());
        match self.0 {
            Flaw::None => begin.await?,
            Flaw::Unfinished => return Ok(()),
            Flaw::AppendsFirst => updates.append(artifact.clone()).await?,
            Flaw::OpenArtifact => {
                begin.await?;
                return Ok(updates.complete("done").await?);
            }
            Flaw::GoesOn => {
                updates.complete("done").await?;
                begin.await?;
            }
            // Twice the grace period of the check.
            Flaw::IgnoresCancel => tokio::time::sleep(Duration::from_secs(2)).await,
            Flaw::FailsAgain if context.is_rerun() => return Err("again".into()),
            Flaw::FailsAgain => begin.await?,
        }
        if matches!(self.0, Flaw::IgnoresCancel) {
            return Ok(updates.complete("done").await?);
        }
        let last = updates.ask("Which one?").await?;
        updates.append_last(Artifact::new("text", last.text().as_str()).with_id("text")).await?;
        updates.complete("done").await?;
        Ok(())
    }

    async fn cancel(&self, _: CancelContext) {
        if matches!(self.0, Flaw::IgnoresCancel) {
            std::future::pending::<()>().await;
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[tokio::test(start_paused = true)]
async fn each_violation_is_reported_under_its_law() {
    for (flaw, law) in [
        (Flaw::Unfinished, Law::MessageIsAnswered),
        (Flaw::AppendsFirst, Law::ChunksAreInOrder),
        (Flaw::OpenArtifact, Law::ChunksAreComplete),
        (Flaw::GoesOn, Law::EndIsFinal),
        (Flaw::IgnoresCancel, Law::CancelIsObserved),
        (Flaw::FailsAgain, Law::CrashIsRecovered),
        (Flaw::Unfinished, Law::CallersMayLeave),
    ] {
        let violations = Check::new(|| Worker(flaw)).run().await;
        assert!(violations.iter().any(|one| one.law == law), "{law:?}: {violations:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn executor_without_flaws_keeps_the_laws() {
    let violations = Check::new(|| Worker(Flaw::None)).with_answer("two").run().await;
    assert_eq!(violations, []);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "MessageIsAnswered: no event for 10s, after:\n  task ")]
async fn failed_check_names_the_law_and_shows_the_events() {
    testing::check(|| Worker(Flaw::Unfinished)).await;
}

/// Reserves what the typed message asks for, for known callers.
struct Typed;

impl AgentExecutor for Typed {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        if context.call().caller.subject() != Some("ann") {
            return Err(AgentError::new("who are you?").into());
        }
        let seats: u32 = context.message().parts[0].parse()?;
        updates.start().await?;
        let name = updates.ask("Which name?").await?;
        let email = updates.ask("Which address?").await?;
        if (name.text().as_str(), email.text().as_str()) != ("Ann", "ann@example.com") {
            return Err("not that way round".into());
        }
        updates.complete(format!("{seats} seats")).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[tokio::test(start_paused = true)]
async fn message_that_the_executor_refuses_is_a_finding_of_its_own() {
    let violations = Check::new(|| Typed).run().await;
    let laws: Vec<_> = violations.iter().map(|one| one.law).collect();
    assert_eq!(laws, [Law::MessageIsAccepted], "{violations:?}");
    assert!(violations[0].found.contains("who are you?"), "{violations:?}");
}

#[tokio::test(start_paused = true)]
async fn check_sends_data_and_answers_as_a_caller() {
    let violations = Check::new(|| Typed)
        .with_message(Part::json(&2).unwrap())
        .with_answer("Ann")
        .with_answer("ann@example.com")
        .with_caller(Caller::authenticated("ann"))
        .run()
        .await;
    assert_eq!(violations, []);
}

#[tokio::test]
async fn client_of_a_caller_calls_as_that_caller() {
    let card = AgentCard::new("Typed", "Reserves seats").with_input_modes(["application/json"]);
    let engine = Engine::new(card, Typed);
    let client = testing::client_as(&engine, Caller::authenticated("ann"));
    let outcome = client.send(Part::json(&2).unwrap()).await.unwrap();
    assert_eq!(outcome.state(), Some(TaskState::InputRequired));
    // Tasks belong to their caller.
    let other = testing::client_as(&engine, Caller::authenticated("bob"));
    assert!(other.get(outcome.task_id().unwrap()).await.is_err());
}

#[tokio::test]
async fn queued_tasks_and_texts_answer_streams_too() {
    let status = TaskStatus { state: TaskState::Completed.into(), ..Default::default() };
    let (id, context_id) = ("t-1".to_owned(), "c-1".to_owned());
    let done = Task { id, context_id, status: Some(status), ..Default::default() };
    let agent = TestAgent::new().then_text("one").then_task(done.clone()).then_text("two");
    let client = Client::from_agent(agent, AgentCard::new("Scripted", "Says what it is told"));
    testing::collect(client.stream("a").await.unwrap()).await.assert_text("one");
    let events = testing::collect(client.stream("b").await.unwrap()).await;
    assert_eq!(events.task(), Some(&done));
    assert_eq!(client.send_text("c").await.unwrap(), "two");
}

#[tokio::test]
async fn text_of_the_status_is_asserted_beside_artifacts() {
    let failing = Engine::new(AgentCard::new("Worker", "Works"), Worker(Flaw::OpenArtifact));
    let events = testing::collect(testing::client(&failing).stream("hi").await.unwrap()).await;
    events.assert_text("one ").assert_status_text("done");
}

fn engine() -> Engine {
    let card = AgentCard::new("Echo", "Repeats its input").with_streaming(true);
    let echo = agent_fn(async |text: String| format!("You said: {text}"));
    Engine::builder(card, echo).push_sender(WebhookReceiver::sender()).build()
}

// The form of such a failure is in docs/test-your-agent.md.
#[tokio::test]
#[should_panic(expected = "the text is \"You said: hi\", expected \"hi\", in:\n  ")]
async fn failed_assertion_shows_the_events() {
    let events = testing::client(&engine()).stream("hi").await.unwrap();
    testing::collect(events).await.assert_text("hi");
}

#[tokio::test]
async fn server_answers_on_every_binding_until_it_stops() {
    let server = TestServer::start(engine()).await;
    for transport in Transport::ALL {
        let client = server.client_over(transport).await;
        let selected = client.selected_interface().unwrap().interface.protocol_binding.clone();
        assert_eq!(selected, transport.as_str());
        assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi", "{transport}");
    }
    let url = server.url.clone();
    server.stop().await;
    assert!(Client::connect(&url).await.is_err());
}

#[tokio::test]
async fn test_agent_is_served_like_any_other() {
    let agent = TestAgent::new().then_text("one").then_text("two");
    let card = AgentCard::new("Scripted", "Says what it is told");
    let server = TestServer::start(Server::new(agent.clone(), card)).await;
    for (sent, expected) in [("a", "one"), ("b", "two")] {
        assert_eq!(server.client.send_text(sent).await.unwrap(), expected);
    }
    let texts: Vec<_> = agent.received().iter().map(|call| call.text()).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[tokio::test]
async fn webhook_receiver_gets_the_last_event() {
    let webhook = WebhookReceiver::start().await;
    let engine = Engine::builder(
        AgentCard::new("Worker", "Works").with_streaming(true),
        Worker(Flaw::OpenArtifact),
    )
    .push_sender(WebhookReceiver::sender())
    .build();
    let message = MessageRequest::from("hi").with_push(webhook.config());
    testing::client(&engine).send(message).await.unwrap();
    while webhook.next().await.state() != Some(TaskState::Completed) {}
}

#[tokio::test]
async fn scripted_agent_is_served_with_its_faults() {
    let script = Script::parse(
        "office.toml",
        r#"
        [[rule]]
        when = { word = "closed" }
        fault = { respond = { status = 403, content_type = "text/plain", body = "closed" } }

        [[fault]]
        on = ["card"]
        calls = { from = 2 }
        inject = { respond = { status = 500 } }

        [default]
        steps = [{ message = "You said: {text}" }]
        "#,
    );
    let server = TestServer::start(script.unwrap()).await;
    assert_eq!(server.client.send_text("hello").await.unwrap(), "You said: hello");
    let closed = server.client.send_text("closed").await.unwrap_err();
    assert!(closed.to_string().contains("closed"), "{closed:?}");
    Client::connect(&server.url).await.unwrap_err();
}
