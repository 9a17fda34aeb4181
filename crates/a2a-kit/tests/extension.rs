//! Extensions of an engine, over every binding.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{
    Artifact, Error, ErrorKind, Message, Result, TaskState,
    v1::{
        AgentExtension, SendMessageRequest, Task, send_message_response::Payload,
        stream_response::Payload as Told,
    },
    well_known::{Struct, Timestamp},
};
use a2a_kit::{AgentCard, AgentExecutor, BoxError, Client, Engine, Server};
use a2a_kit_client::Transport;
use a2a_kit_operations::{
    CallContext, Reply, RequestContext, TaskUpdater,
    extension::{Extension, IDEMPOTENCY_KEY, Timestamps, TraceContextExtension},
};
use async_trait::async_trait;

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER_TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
const COUNTED: &str = "urn:example:counted:1";

/// Says what trace it is in; asks, answers without a task, or gives an artifact.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let trace = context.call().parameters.get("traceparent").cloned().unwrap_or_default();
        match context.text().as_str() {
            "reply" => updates.reply(trace).await?,
            "ask" => {
                let answer = updates.ask("what?").await?;
                updates.complete(answer.text()).await?;
            }
            _ => {
                updates.start().await?;
                let artifact = Artifact::new("a", "one");
                updates.begin(artifact.clone()).await?;
                updates.append_last(artifact).await?;
                updates.complete(trace).await?;
            }
        }
        Ok(())
    }
}

/// Takes only messages that say a number, and counts them.
#[derive(Clone, Debug, Default)]
struct Counted {
    required: bool,
    seen: Arc<AtomicUsize>,
}

#[async_trait]
impl Extension for Counted {
    fn declaration(&self) -> AgentExtension {
        AgentExtension {
            required: self.required,
            params: Some(Struct::from([("unit", "piece")])),
            ..AgentExtension::new(COUNTED, "Counts")
        }
    }

    async fn receive(&self, _: &mut CallContext, request: &mut SendMessageRequest) -> Result<()> {
        let metadata = request.message.as_ref().and_then(|message| message.metadata.as_ref());
        let number = metadata.and_then(|metadata| metadata.get(COUNTED)?.as_u64());
        let number =
            number.ok_or_else(|| Error::invalid_params("message.metadata", "no number"))?;
        self.seen.fetch_add(usize::try_from(number).unwrap_or(1), Ordering::Relaxed);
        Ok(())
    }
}

async fn serve(make: impl FnOnce(a2a_kit_operations::EngineBuilder) -> Engine) -> String {
    let card = AgentCard::new("Worker", "Works");
    let engine = make(Engine::builder(card, Worker));
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::from(engine);
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    url
}

/// A client of each binding that asks for these extensions.
async fn clients(url: &str, uris: &[&str]) -> Vec<(Transport, Client)> {
    let mut clients = Vec::new();
    for binding in [Transport::JsonRpc, Transport::Rest, Transport::Grpc] {
        let builder = Client::builder().only([binding]).extensions(uris.iter().copied());
        clients.push((binding, builder.connect(url).await.unwrap()));
    }
    clients
}

fn request(text: &str, metadata: &[(&str, &str)]) -> SendMessageRequest {
    let mut message = Message::user(text);
    if !metadata.is_empty() {
        message.metadata = Some(metadata.iter().map(|(key, value)| (*key, *value)).collect());
    }
    SendMessageRequest { message: Some(message), ..SendMessageRequest::default() }
}

async fn send(
    client: &Client,
    request: SendMessageRequest,
) -> Result<Reply<a2a_core::v1::SendMessageResponse>> {
    client.agent().send_message(client.call(request)).await
}

async fn task(client: &Client, request: SendMessageRequest) -> (Task, String) {
    let reply = send(client, request).await.unwrap();
    match reply.response.payload {
        Some(Payload::Task(task)) => (task, reply.activated.to_string()),
        other => panic!("{other:?}"),
    }
}

//
#[tokio::test]
async fn extension_is_active_only_for_requests_that_name_it() {
    let url = serve(|engine| {
        engine.extension(Timestamps).extension(TraceContextExtension::new()).build()
    });
    let url = url.await;
    let begun = Timestamp::now();
    for (binding, client) in clients(&url, &[Timestamps::URI, "urn:example:unknown"]).await {
        let card = client.card();
        let declared: Vec<_> = card.extensions().iter().map(|one| one.uri.as_str()).collect();
        assert_eq!(declared, [Timestamps::URI, TraceContextExtension::URI, IDEMPOTENCY_KEY]);
        let (task, activated) = task(&client, request("work", &[])).await;
        assert_eq!(activated, Timestamps::URI, "{binding}");
        let said = task.status.as_ref().unwrap().message.as_ref().unwrap();
        let artifact = &task.artifacts[0];
        for (metadata, uris) in
            [(&said.metadata, &said.extensions), (&artifact.metadata, &artifact.extensions)]
        {
            let made = Timestamps::read(metadata.as_ref()).unwrap();
            assert!(made.as_millis() >= begun.as_millis(), "{binding}: {made}");
            assert_eq!(uris, &[Timestamps::URI], "{binding}");
            assert_eq!(TraceContextExtension::read(metadata.as_ref()), None, "{binding}");
        }
    }
    for (binding, client) in clients(&url, &[]).await {
        let (task, activated) = task(&client, request("work", &[])).await;
        assert_eq!(activated, "", "{binding}");
        assert_eq!((task.metadata, &task.artifacts[0].metadata), (None, &None), "{binding}");
        assert_eq!(task.status.unwrap().message.unwrap().metadata, None, "{binding}");
    }
    // The match is of the whole URI (spec §4.6.3).
    let older = format!("{}0", Timestamps::URI);
    let client = clients(&url, &[&older]).await.remove(0).1;
    assert_eq!(task(&client, request("work", &[])).await.1, "");
}

//
#[tokio::test]
async fn streams_answers_without_a_task_and_questions_are_stamped_too() {
    let url = serve(|engine| engine.extension(Timestamps).build()).await;
    for (binding, client) in clients(&url, &[Timestamps::URI]).await {
        let call = client.call(request("work", &[]));
        let stream = client.agent().send_streaming_message(call).await.unwrap();
        assert_eq!(stream.activated.to_string(), Timestamps::URI, "{binding}");
        let events: Vec<_> = futures_util::StreamExt::collect(stream.response).await;
        let mut chunks = 0;
        for event in events {
            if let Some(Told::ArtifactUpdate(update)) = event.unwrap().payload() {
                let artifact = update.artifact.as_ref().unwrap();
                assert!(Timestamps::read(artifact.metadata.as_ref()).is_some(), "{binding}");
                chunks += 1;
            }
        }
        assert_eq!(chunks, 2, "{binding}");

        let reply = send(&client, request("reply", &[])).await.unwrap();
        let Some(Payload::Message(said)) = reply.response.payload else { panic!("{binding}") };
        assert!(Timestamps::read(said.metadata.as_ref()).is_some(), "{binding}");

        let (asked, _) = task(&client, request("ask", &[])).await;
        assert_eq!(asked.state(), TaskState::InputRequired);
        let question = asked.status.unwrap().message.unwrap();
        assert!(Timestamps::read(question.metadata.as_ref()).is_some(), "{binding}");
    }
}

#[tokio::test]
async fn a_trace_goes_with_the_message_and_with_what_is_said_to_it() {
    let url = serve(|engine| engine.extension(TraceContextExtension::new()).build()).await;
    for (binding, client) in clients(&url, &[TraceContextExtension::URI]).await {
        let carried = [(TraceContextExtension::FIELD, TRACE)];
        let (task, activated) = task(&client, request("work", &carried)).await;
        assert_eq!(activated, TraceContextExtension::URI, "{binding}");
        assert_eq!(TraceContextExtension::read(task.metadata.as_ref()), Some(TRACE), "{binding}");
        let said = task.status.unwrap().message.unwrap();
        assert_eq!(said.text(), TRACE, "the executor is in the trace, {binding}");
        assert_eq!(TraceContextExtension::read(said.metadata.as_ref()), Some(TRACE), "{binding}");
        let artifact = task.artifacts[0].metadata.as_ref();
        assert_eq!(TraceContextExtension::read(artifact), Some(TRACE), "{binding}");

        // The request's own context is nearer, and what is malformed is passed over.
        let mut call = client.call(request("work", &carried));
        call.context.parameters.insert("traceparent".into(), OTHER_TRACE.into());
        let reply = client.agent().send_message(call).await.unwrap();
        let Some(Payload::Task(task)) = reply.response.payload else { panic!("{binding}") };
        assert_eq!(
            TraceContextExtension::read(task.metadata.as_ref()),
            Some(OTHER_TRACE),
            "{binding}"
        );
        let (task, _) =
            self::task(&client, request("work", &[(TraceContextExtension::FIELD, "x")])).await;
        assert_eq!(task.metadata, None, "{binding}");
    }
}

//
#[tokio::test]
async fn a_required_extension_is_asked_for_or_the_request_is_refused() {
    let counted = Counted { required: true, ..Counted::default() };
    let registered = counted.clone();
    let url = serve(|engine| engine.extension(registered).build()).await;
    for (binding, client) in clients(&url, &["urn:example:counted:2"]).await {
        assert!(client.card().extensions()[0].required);
        let number = request("work", &[(COUNTED, "1")]);
        let error = send(&client, number).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ExtensionSupportRequired, "{binding}");
        assert_eq!(error.kind().codes().jsonrpc, -32008);
        assert!(error.message().contains(COUNTED), "{binding}: {error}");
    }
    assert_eq!(counted.seen.load(Ordering::Relaxed), 0, "it was not asked for");
}

//
#[tokio::test]
async fn an_extension_refuses_a_message_before_anything_is_done_for_it() {
    let counted = Counted::default();
    let registered = counted.clone();
    let url = serve(|engine| engine.extension(registered).build()).await;
    for (binding, client) in clients(&url, &[COUNTED]).await {
        let params = client.card().extensions()[0].params.clone().unwrap();
        assert_eq!(params.get("unit").and_then(|unit| unit.as_str()), Some("piece"));
        let error = send(&client, request("work", &[(COUNTED, "many")])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{binding}");
        let listed = client.agent().list_tasks(client.call(Default::default())).await.unwrap();
        assert_eq!(listed.activated.to_string(), COUNTED, "{binding}");
        let before = counted.seen.load(Ordering::Relaxed);
        let mut good = request("work", &[]);
        let number = Struct::from([(COUNTED, 2)]);
        good.message.as_mut().unwrap().metadata = Some(number);
        send(&client, good).await.unwrap();
        assert_eq!(counted.seen.load(Ordering::Relaxed), before + 2, "{binding}");
    }
    let client = clients(&url, &[]).await.remove(0).1;
    send(&client, request("work", &[(COUNTED, "many")])).await.unwrap();
}
