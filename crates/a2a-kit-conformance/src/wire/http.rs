//! Raw HTTP requests with bounds on time and size.

use std::time::{Duration, Instant};

use a2a_kit_http::client::HttpClient;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, Request};
use serde_json::Value;
use tokio::sync::oneshot;

use super::sse::{RawEvent, SseReader};
use crate::exchange::{RecordedRequest, RecordedResponse, StreamEnd, is_settled};

/// The most of a response that is read, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 4 << 20;

/// The most events of a stream that are read.
pub(super) const MAX_EVENTS: usize = 2000;

/// How long a stream may stay open after the last event of a task.
pub(super) const END_OF_STREAM_GRACE: Duration = Duration::from_millis(1500);

/// Told when the first event of a stream has arrived.
pub(crate) type FirstEvent = Option<oneshot::Sender<()>>;

/// A client for raw requests.
#[derive(Clone, Debug)]
pub(crate) struct RawHttp {
    client: HttpClient,
    timeout: Duration,
}

/// A request and what came back.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) request: RecordedRequest,
    pub(crate) response: RecordedResponse,
    /// The events, if the response is an event stream.
    pub(crate) events: Option<CapturedEvents>,
    /// Why there is no complete response.
    pub(crate) failure: Option<String>,
    pub(crate) elapsed: Duration,
    /// The body while it is read.
    pub(super) body: BytesMut,
}

/// The events of a response.
#[derive(Debug, Default)]
pub(crate) struct CapturedEvents {
    pub(crate) events: Vec<(RawEvent, Duration)>,
    pub(crate) stray: Vec<String>,
    pub(crate) end: StreamEnd,
}

impl RawHttp {
    pub(crate) fn new(client: HttpClient, timeout: Duration) -> Self {
        Self { client, timeout }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and records everything. Never fails: a failure is part of the record.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        first: FirstEvent,
    ) -> Captured {
        let start = Instant::now();
        let mut captured = Captured {
            request: RecordedRequest {
                line: format!("{method} {url}"),
                headers: headers.clone(),
                body: body.clone(),
            },
            ..Captured::default()
        };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        match url.parse() {
            Ok(url) => *request.uri_mut() = url,
            Err(_) => {
                captured.failure = Some(format!("{url:?} is not a URL"));
                return captured;
            }
        }
        let reading = read(&self.client, request, start, self.timeout, first, &mut captured);
        if tokio::time::timeout(self.timeout, reading).await.is_err() {
            match &mut captured.events {
                Some(events) => events.end = StreamEnd::Open,
                None => {
                    captured.failure =
                        Some(format!("no complete response within {:?}", self.timeout));
                }
            }
        }
        captured.response.body = std::mem::take(&mut captured.body).freeze();
        captured.elapsed = start.elapsed();
        captured
    }
}

async fn read(
    client: &HttpClient,
    request: Request<Bytes>,
    start: Instant,
    timeout: Duration,
    mut first: FirstEvent,
    captured: &mut Captured,
) {
    let response = match client.open(request).await {
        Ok(response) => response,
        Err(error) => {
            captured.failure = Some(error.message().to_owned());
            return;
        }
    };
    let (head, mut chunks) = response.into_parts();
    captured.response.status = head.status.as_u16();
    captured.response.headers = head.headers;
    let is_stream = captured.response.media_type() == "text/event-stream";
    if is_stream {
        captured.events = Some(CapturedEvents { end: StreamEnd::Open, ..Default::default() });
    }
    let mut reader = SseReader::default();
    let mut deadline = start + timeout;
    loop {
        let next = tokio::time::timeout_at(deadline.into(), chunks.next()).await;
        let chunk = match next {
            // The stream had its time to end.
            Err(_) => break,
            Ok(None) => {
                if let Some(events) = &mut captured.events {
                    events.end = StreamEnd::Closed;
                }
                break;
            }
            Ok(Some(Err(error))) => {
                let why = error.message().to_owned();
                match &mut captured.events {
                    Some(events) => events.end = StreamEnd::Failed(why),
                    None => captured.failure = Some(why),
                }
                break;
            }
            Ok(Some(Ok(chunk))) => chunk,
        };
        let room = MAX_BODY_BYTES.saturating_sub(captured.body.len());
        captured.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            captured.failure = Some(format!("the response exceeds {MAX_BODY_BYTES} bytes"));
            break;
        }
        let Some(events) = &mut captured.events else { continue };
        for event in reader.push(&chunk) {
            if let Some(first) = first.take() {
                // The receiver may be gone.
                let _gone = first.send(());
            }
            if serde_json::from_slice(&event.joined()).is_ok_and(|value| is_last(&value)) {
                deadline = deadline.min(Instant::now() + END_OF_STREAM_GRACE);
            }
            events.events.push((event, start.elapsed()));
        }
        if events.events.len() >= MAX_EVENTS {
            captured.failure = Some(format!("the stream has more than {MAX_EVENTS} events"));
            break;
        }
    }
    if let Some(events) = &mut captured.events {
        events.events.extend(reader.finish().map(|event| (event, start.elapsed())));
        events.stray = reader.stray().to_vec();
    }
}

/// Returns whether an event of any binding and revision has a state after which a stream is expected
/// to end.
pub(super) fn is_last(value: &Value) -> bool {
    let payload = value.get("result").unwrap_or(value);
    let payload = ["task", "statusUpdate", "status_update"]
        .into_iter()
        .find_map(|member| payload.get(member))
        .unwrap_or(payload);
    payload.pointer("/status/state").and_then(Value::as_str).is_some_and(is_settled)
}
