//! The client: a remote agent at a URL.

mod response;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use a2a_core::{
    Error, Operation, Result,
    v1::{SendMessageResponse, Task},
};
use a2a_kit_http::{
    client::{ClientSettings, HttpClient, agent_url, place_call, read_answer, read_events},
    content_type, service_parameters,
};
use a2a_kit_operations::{Agent, AgentMethod, Call, EventStream, Reply, intercept_agent};
use bytes::Bytes;
use http::{Method, Request, Uri, header::CONTENT_TYPE};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// An agent that is called over JSON-RPC (spec §9). Implements [`Agent`].
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient,
    url: Uri,
    last_id: Arc<AtomicU64>,
}

impl Client {
    /// Creates a client of the agent at `url`, with the default [`ClientSettings`].
    ///
    /// Requests are sent to exactly this URL.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if `url` is invalid;
    /// [`Internal`](a2a_core::ErrorKind::Internal) if TLS can't be set up.
    pub fn new(url: &str) -> Result<Self> {
        Self::with_http(url, HttpClient::new(ClientSettings::default())?)
    }

    /// Creates a client that uses `http`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if `url` is invalid.
    pub fn with_http(url: &str, http: HttpClient) -> Result<Self> {
        Ok(Self { http, url: agent_url(url)?, last_id: Arc::default() })
    }

    async fn send<R: Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, SendMessageResponse>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.unary(operation, call, response::read_send).await
    }

    async fn task<R: Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, Arc<Task>>,
    ) -> Result<Reply<Arc<Task>>> {
        Ok(self.unary(operation, call, response::read::<Task>).await?.map(Arc::new))
    }

    /// Calls an operation with an empty response, which peers encode in three ways.
    async fn delete<R: Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, ()>,
    ) -> Result<Reply<()>> {
        Ok(self.unary(operation, call, response::read_optional::<IgnoredAny>).await?.map(drop))
    }

    async fn plain<R: Serialize, T: DeserializeOwned>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.unary(operation, call, response::read).await
    }

    async fn unary<T>(
        &self,
        operation: Operation,
        call: Call<impl Serialize>,
        read: impl FnOnce(u64, &[u8]) -> Result<T>,
    ) -> Result<Reply<T>> {
        let id = self.next_id();
        let response = self.http.send(self.request(operation, id, call)?).await?;
        let (headers, response) = read_answer(response, |body| read(id, body))?;
        Ok(Reply { response, activated: service_parameters::read_activated(&headers) })
    }

    async fn stream<R: Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let id = self.next_id();
        let after = call.context.last_event_id;
        let response = self.http.open(self.request(operation, id, call)?).await?;
        let activated = service_parameters::read_activated(response.headers());
        let read = move |data: &[u8]| response::read_event(id, data);
        let events = read_events(response, self.http.settings(), after, read).await?;
        Ok(Reply { response: events, activated })
    }

    fn request(
        &self,
        operation: Operation,
        id: u64,
        call: Call<impl Serialize>,
    ) -> Result<Request<Bytes>> {
        let mut body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\",\"params\":",
            operation.name()
        )
        .into_bytes();
        serde_json::to_writer(&mut body, &call.request).map_err(Error::internal)?;
        body.push(b'}');

        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        place_call(&mut request, operation, call.context)?;
        request.headers_mut().insert(CONTENT_TYPE, content_type::JSON);
        Ok(request)
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Agent for Client {
    intercept_agent!(send; send_message);
    intercept_agent!(stream; send_streaming_message, subscribe_to_task);
    intercept_agent!(task; get_task, cancel_task);
    intercept_agent!(delete; delete_task_push_notification_config);
    intercept_agent!(
        plain; list_tasks, create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, get_extended_agent_card,
    );
}
