//! An agent that speaks an older revision over gRPC.

use std::{fmt, future::Future, sync::Arc};

use a2a_core::{Error, ErrorKind, ExtensionSet, Operation, ProtocolVersion, Result, v1};
use a2a_grpc::{AddressError, wire};
use a2a_http::{
    client::{ClientSettings, open_stream},
    service_parameters,
};
use a2a_operations::{CallContext, Event, EventId, EventStream, Reply};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::{Request, Response, Status, Streaming};

use super::code;
use crate::{
    AnyRequest, AnyResponse,
    back::{
        Back,
        operation::{impl_agent, of_another_operation},
    },
    proto::{self, CreateConfig, Files as _, a2_a_service_client::A2AServiceClient},
};

/// The name of `A2A-Extensions` before 1.0.
const X_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// An agent that speaks 0.2, 0.3 or the draft of 1.0 over gRPC. Cheap to clone; clones share
/// their connection.
///
/// What a revision does not have is refused here, with
/// [`UnsupportedOperation`](ErrorKind::UnsupportedOperation). Tenants, and the metadata of a
/// cancellation, do not travel.
#[derive(Clone)]
pub struct GrpcClient {
    stub: Stub,
    revision: ProtocolVersion,
    settings: Arc<ClientSettings>,
    target: Arc<str>,
}

type Stub = A2AServiceClient<wire::Channel>;

impl GrpcClient {
    /// Creates a client of the server at `address`, which speaks `revision`.
    ///
    /// The address is `host:port` or a URL, as for [`a2a_grpc::Client::connect`].
    ///
    /// # Errors
    ///
    /// If the address can't be one. Whether somebody is there shows at the first call.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn connect(
        address: &str,
        revision: ProtocolVersion,
        settings: ClientSettings,
    ) -> Result<Self, AddressError> {
        let channel = wire::channel(address, &settings)?;
        let stub = A2AServiceClient::new(channel);
        Ok(Self { stub, revision, settings: Arc::new(settings), target: address.trim().into() })
    }

    async fn unary<Q, M, F>(
        &self,
        operation: Operation,
        context: &CallContext,
        message: Q,
        method: impl FnOnce(Stub, Request<Q>) -> F,
    ) -> Result<Reply<M>>
    where
        F: Future<Output = Result<Response<M>, Status>>,
    {
        let stub = self.stub.clone().max_decoding_message_size(self.settings.max_response_bytes);
        let mut request = self.request(context, message);
        if let Some(timeout) = self.settings.request_timeout {
            request.set_timeout(timeout);
        }
        let response = method(stub, request).await;
        let response = response.map_err(|status| code::decode(status, operation, &self.target))?;
        let activated = activated(response.metadata().as_ref());
        Ok(Reply { response: response.into_inner(), activated })
    }

    async fn streaming<Q, F>(
        &self,
        operation: Operation,
        context: &CallContext,
        message: Q,
        method: impl FnOnce(Stub, Request<Q>) -> F,
    ) -> Result<Reply<EventStream>>
    where
        F: Future<Output = Result<Response<Streaming<proto::StreamResponse>>, Status>>,
    {
        let stub = self.stub.clone().max_decoding_message_size(self.settings.max_event_bytes);
        let response = method(stub, self.request(context, message)).await;
        let response = response.map_err(|status| code::decode(status, operation, &self.target))?;
        let headers = response.metadata().as_ref();
        let activated = activated(headers);
        // A server of ours says where in the log of the task it begins.
        let mut position = wire::read_position(headers);
        let target = Arc::clone(&self.target);
        let events = response.into_inner().map(move |item| match item {
            Ok(event) if event.payload.is_none() => {
                Err(invalid("there is an event without content"))
            }
            Ok(event) => {
                let id = position;
                position = position.map(EventId::next);
                let mut event = v1::StreamResponse::from(event);
                event.read_text();
                Ok(Event::new(id, event))
            }
            Err(status) => Err(code::decode(status, operation, &target)),
        });
        let response = if context.last_event_id.is_some() {
            // The events after a position may be long in coming, and begin with no task.
            EventStream::new(events)
        } else {
            // Some servers send their metadata before they know whether they refuse.
            open_stream(events).await?
        };
        Ok(Reply { response, activated })
    }

    fn request<Q>(&self, context: &CallContext, message: Q) -> Request<Q> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut().as_mut();
        service_parameters::write(context, headers);
        headers
            .insert(service_parameters::VERSION, HeaderValue::from_static(self.revision.as_str()));
        if !self.is_draft()
            && let Some(extensions) = headers.remove(service_parameters::EXTENSIONS)
        {
            headers.insert(X_EXTENSIONS, extensions);
        }
        request
    }

    fn is_draft(&self) -> bool {
        self.revision >= ProtocolVersion::V1Draft
    }
}

impl fmt::Debug for GrpcClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings have credentials.
        f.debug_struct("GrpcClient")
            .field("target", &self.target)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

fn activated(headers: &HeaderMap) -> ExtensionSet {
    let mut activated = service_parameters::read_activated(headers);
    for line in headers.get_all(X_EXTENSIONS).iter().filter_map(|line| line.to_str().ok()) {
        activated.extend_from_header(line);
    }
    activated
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}

/// Says of an answer what is otherwise said of a request.
fn unreadable(error: Error) -> Error {
    let message = format!("the answer can't be read: {}", error.message());
    Error::new(ErrorKind::InvalidAgentResponse, message).with_source(error)
}

fn registration(reply: Reply<proto::TaskPushNotificationConfig>) -> Result<Reply<AnyResponse>> {
    let response = AnyResponse::Config(reply.response.up().map_err(unreadable)?);
    Ok(Reply { response, activated: reply.activated })
}

#[async_trait]
impl Back for GrpcClient {
    fn revision(&self) -> ProtocolVersion {
        self.revision
    }

    async fn one(
        &self,
        context: CallContext,
        mut request: AnyRequest,
    ) -> Result<Reply<AnyResponse>> {
        request.write_text();
        let operation = request.operation();
        macro_rules! call {
            ($procedure:ident($message:expr)) => {
                self.unary(operation, &context, $message, |mut stub, request| async move {
                    stub.$procedure(request).await
                })
                .await?
            };
        }
        let task = |task: proto::Task| AnyResponse::Task(Arc::new(task.into()));
        let mut reply = match request {
            AnyRequest::SendMessage(request) => {
                let reply = call!(send_message(proto::SendMessageRequest::from(request)));
                if reply.response.payload.is_none() {
                    return Err(invalid("there is neither a task nor a message in the answer"));
                }
                reply.map(|sent| AnyResponse::Sent(sent.into()))
            }
            AnyRequest::GetTask(request) => {
                call!(get_task(proto::GetTaskRequest::from(request))).map(task)
            }
            AnyRequest::ListTasks(request) if self.is_draft() => {
                call!(list_tasks(proto::ListTasksRequest::from(request)))
                    .map(|page| AnyResponse::Tasks(page.into()))
            }
            AnyRequest::ListTasks(_) => {
                let message = format!("tasks can't be listed in version {}", self.revision);
                return Err(Error::unsupported(message));
            }
            AnyRequest::CancelTask(request) => {
                call!(cancel_task(proto::CancelTaskRequest::from(request))).map(task)
            }
            AnyRequest::CreateTaskPushNotificationConfig(request) => {
                let config = CreateConfig::down(request);
                registration(if self.is_draft() {
                    call!(set_task_push_notification_config(config.into()))
                } else {
                    call!(create_task_push_notification_config(config.into()))
                })?
            }
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                let name = proto::config_name(&request.task_id, &request.id);
                let message = proto::GetTaskPushNotificationConfigRequest { name };
                registration(call!(get_task_push_notification_config(message)))?
            }
            AnyRequest::ListTaskPushNotificationConfigs(request) => {
                let message = proto::ListTaskPushNotificationConfigRequest::from(request);
                let reply = call!(list_task_push_notification_config(message));
                let response = AnyResponse::Configs(reply.response.up().map_err(unreadable)?);
                Reply { response, activated: reply.activated }
            }
            AnyRequest::DeleteTaskPushNotificationConfig(request) => {
                let name = proto::config_name(&request.task_id, &request.id);
                let message = proto::DeleteTaskPushNotificationConfigRequest { name };
                call!(delete_task_push_notification_config(message)).map(|()| AnyResponse::Deleted)
            }
            AnyRequest::GetExtendedAgentCard(_) => {
                let reply = if self.is_draft() {
                    call!(get_extended_agent_card(proto::GetExtendedAgentCardRequest {}))
                } else {
                    call!(get_agent_card(proto::GetAgentCardRequest {}))
                };
                reply.map(|card| AnyResponse::Card(proto::card_up(card)))
            }
            AnyRequest::SendStreamingMessage(_) | AnyRequest::SubscribeToTask(_) => {
                return Err(of_another_operation());
            }
        };
        reply.response.read_text();
        Ok(reply)
    }

    async fn events(
        &self,
        context: CallContext,
        mut request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        request.write_text();
        let operation = request.operation();
        macro_rules! call {
            ($procedure:ident($message:expr)) => {
                self.streaming(operation, &context, $message, |mut stub, request| async move {
                    stub.$procedure(request).await
                })
                .await
            };
        }
        match request {
            AnyRequest::SendStreamingMessage(request) => {
                call!(send_streaming_message(proto::SendMessageRequest::from(request)))
            }
            AnyRequest::SubscribeToTask(request) if self.is_draft() => {
                call!(subscribe_to_task(proto::SubscribeToTaskRequest::from(request)))
            }
            AnyRequest::SubscribeToTask(request) => {
                call!(task_subscription(proto::TaskSubscriptionRequest::from(request)))
            }
            _ => Err(of_another_operation()),
        }
    }
}

impl_agent!(GrpcClient);
