//! Complete requests to a server: every binding over HTTP and every revision.

use std::{cell::RefCell, future, time::Duration};

use a2a_kit::Server;
use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};
use tower::ServiceExt as _;

use crate::agent::{Parrot, parrot_card};

/// Timeout of a response on the paused clock of the runtime.
const TIMEOUT: Duration = Duration::from_secs(3600);

thread_local! {
    static SERVER: RefCell<(Runtime, Router)> = RefCell::new({
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let mounted = {
            let _entered = runtime.enter();
            Server::new(Parrot, parrot_card())
                .mount(([127, 0, 0, 1], 8080).into(), future::pending())
                .expect("the card is valid")
        };
        (runtime, mounted.router())
    });
}

/// Calls the server with a request and reads the complete response.
pub(crate) fn answer(request: Request<Body>) -> Response<Bytes> {
    SERVER.with_borrow(|(runtime, router)| {
        let answer = async {
            let Ok(response) = router.clone().oneshot(request).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await;
            let trailers = body.as_ref().ok().and_then(|body| body.trailers().cloned());
            let mut response = Response::from_parts(
                parts,
                body.map(http_body_util::Collected::to_bytes).unwrap_or_default(),
            );
            response.headers_mut().extend(trailers.unwrap_or_default());
            response
        };
        runtime.block_on(async { timeout(TIMEOUT, answer).await }).expect("an answer")
    })
}

/// A JSON-RPC call: any method, path, headers and body.
pub(crate) fn jsonrpc(input: &[u8]) {
    let Some(mut request) = read(input) else { return };
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/");
    let answer = answer(request);
    if is_json(answer.headers()) && answer.status() == StatusCode::OK {
        let answer: serde_json::Value =
            serde_json::from_slice(answer.body()).expect("the answer is JSON");
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        let outcome = (answer.get("result").is_some(), answer.get("error").is_some());
        assert!(matches!(outcome, (true, false) | (false, true)), "{answer}");
        assert_ne!(answer["error"]["code"], -32603, "nothing fails inside: {answer}");
    }
    check(&answer);
}

/// An HTTP+JSON call: any method, path, headers and body.
pub(crate) fn rest(input: &[u8]) {
    let Some(request) = read(input) else { return };
    check(&answer(request));
}

fn check(answer: &Response<Bytes>) {
    let status = answer.status();
    let fails = [StatusCode::NOT_IMPLEMENTED, StatusCode::HTTP_VERSION_NOT_SUPPORTED];
    assert!(
        !status.is_server_error() || fails.contains(&status),
        "{status}: {}",
        String::from_utf8_lossy(answer.body())
    );
    if is_json(answer.headers()) && !answer.body().is_empty() {
        serde_json::from_slice::<serde::de::IgnoredAny>(answer.body()).expect("the answer is JSON");
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(http::header::CONTENT_TYPE);
    media_type.is_some_and(|media_type| media_type.as_bytes().ends_with(b"json"))
}

/// Parses a request in HTTP/1.1 syntax, as far as it is valid.
pub(crate) fn read(input: &[u8]) -> Option<Request<Body>> {
    let end = input.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = match end {
        Some(end) => (&input[..end], &input[end + 2..]),
        None => (input, &[][..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut words = lines.next()?.split(|byte| *byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let uri = Uri::try_from(words.next()?).ok()?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request.headers_mut().append(name, value);
    }
    Some(request)
}
