//! Tracing and metrics of calls to an agent.

use std::{any::Any, sync::Arc};

use a2a_core::{Operation, Request, Result};
use a2a_kit_http::uri;
use a2a_kit_operations::{
    Agent, AgentMethod, Call, EventStream, Reply, intercept_agent, trace::ClientSpan,
};
use futures_util::stream;
use tracing::Instrument as _;

use crate::SelectedInterface;

/// Records a span and metrics for each attempt of a call, and propagates the trace context.
pub(crate) struct Traced {
    agent: Arc<dyn Agent>,
    binding: &'static str,
    authority: String,
}

impl Traced {
    /// Wraps the client of an interface.
    pub(crate) fn wrap(agent: Arc<dyn Agent>, selected: &SelectedInterface) -> Arc<dyn Agent> {
        let binding = selected.transport.as_str();
        Arc::new(Self { agent, binding, authority: authority(&selected.interface.url) })
    }

    async fn intercept<R: Request, T: 'static>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let mut called =
            ClientSpan::begin(operation, self.binding, &self.authority, &mut call.context);
        called.record_ids(call.request.task_id(), call.request.context_id());
        let response = next(&*self.agent, call).instrument(called.span().clone());
        let result = response.await;
        called.end(&result);
        Ok(result?.map(|response| keep_open(called, response)))
    }
}

impl Agent for Traced {
    intercept_agent!(intercept);
}

/// Keeps the span of a call open until its stream ends, if the response is a stream.
fn keep_open<T: 'static>(called: ClientSpan, mut response: T) -> T {
    if let Some(stream) = (&mut response as &mut dyn Any).downcast_mut::<EventStream>() {
        let events = std::mem::replace(stream, EventStream::new(stream::empty()));
        *stream = called.keep_open(events);
    }
    response
}

/// Host and port of an interface URL, without the rest, which may contain secrets.
fn authority(url: &str) -> String {
    let parsed = uri::parse(url).or_else(|_error| uri::parse(&format!("https://{url}")));
    let Ok(url) = parsed else { return String::new() };
    let host = url.host().unwrap_or_default();
    url.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authority_contains_only_host_and_port() {
        for (url, expected) in [
            ("https://user:secret@a.example:8443/path?key=secret", "a.example:8443"),
            ("https://a.example/x", "a.example"),
            ("a.example:50051", "a.example:50051"),
            ("user:secret@a.example:50051", "a.example:50051"),
            ("grpc://[::1]:1", "[::1]:1"),
            ("", ""),
        ] {
            assert_eq!(authority(url), expected, "{url}");
        }
    }
}
