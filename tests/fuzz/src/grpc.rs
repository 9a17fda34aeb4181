//! Complete gRPC calls, of both packages.

use axum::body::Body;
use http::{HeaderValue, Request, header};

use crate::http::answer;

const SERVICES: [&str; 2] = ["lf.a2a.v1.A2AService", "a2a.v1.A2AService"];
const METHODS: [&str; 12] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "TaskSubscription",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

/// A call: the first byte selects the method, the second whether the length prefix is valid, the
/// rest is the message.
pub(crate) fn call(input: &[u8]) {
    let [method, frame, message @ ..] = input else { return };
    let service = SERVICES[usize::from(method & 1)];
    let method = METHODS[usize::from(method >> 1) % METHODS.len()];
    let mut request = Request::new(Body::empty());
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = format!("/{service}/{method}").parse().expect("a path");
    *request.version_mut() = http::Version::HTTP_2;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    if service == SERVICES[0] {
        headers.insert("a2a-version", HeaderValue::from_static("1.0"));
    }
    let body = if frame & 3 == 3 {
        message.to_vec()
    } else {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let mut body = vec![frame & 1];
        body.extend(length.wrapping_add(u32::from(frame & 2)).to_be_bytes());
        body.extend(message);
        body
    };
    *request.body_mut() = Body::from(body);
    let answer = answer(request);
    assert_eq!(answer.status(), http::StatusCode::OK, "gRPC has its own status");
    let status = answer.headers().get("grpc-status").expect("a status");
    let status: u8 = status.to_str().expect("text").parse().expect("a number");
    // tonic reports malformed frames as INTERNAL, before any of our code.
    assert!(status <= 16 && status != 2, "unexpected status UNKNOWN");
}
