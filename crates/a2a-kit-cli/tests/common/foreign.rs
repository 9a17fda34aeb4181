//! An agent that is not ours: what it answers to each method is a script.
#![allow(unreachable_pub, reason = "a test file includes it")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::{StreamExt, stream};
use http::{StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::common::{Run, command};

/// One answer of the script.
#[derive(Clone, Debug)]
pub enum Answer {
    Result(Value),
    Error(i32, &'static str),
    Status(u16),
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

/// An agent that is not ours, on JSON-RPC.
#[derive(Debug)]
pub struct Foreign {
    address: String,
    runtime: tokio::runtime::Runtime,
}

impl Foreign {
    /// Starts an agent that declares streaming or doesn't.
    pub fn start(streaming: bool, script: &[(&str, Vec<Answer>)]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let script = script.iter().map(|(method, list)| ((*method).to_owned(), list.clone()));
        let script: Script = Arc::new(Mutex::new(script.collect()));
        let listener = runtime.block_on(a2a_kit_http::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let card = json!({
            "name": "Foreign", "description": "Not ours", "version": "1",
            "supportedInterfaces": [{
                "url": format!("http://{address}/rpc"),
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0"
            }],
            "capabilities": {"streaming": streaming},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": []
        });
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(async move || card.to_string()))
            .fallback(async move |body: Bytes| answer(&script, &body));
        let server = a2a_kit_http::HttpServer::new(router);
        runtime.spawn(server.serve(listener, std::future::pending()));
        Self { address, runtime }
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

fn answer(script: &Script, body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap();
    let method = request["method"].as_str().unwrap();
    let mut script = script.lock().unwrap();
    let answers = script.get_mut(method).unwrap_or_else(|| panic!("{method} is not expected"));
    let next = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
    let envelope = |member: &str, value: Value| {
        json!({"jsonrpc": "2.0", "id": request["id"], member: value}).to_string()
    };
    let json = |body: String| ([(CONTENT_TYPE, "application/json")], body).into_response();
    match next {
        Answer::Result(result) => json(envelope("result", result)),
        Answer::Error(code, message) => {
            json(envelope("error", json!({"code": code, "message": message})))
        }
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
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
    }
}
