//! Event streams: how they start and end.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{
    Error, ErrorKind, Message, Result,
    v1::{GetTaskRequest, StreamResponse, SubscribeToTaskRequest, stream_response::Payload},
};
use a2a_kit_grpc::{
    Client, ClientSettings,
    operations::{Agent as _, Call, CallContext, Event, EventId, EventStream},
};
use a2a_kit_http::Limits;
use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::{Stream, StreamExt as _, wrappers::UnboundedReceiverStream};
use tonic::transport::Endpoint;

use crate::{
    fake::{Fake, Served, assert_kind, ended, events, opening, working},
    raw,
};

fn subscribe() -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: "t1".into(), ..Default::default() })
}

/// A stream that the test feeds.
fn fed() -> (mpsc::UnboundedSender<Result<Event>>, EventStream) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, EventStream::new(UnboundedReceiverStream::new(receiver)))
}

/// Signals when it is dropped.
struct Watched<S>(S, #[expect(dead_code, reason = "its drop is what counts")] oneshot::Sender<()>);

impl<S: Stream + Unpin> Stream for Watched<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

async fn open(served: &Served, call: Call<SubscribeToTaskRequest>) -> EventStream {
    served.client().subscribe_to_task(call).await.unwrap().response
}

fn position(item: Option<Result<Event>>) -> Option<u64> {
    item.expect("an event").unwrap().id().map(EventId::get)
}

// Servers of other libraries send metadata before they call the agent.
#[tokio::test]
async fn rejection_after_the_metadata_is_an_error_of_the_call() {
    let answer = || async {
        let trailers = http::HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            http::HeaderValue::from_static("5"),
        )]);
        let refusal = StreamBody::new(tokio_stream::iter([Ok::<_, Infallible>(
            Frame::<Bytes>::trailers(trailers),
        )]));
        let mut response = http::Response::new(axum::body::Body::new(refusal));
        let grpc = http::HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
        response
    };
    let served = Served::mounted(Fake::default(), axum::Router::new().fallback(answer)).await;
    assert_kind(served.client().subscribe_to_task(subscribe()).await, ErrorKind::TaskNotFound);
}

//
#[tokio::test]
async fn events_arrive_immediately() {
    let served = Served::new().await;
    let (sender, events) = fed();
    served.agent.stream(events);
    sender.send(Ok(opening(4))).unwrap();
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(4));
    for next in 5..8 {
        sender.send(Ok(working(next))).unwrap();
        assert_eq!(position(stream.next().await), Some(next));
    }
    sender.send(Ok(ended(8))).unwrap();
    drop(sender);
    assert_eq!(position(stream.next().await), Some(8));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn pinging_client_receives_the_whole_stream() {
    const EVENTS: u64 = 2_000;
    let agent = Fake::default();
    let router = a2a_kit_grpc::router(agent.clone()).fallback(a2a_kit_grpc::fallback);
    // Fewer than the client sends.
    let limits = Limits::default().with_max_control_frames(30);
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = a2a_kit_http::HttpServer::new(router).with_limits(limits);
    let server = tokio::spawn(server.serve(listener, std::future::pending()));
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let endpoint = endpoint
        .http2_keep_alive_interval(Duration::from_millis(500))
        .keep_alive_while_idle(true)
        .http2_adaptive_window(true);
    let channel = endpoint.connect().await.unwrap();
    let client = Client::with_channel(channel, ClientSettings::default());
    let (sender, events) = fed();
    agent.stream(events);
    let feeding = tokio::spawn(async move {
        for next in 1..EVENTS {
            let event = if next == 1 { opening(next) } else { working(next) };
            sender.send(Ok(event)).unwrap();
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        sender.send(Ok(ended(EVENTS))).unwrap();
    });
    let mut stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
    for next in 1..=EVENTS {
        assert_eq!(position(stream.next().await), Some(next));
    }
    assert!(stream.next().await.is_none());
    feeding.await.unwrap();
    server.abort();
}

#[tokio::test]
async fn events_without_ids_have_none_at_the_client() {
    let served = Served::new().await;
    served.agent.stream(events(vec![opening(0), ended(0)]));
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), None);
    assert_eq!(position(stream.next().await), None);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn stream_of_a_single_message() {
    let served = Served::new().await;
    let message = Message::agent("hi");
    let payload = Some(Payload::Message(message.clone()));
    served.agent.stream(events(vec![Event::new(None, StreamResponse { payload })]));
    let mut stream = open(&served, subscribe()).await;
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!(event.payload(), Some(&Payload::Message(message)));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn error_before_the_first_event_is_a_plain_status() {
    let served = Served::new().await;
    let failing = EventStream::new(tokio_stream::iter([Err(Error::task_not_found("t1"))]));
    served.agent.stream(failing);
    let answer = served.client().subscribe_to_task(subscribe()).await;
    assert_kind(answer, ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn error_after_the_first_event_is_the_last_item() {
    let served = Served::new().await;
    let failing = [Ok(opening(1)), Err(Error::unsupported("enough"))];
    served.agent.stream(EventStream::new(tokio_stream::iter(failing)));
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    assert_kind(stream.next().await.unwrap(), ErrorKind::UnsupportedOperation);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn truncated_stream_is_unavailable() {
    let served = Served::new().await;
    served.agent.stream(events(vec![opening(1), working(2)]));
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    assert_eq!(position(stream.next().await), Some(2));
    assert_kind(stream.next().await.unwrap(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn stream_of_a_lost_connection_is_unavailable() {
    let served = Served::new().await;
    let (sender, events) = fed();
    served.agent.stream(events);
    sender.send(Ok(opening(1))).unwrap();
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    served.server.abort();
    assert_kind(stream.next().await.unwrap(), ErrorKind::Unavailable);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn draining_server_interrupts_streams() {
    let served = Served::new().await;
    let (sender, events) = fed();
    served.agent.stream(events);
    sender.send(Ok(opening(1))).unwrap();
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    served.drain.start();
    let error = assert_kind(stream.next().await.unwrap(), ErrorKind::Unavailable);
    assert!(error.message().contains("shutting down"), "{error}");
}

#[tokio::test]
async fn disconnected_reader_drops_the_stream_of_the_agent() {
    let served = Served::new().await;
    let (gone, left) = oneshot::channel();
    let (sender, events) = fed();
    served.agent.stream(EventStream::new(Watched(events, gone)));
    sender.send(Ok(opening(1))).unwrap();
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    drop(stream);
    assert!(left.await.is_err(), "the sender is dropped with the stream");
}

#[tokio::test]
async fn canceled_call_drops_an_unopened_stream() {
    let served = Served::new().await;
    let (gone, left) = oneshot::channel();
    let (sender, events) = fed();
    served.agent.stream(EventStream::new(Watched(events, gone)));
    let client = served.client();
    let opening = tokio::spawn(async move { client.subscribe_to_task(subscribe()).await });
    while served.agent.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    opening.abort();
    assert!(left.await.is_err());
    drop(sender);
}

#[tokio::test]
async fn resumed_stream_is_opened_before_the_first_event() {
    let served = Served::new().await;
    let (sender, events) = fed();
    served.agent.stream(events);
    let mut context = CallContext::default();
    context.last_event_id = EventId::new(6);
    let call = Call::from_parts(context, subscribe().request);
    let mut stream = open(&served, call).await;
    sender.send(Ok(ended(7))).unwrap();
    assert_eq!(position(stream.next().await), Some(7));
}

#[tokio::test]
async fn resuming_a_trimmed_log_returns_the_snapshot_id() {
    let served = Served::new().await;
    served.agent.stream(events(vec![opening(40), ended(41)]));
    let mut context = CallContext::default();
    context.last_event_id = EventId::new(6);
    let mut stream = open(&served, Call::from_parts(context, subscribe().request)).await;
    assert_eq!(position(stream.next().await), Some(40));
    assert_eq!(position(stream.next().await), Some(41));
}

#[tokio::test]
async fn gap_in_event_ids_ends_the_stream() {
    let served = Served::new().await;
    served.agent.stream(events(vec![opening(1), working(2), ended(5)]));
    let mut stream = open(&served, subscribe()).await;
    assert_eq!(position(stream.next().await), Some(1));
    assert_eq!(position(stream.next().await), Some(2));
    assert_kind(stream.next().await.unwrap(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn first_event_id_is_in_the_initial_metadata() {
    let agent = Fake::default();
    agent.stream(events(vec![ended(9)]));
    let request = SubscribeToTaskRequest { id: "t1".into(), ..Default::default() };
    let router = a2a_kit_grpc::router(agent);
    let answer = raw::call(router, "SubscribeToTask", request.encode_to_vec(), &[]).await.unwrap();
    assert_eq!(answer.metadata().get("event-position").unwrap(), "9");
    assert_eq!(answer.into_inner(), ended(9).protobuf());
}

#[tokio::test]
async fn only_a_deadline_ends_a_stream() {
    let served = Served::new().await;
    let (sender, events) = fed();
    served.agent.stream(events);
    sender.send(Ok(opening(1))).unwrap();
    let settings = ClientSettings::default().with_request_timeout(Duration::from_millis(10));
    let client = Client::connect_with(&served.address.to_string(), settings).unwrap();
    let mut stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
    assert_eq!(position(stream.next().await), Some(1));
    let quiet = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(quiet.is_err(), "a live stream has no timeout");

    let agent = Fake::default();
    let (sender, events) = fed();
    agent.stream(events);
    sender.send(Ok(opening(1))).unwrap();
    let timeout = [("grpc-timeout", "20m")];
    let request = SubscribeToTaskRequest { id: "t1".into(), ..Default::default() };
    let answer = raw::call(
        a2a_kit_grpc::router(agent),
        "SubscribeToTask",
        request.encode_to_vec(),
        &timeout,
    );
    assert_eq!(answer.await.unwrap_err().code(), tonic::Code::DeadlineExceeded);
}

#[tokio::test]
async fn a_thousand_streams_and_calls_share_a_connection() {
    let served = Served::new().await;
    let client = served.client();
    let mut streams = Vec::new();
    let mut senders = Vec::new();
    for _ in 0..1_000 {
        let (sender, events) = fed();
        sender.send(Ok(opening(1))).unwrap();
        served.agent.stream(events);
        streams.push(client.subscribe_to_task(subscribe()).await.unwrap().response);
        senders.push(sender);
    }
    let get = GetTaskRequest { id: "t1".into(), ..Default::default() };
    client.get_task(Call::new(get)).await.unwrap();
    for (stream, sender) in streams.iter_mut().zip(senders) {
        sender.send(Ok(ended(2))).unwrap();
        assert_eq!(position(stream.next().await), Some(1));
        assert_eq!(position(stream.next().await), Some(2));
    }
}

#[tokio::test]
async fn stalled_reader_does_not_block_others() {
    let served = Served::new().await;
    let client = served.client();
    let many = |count: u64| {
        let updates = (2..count).map(working);
        events(std::iter::once(opening(1)).chain(updates).chain([ended(count)]).collect())
    };
    served.agent.stream(many(20_000));
    let _never_read = client.subscribe_to_task(subscribe()).await.unwrap().response;
    served.agent.stream(many(20_000));
    let stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
    let read: Vec<_> =
        stream.map(|event| event.unwrap().id().map_or(0, EventId::get)).collect().await;
    assert_eq!(read, (1..=20_000).collect::<Vec<_>>());
}
