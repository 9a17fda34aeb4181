//! Tracing and metrics of calls to an agent.

use std::{any::Any, future::Future, sync::Arc};

use a2a_core::{
    Operation, Request, Result,
    v1::{CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_operations::{Agent, Call, EventStream, Reply, trace::ClientSpan};
use futures_util::stream;
use tracing::Instrument as _;
use url::Url;

use crate::{SelectedInterface, intercept::intercept_agent};

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

    async fn intercept<R, T, F>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        next: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        T: 'static,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        let mut called =
            ClientSpan::begin(operation, self.binding, &self.authority, &mut call.context);
        let (task_id, context_id) = ids(&call.request);
        called.record_ids(task_id, context_id);
        let response = next(self.agent.clone(), call).instrument(called.span().clone());
        let result = response.await;
        called.end(&result);
        Ok(result?.map(|response| keep_open(called, response)))
    }
}

intercept_agent!(Traced);

/// Keeps the span of a call open until its stream ends, if the response is a stream.
fn keep_open<T: 'static>(called: ClientSpan, mut response: T) -> T {
    if let Some(stream) = (&mut response as &mut dyn Any).downcast_mut::<EventStream>() {
        let events = std::mem::replace(stream, EventStream::new(stream::empty()));
        *stream = called.keep_open(events);
    }
    response
}

/// The task id and context id of a request; empty if absent.
fn ids(request: &dyn Any) -> (&str, &str) {
    if let Some(send) = request.downcast_ref::<SendMessageRequest>() {
        let message = send.message.as_ref();
        return message.map_or(("", ""), |message| (&message.task_id, &message.context_id));
    }
    let get = request.downcast_ref::<GetTaskRequest>().map(|request| &request.id);
    let cancel = || request.downcast_ref::<CancelTaskRequest>().map(|request| &request.id);
    let subscribe = || request.downcast_ref::<SubscribeToTaskRequest>().map(|request| &request.id);
    (get.or_else(cancel).or_else(subscribe).map_or("", String::as_str), "")
}

/// Host and port of an interface URL, without the rest, which may contain secrets.
fn authority(url: &str) -> String {
    let parsed = Url::parse(url).ok().filter(Url::has_host);
    let parsed = parsed.or_else(|| Url::parse(&format!("https://{url}")).ok());
    let Some(url) = parsed else { return String::new() };
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
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
