//! The operations of a remote agent.

use std::{
    future::{Future, ready},
    sync::Arc,
};

use a2a_core::{
    Operation, Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_kit_http::{
    client::{ClientSettings, open_stream},
    service_parameters,
};
use a2a_kit_operations::{Agent, Call, CallContext, EventId, EventStream, Reply};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use http::{Request as HttpRequest, Response as HttpResponse};
use serde::Serialize;
use tonic::{Request, Response, Status, Streaming, body::Body};
use tower::Service;

use super::{
    address::{self, AddressError},
    channel::{BoxError, Channel},
    failure,
    held_body::HeldMessage,
    observed::Observed,
    response,
};
use crate::{generated::a2_a_service_client::A2AServiceClient, metadata::read_position};

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
    stub: Stub,
    settings: Arc<ClientSettings>,
    target: Arc<str>,
}

type Stub = A2AServiceClient<Channel>;

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
        Self { stub: A2AServiceClient::new(channel), settings: Arc::new(settings), target }
    }

    async fn unary<Q: Serialize, M: Serialize, F>(
        &self,
        operation: Operation,
        call: Call<Q>,
        method: impl FnOnce(Stub, Request<Q>) -> F,
    ) -> Result<Reply<M>>
    where
        F: Future<Output = Result<Response<M>, Status>>,
    {
        let limit = self.settings.max_response_bytes;
        let stub = self.stub.clone().max_decoding_message_size(limit);
        let mut request = request(&call.context, call.request);
        if let Some(timeout) = self.settings.request_timeout {
            request.set_timeout(timeout);
        }
        let seen = Observed::begin(&self.settings, &self.target, operation, &request);
        let response = method(stub, request).await;
        let response = response.inspect_err(|status| seen.status(status));
        let response = response.map_err(|status| self.failure(status, limit))?;
        seen.head(response.metadata());
        seen.message(response.get_ref());
        seen.end();
        // Trailers are part of the metadata: one SDK sends the extensions there.
        let activated = service_parameters::read_activated(response.metadata().as_ref());
        Ok(Reply { response: response.into_inner(), activated })
    }

    async fn streaming<Q: Serialize, F>(
        &self,
        operation: Operation,
        call: Call<Q>,
        method: impl FnOnce(Stub, Request<Q>) -> F,
    ) -> Result<Reply<EventStream>>
    where
        F: Future<Output = Result<Response<Streaming<StreamResponse>>, Status>>,
    {
        let limit = self.settings.max_event_bytes;
        let stub = self.stub.clone().max_decoding_message_size(limit);
        // The first event after the requested one may take long; a rejection does not.
        let await_first = call.context.last_event_id.is_none();
        let request = request(&call.context, call.request);
        let seen = Observed::begin(&self.settings, &self.target, operation, &request);
        let response = method(stub, request).await;
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

    fn failure(&self, status: Status, limit: usize) -> a2a_core::Error {
        failure::decode_within(status, &self.target, limit)
    }
}

// The settings contain credentials.
a2a_core::debug_fields!(Client { target, .. });

fn request<Q>(context: &CallContext, message: Q) -> Request<Q> {
    let mut request = Request::new(message);
    service_parameters::write(context, request.metadata_mut().as_mut());
    request
}

fn with_known_state(reply: Reply<Task>) -> Result<Reply<Arc<Task>>> {
    reply.response.require_known_state()?;
    Ok(reply.map(Arc::new))
}

#[async_trait]
impl Agent for Client {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let reply = self.unary(Operation::SendMessage, call, |mut stub, request| async move {
            stub.send_message(request).await
        });
        let reply = reply.await?;
        response::require_content(&reply.response)?;
        Ok(reply)
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.streaming(Operation::SendStreamingMessage, call, |mut stub, request| async move {
            stub.send_streaming_message(request).await
        })
        .await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let reply = self.unary(Operation::GetTask, call, |mut stub, request| async move {
            stub.get_task(request).await
        });
        with_known_state(reply.await?)
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        let reply: Reply<ListTasksResponse> = self
            .unary(Operation::ListTasks, call, |mut stub, request| async move {
                stub.list_tasks(request).await
            })
            .await?;
        reply.response.tasks.iter().try_for_each(Task::require_known_state)?;
        Ok(reply)
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let reply = self.unary(Operation::CancelTask, call, |mut stub, request| async move {
            stub.cancel_task(request).await
        });
        with_known_state(reply.await?)
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.streaming(Operation::SubscribeToTask, call, |mut stub, request| async move {
            stub.subscribe_to_task(request).await
        })
        .await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.unary(Operation::CreateTaskPushNotificationConfig, call, |mut stub, request| async move {
            stub.create_task_push_notification_config(request).await
        })
        .await
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.unary(Operation::GetTaskPushNotificationConfig, call, |mut stub, request| async move {
            stub.get_task_push_notification_config(request).await
        })
        .await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        self.unary(Operation::ListTaskPushNotificationConfigs, call, |mut stub, request| async move {
            stub.list_task_push_notification_configs(request).await
        })
        .await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.unary(Operation::DeleteTaskPushNotificationConfig, call, |mut stub, request| async move {
            stub.delete_task_push_notification_config(request).await
        })
        .await
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        self.unary(Operation::GetExtendedAgentCard, call, |mut stub, request| async move {
            stub.get_extended_agent_card(request).await
        })
        .await
    }
}
