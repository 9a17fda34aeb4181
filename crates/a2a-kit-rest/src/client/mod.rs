//! The client: a remote agent at a URL.

mod address;
mod response;

use std::sync::Arc;

use a2a_core::{
    ErrorKind, Operation, Request, Result,
    v1::{SendMessageResponse, Task},
};
use a2a_kit_http::{
    client::{ClientSettings, HttpClient, place_call, read_answer, read_events},
    content_type, service_parameters,
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, EventStream, Reply, intercept_agent,
};
use bytes::Bytes;
use http::{Method, header::CONTENT_TYPE};
use serde::{Serialize, de::DeserializeOwned};

use address::{Address, Base};

/// An agent that is called over HTTP+JSON (spec §11). Implements [`Agent`].
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient,
    base: Base,
}

impl Client {
    /// Creates a client of the agent at `url`, with the default [`ClientSettings`].
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) if `url` is invalid;
    /// [`Internal`](ErrorKind::Internal) if TLS can't be set up.
    pub fn new(url: &str) -> Result<Self> {
        Self::with_http(url, HttpClient::new(ClientSettings::default())?)
    }

    /// Creates a client that uses `http`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) if `url` is invalid.
    pub fn with_http(url: &str, http: HttpClient) -> Result<Self> {
        Ok(Self { http, base: Base::parse(url)? })
    }

    async fn send<R: Request + Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, SendMessageResponse>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.unary(operation, call, response::read_send).await
    }

    async fn task<R: Request + Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, Arc<Task>>,
    ) -> Result<Reply<Arc<Task>>> {
        Ok(self.unary(operation, call, response::read::<Task>).await?.map(Arc::new))
    }

    /// Calls an operation with an empty response, whatever its body is.
    async fn delete<R: Request + Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, ()>,
    ) -> Result<Reply<()>> {
        self.unary(operation, call, |_| Ok(())).await
    }

    async fn plain<R: Request + Serialize, T: DeserializeOwned>(
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
        call: Call<impl Request + Serialize>,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Reply<T>> {
        let Call { context, request } = call;
        let address = Address::of(operation, request)?;
        let response = self.http.send(self.request(operation, context, &address, None)?).await?;
        let (headers, response) = read_answer(response, read)?;
        Ok(Reply { response, activated: service_parameters::read_activated(&headers) })
    }

    async fn stream<R: Request + Serialize>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let Call { context, request } = call;
        let address = Address::of(operation, request)?;
        if operation != Operation::SubscribeToTask {
            return self.open(operation, context, &address, None).await;
        }
        // The proto specifies GET, everything else POST (spec §11.3.2): POST is tried first, then
        // GET.
        match self.open(operation, context.clone(), &address, Some(Method::POST)).await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::MethodNotAllowed | ErrorKind::MethodNotFound
                ) =>
            {
                self.open(operation, context, &address, Some(Method::GET)).await
            }
            reply => reply,
        }
    }

    async fn open(
        &self,
        operation: Operation,
        context: CallContext,
        address: &Address,
        method: Option<Method>,
    ) -> Result<Reply<EventStream>> {
        let after = context.last_event_id;
        let request = self.request(operation, context, address, method)?;
        let response = self.http.open(request).await?;
        let activated = service_parameters::read_activated(response.headers());
        let events =
            read_events(response, self.http.settings(), after, response::read_event).await?;
        Ok(Reply { response: events, activated })
    }

    fn request(
        &self,
        operation: Operation,
        context: CallContext,
        address: &Address,
        method: Option<Method>,
    ) -> Result<http::Request<Bytes>> {
        let mut request = http::Request::new(address.body.clone());
        *request.method_mut() = method.unwrap_or_else(|| address.method.clone());
        *request.uri_mut() = self.base.join(address)?;
        place_call(&mut request, operation, context)?;
        if !address.body.is_empty() {
            request.headers_mut().insert(CONTENT_TYPE, content_type::A2A_JSON);
        }
        Ok(request)
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
