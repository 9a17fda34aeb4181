//! An agent that is not ours: what it answers to each method is a script.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use http::{
    HeaderMap, StatusCode, Uri,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

use crate::common::{Run, command};

/// One answer of the script.
#[derive(Clone, Debug)]
pub enum Answer {
    Result(Value),
    Error(i32, &'static str),
    Status(u16),
    /// A status with a challenge in `WWW-Authenticate`.
    Challenge(u16, &'static str),
    /// 503 with `Retry-After`, in seconds.
    RetryAfter(u32),
    /// 429 with `Retry-After`, in seconds.
    Limited(u32),
    /// No response.
    Never,
    Text(&'static str),
    /// Events, after which the stream ends, or stays open without another word.
    Events(Vec<Value>, Then),
}

/// What follows the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    End,
    StayOpen,
}

/// The answers to a method, in order; the last one is repeated.
type Script = Arc<Mutex<HashMap<String, Vec<Answer>>>>;

/// A request that the agent received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The JSON-RPC method; `card` for the card.
    pub method: String,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// The JSON-RPC parameters.
    pub params: Value,
    pub at: Instant,
}

impl Received {
    /// The value of a header, if the request has it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// An agent that is not ours, on JSON-RPC. Any GET is answered with its card, unless the script has
/// answers for `card`; the last answer is followed by the card.
#[derive(Debug)]
pub struct Foreign {
    pub address: String,
    received: Arc<Mutex<Vec<Received>>>,
    runtime: tokio::runtime::Runtime,
}

impl Foreign {
    /// Starts an agent that declares streaming or doesn't.
    pub fn start(streaming: bool, script: &[(&str, Vec<Answer>)]) -> Self {
        Self::start_with(script, |card| card["capabilities"]["streaming"] = streaming.into())
    }

    /// Starts an agent whose card is changed by a function.
    pub fn start_with(
        script: &[(&str, Vec<Answer>)],
        change_card: impl FnOnce(&mut Value),
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let script = script.iter().map(|(method, list)| ((*method).to_owned(), list.clone()));
        let script: Script = Arc::new(Mutex::new(script.collect()));
        let listener = runtime.block_on(a2a_kit_http::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut card = json!({
            "name": "Foreign", "description": "Not ours", "version": "1",
            "supportedInterfaces": [{
                "url": format!("http://{address}/rpc"),
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0"
            }],
            "capabilities": {},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": []
        });
        change_card(&mut card);
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let respond = async move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let request = request(uri, headers, &body);
            let response = answer(&script, &card, &request, &body);
            log.lock().unwrap().push(request);
            match response {
                Some(response) => response,
                None => std::future::pending().await,
            }
        };
        let server = a2a_kit_http::HttpServer::new(Router::new().fallback(respond));
        runtime.spawn(server.serve(listener, std::future::pending()));
        Self { address, received, runtime }
    }

    /// The requests so far, with those for the card.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The requests for operations so far.
    pub fn operations(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method != "card").collect()
    }

    /// Runs a client command against this agent.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let _context = self.runtime.enter();
        Run::of(command().args(arguments).args([
            "-a",
            &self.address,
            "--poll-interval",
            "100ms",
            "-o",
            "json",
        ]))
    }
}

fn request(uri: Uri, headers: HeaderMap, body: &[u8]) -> Received {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let method = request["method"].as_str().unwrap_or("card").to_owned();
    Received { method, uri, headers, params: request["params"].clone(), at: Instant::now() }
}

/// The response to a request; `None` for none.
fn answer(script: &Script, card: &Value, received: &Received, body: &[u8]) -> Option<Response> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let method = &*received.method;
    let mut script = script.lock().unwrap();
    let next = match script.get_mut(method) {
        Some(answers) if method == "card" && answers.is_empty() => Answer::Result(card.clone()),
        Some(answers) if method == "card" || answers.len() > 1 => answers.remove(0),
        Some(answers) => answers[0].clone(),
        None if method == "card" => Answer::Result(card.clone()),
        None => panic!("{method} is not expected"),
    };
    let envelope = |member: &str, value: Value| {
        json!({"jsonrpc": "2.0", "id": request["id"], member: value}).to_string()
    };
    let json = |body: String| ([(CONTENT_TYPE, "application/json")], body).into_response();
    let retry_after = |status: StatusCode, seconds: u32| {
        (status, [(RETRY_AFTER, seconds.to_string())]).into_response()
    };
    Some(match next {
        Answer::Never => return None,
        Answer::Result(card) if method == "card" => json(card.to_string()),
        Answer::Result(result) => json(envelope("result", result)),
        Answer::Error(code, message) => {
            json(envelope("error", json!({"code": code, "message": message})))
        }
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::Challenge(status, challenge) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, [(WWW_AUTHENTICATE, challenge)]).into_response()
        }
        Answer::RetryAfter(seconds) => retry_after(StatusCode::SERVICE_UNAVAILABLE, seconds),
        Answer::Limited(seconds) => retry_after(StatusCode::TOO_MANY_REQUESTS, seconds),
        Answer::Text(text) => json(text.to_owned()),
        Answer::Events(events, then) => {
            let frames: Vec<_> = events
                .into_iter()
                .map(|event| {
                    Ok::<_, Infallible>(format!("data: {}\n\n", envelope("result", event)))
                })
                .collect();
            let rest = match then {
                Then::End => stream::empty().left_stream(),
                Then::StayOpen => stream::pending().right_stream(),
            };
            let body = Body::from_stream(stream::iter(frames).chain(rest));
            ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
    })
}
