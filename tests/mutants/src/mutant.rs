//! A mutant and its fault.

use axum::response::Response;
use http::{HeaderMap, request, response};
use serde_json::Value;

use crate::{AgentFault, Exchange, Interface, Texts};

/// An agent with exactly one fault.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The name: what the agent does wrong.
    pub name: &'static str,
    /// The requirement that is broken, by its id in `docs/development/requirements.md`.
    pub requirement: &'static str,
    /// Other requirements that the same fault breaks. They may be reported, and need not be.
    pub also: &'static [&'static str],
    /// The fault.
    pub fault: Fault,
}

/// Where a fault is, and what it does.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The agent behind all bindings.
    Agent(AgentFault),
    /// Callers reach the tasks of each other.
    SharedTasks,
    /// The agent card.
    Card(fn(&mut Value)),
    /// The head of requests, before the server reads it.
    Request(&'static [Interface], fn(&mut request::Parts)),
    /// Requests that get this response instead of the server's.
    Respond(&'static [Interface], fn(&Exchange) -> Option<Response>),
    /// The head of responses.
    Head(&'static [Interface], fn(&Exchange, &mut response::Parts)),
    /// JSON documents: the body of a response, and the data of each event of a stream.
    Json(&'static [Interface], fn(&Exchange, &mut Value)),
    /// The texts of the events of a stream, each with the blank line at its end.
    Events(&'static [Interface], fn(&Exchange, Texts) -> Texts),
    /// gRPC trailers, also where they are the head of a response without messages.
    Trailers(&'static [Interface], fn(&mut HeaderMap)),
}

impl Fault {
    /// The interfaces that the fault is confined to; empty for those that show on all of them.
    pub fn interfaces(&self) -> &'static [Interface] {
        match self {
            Self::Agent(_) | Self::SharedTasks | Self::Card(_) => &[],
            Self::Request(interfaces, _)
            | Self::Respond(interfaces, _)
            | Self::Head(interfaces, _)
            | Self::Json(interfaces, _)
            | Self::Events(interfaces, _)
            | Self::Trailers(interfaces, _) => interfaces,
        }
    }
}
