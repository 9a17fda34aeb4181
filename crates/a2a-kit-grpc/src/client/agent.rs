//! The operations of a remote agent.

use std::{future::ready, sync::Arc};

use a2a_core::{
    Error, Operation, Result, SERVICE,
    v1::{ListTasksResponse, SendMessageResponse, StreamResponse, Task},
};
use a2a_kit_http::{
    client::{ClientSettings, open_stream},
    service_parameters,
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, EventId, EventStream, Reply, intercept_agent,
};
use futures_util::StreamExt as _;
use http::{Request as HttpRequest, Response as HttpResponse, uri::PathAndQuery};
use prost::Message;
use serde::Serialize;
use tonic::{GrpcMethod, Request, Status, body::Body, client::Grpc};
use tower::Service;

use super::{
    address::{self, AddressError},
    channel::{BoxError, Channel},
    codec::ClientCodec,
    failure,
    held_body::HeldMessage,
    observed::Observed,
    response,
};
use crate::metadata::read_position;

/// An agent that is called over gRPC.
///
/// Clones share their connection, which is established on first use and after it is lost. A failed
/// connection is an error of kind [`Unavailable`](a2a_core::ErrorKind::Unavailable), with a
/// [`TransportError`](a2a_kit_http::client::TransportError) that tells whether the request was sent.
///
/// Events only have ids if the server is one of this implementation.
///
/// ```no_run
/// use a2a_core::v1::{Message, SendMessageRequest};
/// use a2a_kit_grpc::{Client, operations::{Agent, Call}};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Client::connect("localhost:50051")?;
/// let message = Some(Message::user("hello"));
/// let call = Call::new(SendMessageRequest { message, ..Default::default() });
/// let response = agent.send_message(call).await?.response;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    channel: Channel,
    settings: Arc<ClientSettings>,
    target: Arc<str>,
}

impl Client {
    /// Creates a client of the server at `address`, with the default settings.
    ///
    /// The address is `host:port` or a URL. `https://` and `grpcs://` mean TLS, `http://` and
    /// `grpc://` plaintext. Other addresses mean TLS, except for loopback.
    ///
    /// # Errors
    ///
    /// If the address is invalid. The connection is established with the first call.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn connect(address: &str) -> Result<Self, AddressError> {
        Self::connect_with(address, ClientSettings::default())
    }

    /// Creates a client like [`connect`](Self::connect), with `settings`.
    ///
    /// `headers` become metadata of every call. After `idle_timeout` without data, the connection
    /// is pinged instead of closed: unlike over SSE, a healthy stream may be idle.
    ///
    /// # Errors
    ///
    /// If the address is invalid.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn connect_with(address: &str, settings: ClientSettings) -> Result<Self, AddressError> {
        let uri = address::parse(address)?;
        let target = uri.authority().map_or(address, |authority| authority.as_str()).into();
        let channel = Channel::lazy(uri, &settings)?;
        Ok(Self::over(channel, target, settings))
    }

    /// Creates a client over a custom channel: a [`tonic::transport::Channel`] or any service.
    /// Connection settings are not used.
    pub fn with_channel<S, B>(channel: S, settings: ClientSettings) -> Self
    where
        S: Service<HttpRequest<Body>, Response = HttpResponse<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let channel = Channel::new(channel, &settings);
        Self::over(channel, "the agent".into(), settings)
    }

    fn over(channel: Channel, target: Arc<str>, settings: ClientSettings) -> Self {
        Self { channel, settings: Arc::new(settings), target }
    }

    async fn send<Q: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
        _: AgentMethod<Q, SendMessageResponse>,
    ) -> Result<Reply<SendMessageResponse>> {
        let reply = self.unary(operation, call).await?;
        response::require_content(&reply.response)?;
        Ok(reply)
    }

    async fn task<Q: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
        _: AgentMethod<Q, Arc<Task>>,
    ) -> Result<Reply<Arc<Task>>> {
        let reply: Reply<Task> = self.unary(operation, call).await?;
        reply.response.require_known_state()?;
        Ok(reply.map(Arc::new))
    }

    async fn list<Q: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
        _: AgentMethod<Q, ListTasksResponse>,
    ) -> Result<Reply<ListTasksResponse>> {
        let reply: Reply<ListTasksResponse> = self.unary(operation, call).await?;
        reply.response.tasks.iter().try_for_each(Task::require_known_state)?;
        Ok(reply)
    }

    async fn plain<Q: RpcMessage, M: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
        _: AgentMethod<Q, M>,
    ) -> Result<Reply<M>> {
        self.unary(operation, call).await
    }

    async fn unary<Q: RpcMessage, M: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
    ) -> Result<Reply<M>> {
        let limit = self.settings.max_response_bytes;
        let mut request = request(operation, &call.context, call.request);
        if let Some(timeout) = self.settings.request_timeout {
            request.set_timeout(timeout);
        }
        let seen = Observed::begin(&self.settings, &self.target, operation, &request);
        let codec = ClientCodec::<Q, M>::default();
        let response = self.grpc(limit).unary(request, path(operation)?, codec).await;
        let response = response.inspect_err(|status| seen.status(status));
        let response = response.map_err(|status| self.failure(status, limit))?;
        seen.head(response.metadata());
        seen.message(response.get_ref());
        seen.end();
        // Trailers are part of the metadata: one SDK sends the extensions there.
        let activated = service_parameters::read_activated(response.metadata().as_ref());
        Ok(Reply { response: response.into_inner(), activated })
    }

    async fn streaming<Q: RpcMessage>(
        &self,
        operation: Operation,
        call: Call<Q>,
        _: AgentMethod<Q, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let limit = self.settings.max_event_bytes;
        // The first event after the requested one may take long; a rejection does not.
        let await_first = call.context.last_event_id.is_none();
        let request = request(operation, &call.context, call.request);
        let seen = Observed::begin(&self.settings, &self.target, operation, &request);
        let codec = ClientCodec::<Q, StreamResponse>::default();
        let response = self.grpc(limit).server_streaming(request, path(operation)?, codec).await;
        let response = response.inspect_err(|status| seen.status(status));
        let response = response.map_err(|status| self.failure(status, limit))?;
        seen.head(response.metadata());
        let headers = response.metadata().as_ref();
        let activated = service_parameters::read_activated(headers);
        let mut position = read_position(headers);
        let target = Arc::clone(&self.target);
        let held = HeldMessage::of(response.extensions());
        let events = response.into_inner().filter_map(move |item| {
            held.iter().for_each(HeldMessage::release);
            let event = match item {
                Ok(message) => {
                    seen.message(&message);
                    let id = position;
                    position = position.map(EventId::next);
                    response::read_event(id, message)
                }
                Err(status) => {
                    seen.status(&status);
                    Err(failure::decode_within(status, &target, limit))
                }
            };
            ready(event.transpose())
        });
        // Some servers send metadata before they reject a call.
        let response =
            if await_first { open_stream(events).await? } else { EventStream::new(events) };
        Ok(Reply { response, activated })
    }

    /// A client of tonic whose responses may have `limit` bytes.
    fn grpc(&self, limit: usize) -> Grpc<Channel> {
        Grpc::new(self.channel.clone()).max_decoding_message_size(limit)
    }

    fn failure(&self, status: Status, limit: usize) -> Error {
        failure::decode_within(status, &self.target, limit)
    }
}

// The settings contain credentials.
a2a_core::debug_fields!(Client { target, .. });

/// A request or a response, which the observer gets as JSON.
trait RpcMessage: Message + Serialize + Default + 'static {}

impl<M: Message + Serialize + Default + 'static> RpcMessage for M {}

fn request<Q>(operation: Operation, context: &CallContext, message: Q) -> Request<Q> {
    let mut request = Request::new(message);
    request.extensions_mut().insert(GrpcMethod::new(SERVICE, operation.name()));
    service_parameters::write(context, request.metadata_mut().as_mut());
    request
}

fn path(operation: Operation) -> Result<PathAndQuery> {
    format!("/{SERVICE}/{}", operation.name()).try_into().map_err(Error::internal)
}

impl Agent for Client {
    intercept_agent!(send; send_message);
    intercept_agent!(streaming; send_streaming_message, subscribe_to_task);
    intercept_agent!(task; get_task, cancel_task);
    intercept_agent!(list; list_tasks);
    intercept_agent!(
        plain; create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    );
}
