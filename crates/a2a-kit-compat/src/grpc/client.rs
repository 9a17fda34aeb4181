//! A client of agents that speak an older revision over gRPC.

use std::{
    future::{Future, ready},
    sync::Arc,
};

use a2a_core::{Error, Operation, ProtocolVersion, Result, Task, v1};
use a2a_kit_grpc::{AddressError, wire};
use a2a_kit_http::{
    client::{ClientSettings, open_stream},
    service_parameters,
};
use a2a_kit_operations::{Agent, CallContext, EventId, EventStream, Reply, intercept_agent};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use http::HeaderValue;
use tonic::{Request, Response, Status, Streaming};

use super::code;
use crate::{
    AnyRequest, AnyResponse,
    client::{Transport, call::CallAny as _, mismatched_response},
    common::{extensions, json::unreadable},
    proto::{self, CreateConfig, Files as _, a2_a_service_client::A2AServiceClient},
};

/// A client of an agent that speaks 0.2, 0.3 or the draft of 1.0 over gRPC. Cheap to clone; clones
/// share their connection.
///
/// Operations that the revision does not have fail with
/// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation). Tenants and the metadata of a
/// cancellation are not sent.
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
    /// The address is `host:port` or a URL, as for [`a2a_kit_grpc::Client::connect`].
    ///
    /// # Errors
    ///
    /// If the address is invalid. The connection is established with the first call.
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

    async fn call_unary<Q, M, F>(
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
        let activated = extensions::read_activated(response.metadata().as_ref());
        Ok(Reply { response: response.into_inner(), activated })
    }

    async fn call_streaming<Q, F>(
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
        let activated = extensions::read_activated(headers);
        // Servers of this implementation send the event id of the first event.
        let mut position = wire::read_position(headers);
        let target = Arc::clone(&self.target);
        let held = wire::HeldMessage::of(response.extensions());
        let events = response.into_inner().filter_map(move |item| {
            held.iter().for_each(wire::HeldMessage::release);
            let read = item.map_err(|status| code::decode(status, operation, &target));
            let read = read.and_then(|event| {
                let id = position;
                position = position.map(EventId::next);
                let mut event = v1::StreamResponse::from(event);
                event.read_text();
                wire::read_event(id, event)
            });
            ready(read.transpose())
        });
        let response = if context.last_event_id.is_some() {
            // The first event after the requested one may take long, and is not a task.
            EventStream::new(events)
        } else {
            // Some servers send metadata before they reject a call.
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
        extensions::rename_header(self.revision, headers);
        request
    }

    fn is_draft(&self) -> bool {
        self.revision >= ProtocolVersion::V1Draft
    }
}

// The settings contain credentials.
a2a_core::debug_fields!(GrpcClient { target, revision, .. });

fn read_config(reply: Reply<proto::TaskPushNotificationConfig>) -> Result<Reply<AnyResponse>> {
    let response = AnyResponse::Config(reply.response.into_v1().map_err(unreadable)?);
    Ok(Reply { response, activated: reply.activated })
}

#[async_trait]
impl Transport for GrpcClient {
    fn revision(&self) -> ProtocolVersion {
        self.revision
    }

    async fn unary(
        &self,
        context: CallContext,
        mut request: AnyRequest,
    ) -> Result<Reply<AnyResponse>> {
        request.write_text();
        let operation = request.operation();
        macro_rules! call {
            ($procedure:ident($message:expr)) => {
                self.call_unary(operation, &context, $message, |mut stub, request| async move {
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
                    return Err(Error::invalid_response(
                        "the response has neither a task nor a message",
                    ));
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
                let message = format!("version {} has no ListTasks", self.revision);
                return Err(Error::unsupported(message));
            }
            AnyRequest::CancelTask(request) => {
                call!(cancel_task(proto::CancelTaskRequest::from(request))).map(task)
            }
            AnyRequest::CreateTaskPushNotificationConfig(request) => {
                let config = CreateConfig::from_v1(request);
                read_config(if self.is_draft() {
                    call!(set_task_push_notification_config(config.into()))
                } else {
                    call!(create_task_push_notification_config(config.into()))
                })?
            }
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                let name = proto::config_name(&request.task_id, &request.id);
                let message = proto::GetTaskPushNotificationConfigRequest { name };
                read_config(call!(get_task_push_notification_config(message)))?
            }
            AnyRequest::ListTaskPushNotificationConfigs(request) => {
                let message = proto::ListTaskPushNotificationConfigRequest::from(request);
                let reply = call!(list_task_push_notification_config(message));
                let response = AnyResponse::Configs(reply.response.into_v1().map_err(unreadable)?);
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
                reply.map(|card| AnyResponse::Card(proto::card_into_v1(card)))
            }
            AnyRequest::SendStreamingMessage(_) | AnyRequest::SubscribeToTask(_) => {
                return Err(mismatched_response());
            }
        };
        reply.response.read_text();
        // Decoding accepts any number as a state.
        reply.response.tasks().try_for_each(Task::require_known_state)?;
        Ok(reply)
    }

    async fn stream(
        &self,
        context: CallContext,
        mut request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        request.write_text();
        let operation = request.operation();
        macro_rules! call {
            ($procedure:ident($message:expr)) => {
                self.call_streaming(operation, &context, $message, |mut stub, request| async move {
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
            _ => Err(mismatched_response()),
        }
    }
}

impl Agent for GrpcClient {
    intercept_agent!(call);
}
