//! gRPC by hand: length-prefixed messages, trailers and status details, without a codec that
//! would hide or repair what the server sends.

use std::time::{Duration, Instant};

use a2a_core::{error_chain, v1};
use a2a_kit_client::credentials::Origin;
use a2a_kit_compat::a2a_v1;
use a2a_kit_http::client::{ClientSettings, Connector};
use base64::{Engine as _, engine::general_purpose::GeneralPurpose};
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Uri, uri::Scheme};
use http_body_util::{BodyExt as _, Full};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tonic::{
    body::Body,
    transport::{Channel, Endpoint},
};
use tower::ServiceExt as _;

use super::http::{Captured, END_OF_STREAM_GRACE, FirstEvent, MAX_BODY_BYTES, MAX_EVENTS, is_last};
use crate::exchange::{
    Answer, ErrorAnswer, Event, EventStream, RecordedRequest, StreamEnd, is_streaming, text,
};

/// Base64 of metadata, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    base64::engine::general_purpose::NO_PAD
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

/// A connection to a gRPC interface.
#[derive(Clone, Debug)]
pub(super) struct GrpcLink {
    channel: Channel,
    address: Uri,
}

/// What one call is, before it is sent.
pub(super) struct GrpcCall<'a> {
    /// The name of the operation, which decides how messages are read.
    pub(super) operation: &'a str,
    pub(super) message: Vec<u8>,
    pub(super) is_legacy: bool,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
}

impl GrpcLink {
    /// Prepares a connection. `https` and `grpcs` mean TLS, as does an address without a scheme
    /// unless it is a loopback address.
    pub(super) fn new(address: &str, settings: &ClientSettings) -> Result<Self, String> {
        let address = parse(address)?;
        let mut parts = address.clone().into_parts();
        // TLS is up to the connector, not to tonic.
        let scheme = parts.scheme.replace(Scheme::HTTP).unwrap_or(Scheme::HTTP);
        let plain = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        let connector = Connector::new(settings, scheme).map_err(|error| error.to_string())?;
        let endpoint = Endpoint::from(plain)
            .origin(address.clone())
            .connect_timeout(settings.connect_timeout)
            .user_agent(settings.user_agent.as_str())
            .map_err(|error| error.to_string())?;
        Ok(Self { channel: endpoint.connect_with_connector_lazy(connector), address })
    }

    /// Makes a call and records everything. Never fails: a failure is part of the record.
    pub(super) async fn call(&self, call: GrpcCall<'_>, first: FirstEvent) -> (Captured, Answer) {
        let start = Instant::now();
        let package = if call.is_legacy { "a2a.v1" } else { "lf.a2a.v1" };
        let path = format!("/{package}.A2AService/{}", call.operation);
        let mut framed = BytesMut::with_capacity(call.message.len() + 5);
        framed.extend_from_slice(&[0]);
        let length = u32::try_from(call.message.len()).unwrap_or(u32::MAX);
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(&call.message);
        let sent = RecordedRequest {
            line: format!("gRPC {}{path}", self.address.to_string().trim_end_matches('/')),
            headers: call.headers.clone(),
            body: Bytes::new(),
        };
        let mut record = Record {
            captured: Captured { request: sent, ..Captured::default() },
            messages: Vec::new(),
            end: StreamEnd::Open,
        };
        let mut request = Request::new(Body::new(Full::new(framed.freeze())));
        *request.method_mut() = http::Method::POST;
        *request.headers_mut() = call.headers.clone();
        request.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
        request.headers_mut().insert("te", HeaderValue::from_static("trailers"));
        if let Ok(path) = path.parse() {
            *request.uri_mut() = path;
        }
        let is_streaming = is_streaming(call.operation);
        let reading = read(self.channel.clone(), request, &call, start, first, &mut record);
        if tokio::time::timeout(call.timeout, reading).await.is_err() && !is_streaming {
            let why = format!("no complete response within {:?}", call.timeout);
            record.captured.failure = Some(why);
        }
        let answer = record.answer(is_streaming);
        let lines: Vec<_> = record.messages.iter().map(|event| event.value.to_string()).collect();
        record.captured.response.body = lines.join("\n").into();
        record.captured.elapsed = start.elapsed();
        (record.captured, answer)
    }
}

/// What has arrived so far.
struct Record {
    captured: Captured,
    messages: Vec<Event>,
    end: StreamEnd,
}

impl Record {
    fn answer(&self, is_streaming: bool) -> Answer {
        let status = self.status();
        let error = status.filter(|code| *code != 0).map(|code| self.error(code));
        let failure = &self.captured.failure;
        if is_streaming && (!self.messages.is_empty() || error.is_none() && failure.is_none()) {
            let end = failure.clone().map_or_else(|| self.end.clone(), StreamEnd::Failed);
            let events = self.messages.clone();
            return Answer::Events(EventStream { events, error, end, framing: Vec::new() });
        }
        match (error, failure, self.messages.first()) {
            (Some(error), ..) => Answer::Error(error),
            (None, Some(why), _) => Answer::Unusable(why.clone()),
            (None, None, Some(message)) => Answer::Result(message.value.clone()),
            (None, None, None) if status.is_none() => {
                let status = self.captured.response.status;
                Answer::Unusable(format!("HTTP {status} without a `grpc-status`"))
            }
            (None, None, None) => Answer::Unusable("status OK without a message".to_owned()),
        }
    }

    /// `grpc-status`, of the trailers or of a response that is trailers only.
    fn status(&self) -> Option<i64> {
        self.header("grpc-status")?.parse().ok()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let response = &self.captured.response;
        response.trailers.get(name).or_else(|| response.headers.get(name))?.to_str().ok()
    }

    fn error(&self, code: i64) -> ErrorAnswer {
        let message = self.header("grpc-message").map(|text| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        });
        let details = self
            .header("grpc-status-details-bin")
            .and_then(|text| BASE64.decode(text).ok())
            .and_then(|bytes| tonic_types::Status::decode(bytes.as_slice()).ok());
        let details: Vec<_> =
            details.iter().flat_map(|status| &status.details).map(detail).collect();
        ErrorAnswer::read(&json!({ "code": code, "message": message, "details": details }))
    }
}

/// A detail as JSON.
fn detail(any: &prost_types::Any) -> Value {
    let mut value = match any.type_url.rsplit('/').next() {
        Some("google.rpc.ErrorInfo") => match tonic_types::pb::ErrorInfo::decode(&*any.value) {
            Ok(info) => {
                json!({ "reason": info.reason, "domain": info.domain, "metadata": info.metadata })
            }
            Err(error) => json!({ "malformed": error.to_string() }),
        },
        Some("google.rpc.BadRequest") => match tonic_types::pb::BadRequest::decode(&*any.value) {
            Ok(request) => {
                let violation = |violation: &tonic_types::pb::bad_request::FieldViolation| json!({ "field": violation.field, "description": violation.description });
                let all: Vec<_> = request.field_violations.iter().map(violation).collect();
                json!({ "fieldViolations": all })
            }
            Err(error) => json!({ "malformed": error.to_string() }),
        },
        _ => json!({}),
    };
    value["@type"] = Value::String(any.type_url.clone());
    value
}

async fn read(
    channel: Channel,
    request: Request<Body>,
    call: &GrpcCall<'_>,
    start: Instant,
    mut first: FirstEvent,
    record: &mut Record,
) {
    let response = match channel.oneshot(request).await {
        Ok(response) => response,
        Err(error) => {
            record.captured.failure = Some(error_chain(&error));
            return;
        }
    };
    let (head, mut body) = response.into_parts();
    record.captured.response.status = head.status.as_u16();
    record.captured.response.headers = head.headers;
    let mut buffer = BytesMut::new();
    let mut total = 0;
    let mut deadline = start + call.timeout;
    loop {
        let frame = match tokio::time::timeout_at(deadline.into(), body.frame()).await {
            Err(_) => return,
            Ok(None) => {
                record.end = StreamEnd::Closed;
                return;
            }
            Ok(Some(Err(error))) => {
                record.captured.failure = Some(error_chain(&error));
                return;
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    record.captured.response.trailers = trailers;
                    record.end = StreamEnd::Closed;
                }
                continue;
            }
        };
        total += data.len();
        if total > MAX_BODY_BYTES {
            record.captured.failure = Some(format!("the response exceeds {MAX_BODY_BYTES} bytes"));
            return;
        }
        buffer.extend_from_slice(&data);
        while let Some(message) = take_message(&mut buffer) {
            match message.and_then(|bytes| decode(call, &bytes)) {
                Ok(value) => {
                    if let Some(first) = first.take() {
                        // The receiver may be gone.
                        let _gone = first.send(());
                    }
                    if is_last(&value) {
                        deadline = deadline.min(Instant::now() + END_OF_STREAM_GRACE);
                    }
                    record.messages.push(Event { value, at: start.elapsed() });
                }
                Err(why) => {
                    record.captured.failure = Some(why);
                    return;
                }
            }
        }
        if record.messages.len() >= MAX_EVENTS {
            record.captured.failure =
                Some(format!("the stream has more than {MAX_EVENTS} messages"));
            return;
        }
    }
}

/// Takes a length-prefixed message, if it is complete.
fn take_message(buffer: &mut BytesMut) -> Option<Result<Bytes, String>> {
    let prefix = buffer.get(..5)?;
    let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    if prefix[0] != 0 {
        return Some(Err("a compressed message, which was not asked for".to_owned()));
    }
    if length > MAX_BODY_BYTES {
        return Some(Err(format!("a message of {length} bytes")));
    }
    if buffer.len() < 5 + length {
        return None;
    }
    buffer.advance(5);
    Some(Ok(buffer.split_to(length).freeze()))
}

/// Writes the request of an operation; the parameters are in the ProtoJSON of the revision.
pub(super) fn encode(operation: &str, params: &Value, is_legacy: bool) -> Result<Vec<u8>, String> {
    match operation {
        "SendMessage" | "SendStreamingMessage" if is_legacy => {
            write::<a2a_v1::SendMessageRequest>(params)
        }
        // The requests for a task have its resource name only.
        _ if is_legacy => {
            let name = format!("tasks/{}", text(params, "id"));
            write::<a2a_v1::GetTaskRequest>(&json!({ "name": name }))
        }
        "SendMessage" | "SendStreamingMessage" => write::<v1::SendMessageRequest>(params),
        "GetTask" => write::<v1::GetTaskRequest>(params),
        "ListTasks" => write::<v1::ListTasksRequest>(params),
        "CancelTask" => write::<v1::CancelTaskRequest>(params),
        "SubscribeToTask" => write::<v1::SubscribeToTaskRequest>(params),
        "CreateTaskPushNotificationConfig" => write::<v1::TaskPushNotificationConfig>(params),
        "GetTaskPushNotificationConfig" => {
            write::<v1::GetTaskPushNotificationConfigRequest>(params)
        }
        "ListTaskPushNotificationConfigs" => {
            write::<v1::ListTaskPushNotificationConfigsRequest>(params)
        }
        "DeleteTaskPushNotificationConfig" => {
            write::<v1::DeleteTaskPushNotificationConfigRequest>(params)
        }
        "GetExtendedAgentCard" => write::<v1::GetExtendedAgentCardRequest>(params),
        // A method that no server has takes any message.
        _ => Ok(Vec::new()),
    }
}

fn write<M: Message + DeserializeOwned>(params: &Value) -> Result<Vec<u8>, String> {
    let message: M =
        serde_json::from_str(&params.to_string()).map_err(|error| error.to_string())?;
    Ok(message.encode_to_vec())
}

/// Reads a message as JSON.
fn decode(call: &GrpcCall<'_>, bytes: &[u8]) -> Result<Value, String> {
    match call.operation {
        "GetTask" | "CancelTask" if call.is_legacy => value::<a2a_v1::Task>(bytes),
        "SendMessage" if call.is_legacy => value::<a2a_v1::SendMessageResponse>(bytes),
        _ if call.is_legacy => value::<a2a_v1::StreamResponse>(bytes),
        "SendMessage" => value::<v1::SendMessageResponse>(bytes),
        "SendStreamingMessage" | "SubscribeToTask" => value::<v1::StreamResponse>(bytes),
        "GetTask" | "CancelTask" => value::<v1::Task>(bytes),
        "ListTasks" => value::<v1::ListTasksResponse>(bytes),
        "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig" => {
            value::<v1::TaskPushNotificationConfig>(bytes)
        }
        "ListTaskPushNotificationConfigs" => {
            value::<v1::ListTaskPushNotificationConfigsResponse>(bytes)
        }
        "GetExtendedAgentCard" => value::<v1::AgentCard>(bytes),
        _ => Ok(json!({})),
    }
}

fn value<M: Message + Default + Serialize>(bytes: &[u8]) -> Result<Value, String> {
    let message = M::decode(bytes).map_err(|error| format!("malformed message: {error}"))?;
    serde_json::to_value(message).map_err(|error| format!("a message without a JSON form: {error}"))
}

/// Parses `host:port` or a URL.
fn parse(address: &str) -> Result<Uri, String> {
    let origin = address.trim().parse::<Origin>().map_err(|error| error.to_string())?;
    origin.to_string().parse().map_err(|error: http::uri::InvalidUri| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_scheme_are_parsed() {
        for (address, expected) in [
            ("localhost:50051", "http://localhost:50051/"),
            ("[::1]:1", "http://[::1]:1/"),
            ("agent.example:443", "https://agent.example:443/"),
            ("grpc://agent.example:1/x", "http://agent.example:1/"),
        ] {
            assert_eq!(parse(address).unwrap(), expected, "{address}");
        }
        assert!(parse("ftp://x").is_err() && parse("a b").is_err());
    }

    #[test]
    fn messages_are_taken_when_they_are_complete() {
        let mut buffer = BytesMut::from(&[0, 0, 0, 0, 2, 7][..]);
        assert!(take_message(&mut buffer).is_none());
        buffer.extend_from_slice(&[8, 0]);
        assert_eq!(take_message(&mut buffer).unwrap().unwrap(), [7, 8][..]);
        assert!(take_message(&mut buffer).is_none());
        let mut compressed = BytesMut::from(&[1, 0, 0, 0, 0][..]);
        assert!(take_message(&mut compressed).unwrap().is_err());
    }
}
