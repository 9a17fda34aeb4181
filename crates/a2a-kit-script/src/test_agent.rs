//! A test double for agents: returns queued responses, or those of a script, and records the calls
//! that it receives.

use std::{
    any::{Any, TypeId},
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_core::{
    Error, Message, Operation, Request, Result, Task,
    v1::{SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, send_message_response},
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, Event, EventId, EventStream, Reply, intercept_agent,
};
use futures_util::{StreamExt as _, future, stream};

use crate::script::Script;

/// A call that the agent received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceivedCall {
    /// The operation.
    pub operation: Operation,
    /// The tenant of the request; empty without one.
    pub tenant: String,
    /// The context of the call.
    pub context: CallContext,
    /// The message, of sends.
    pub message: Option<Message>,
    /// The task, of subscriptions.
    pub task_id: Option<String>,
}

impl ReceivedCall {
    /// The text of the message; empty for other calls than sends.
    pub fn text(&self) -> String {
        self.message.as_ref().map(Message::text).unwrap_or_default()
    }

    /// The position after which the caller wants to continue a stream.
    pub fn last_event_id(&self) -> Option<u64> {
        self.context.last_event_id.map(EventId::get)
    }
}

/// Stands for a response that never comes.
struct NoResponse;

type Response = Result<Box<dyn Any + Send>>;

/// An agent that returns queued responses, one per call, and records the calls that it receives.
///
/// Clones share the queue and the record, so that one clone can be served while another is asked
/// what it [received](Self::received). Calls beyond the queued responses are answered by its
/// script, and panic without one.
///
/// ```
/// use a2a_core::{Message, v1::SendMessageRequest};
/// use a2a_kit_operations::{Agent, Call};
/// use a2a_kit_script::TestAgent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> a2a_core::Result<()> {
/// let agent = TestAgent::new().then_text("Sunny.").then_text("Rain.");
/// let message = Some(Message::user("Rome today?"));
/// let request = SendMessageRequest { message, ..SendMessageRequest::default() };
/// let reply = agent.send_message(Call::new(request)).await?;
/// assert!(format!("{:?}", reply.response).contains("Sunny."));
/// assert_eq!(agent.received()[0].text(), "Rome today?");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct TestAgent {
    responses: Arc<Mutex<VecDeque<Response>>>,
    received: Arc<Mutex<Vec<ReceivedCall>>>,
    /// Answers calls beyond the queued responses.
    script: Option<Arc<dyn Agent>>,
}

/// Calls beyond the queued responses are answered as the script says.
impl From<Script> for TestAgent {
    fn from(script: Script) -> Self {
        Self { script: Some(script.agent()), ..Self::default() }
    }
}

impl TestAgent {
    /// Creates an agent without responses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Queues a message without a task as the response to a send, of either kind.
    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        let payload = Some(send_message_response::Payload::Message(Message::agent(text.into())));
        self.then(SendMessageResponse { payload })
    }

    /// Queues a task as the response to a send. A stream has the task as its only event, and breaks
    /// off after it unless its state ends or interrupts the task.
    #[must_use]
    pub fn then_task(self, task: Task) -> Self {
        let payload = Some(send_message_response::Payload::Task(task));
        self.then(SendMessageResponse { payload })
    }

    /// Queues a response, of the response type of the operation: `SendMessageResponse`,
    /// `Arc<Task>`, [`EventStream`] and so on.
    #[must_use]
    pub fn then(self, response: impl Any + Send) -> Self {
        lock(&self.responses).push_back(Ok(Box::new(response)));
        self
    }

    /// Queues an error.
    #[must_use]
    pub fn then_fail(self, error: Error) -> Self {
        lock(&self.responses).push_back(Err(error));
        self
    }

    /// Queues a response that never comes.
    #[must_use]
    pub fn then_no_response(self) -> Self {
        self.then(NoResponse)
    }

    /// Queues a stream that breaks off after these events unless they end the task.
    #[must_use]
    pub fn then_stream(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events)))
    }

    /// Queues a stream that stays open after these events.
    #[must_use]
    pub fn then_open_stream(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events).chain(stream::pending())))
    }

    /// The calls so far.
    pub fn received(&self) -> Vec<ReceivedCall> {
        lock(&self.received).clone()
    }

    /// The operations of the calls so far.
    pub fn operations(&self) -> Vec<Operation> {
        self.received().iter().map(|call| call.operation).collect()
    }

    async fn intercept<R: Request, T: 'static>(
        &self,
        operation: Operation,
        call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let subscription = (&call.request as &dyn Any).downcast_ref::<SubscribeToTaskRequest>();
        let sent = (&call.request as &dyn Any).downcast_ref::<SendMessageRequest>();
        lock(&self.received).push(ReceivedCall {
            operation,
            tenant: call.request.tenant().to_owned(),
            context: call.context.clone(),
            message: sent.and_then(|request| request.message.clone()),
            task_id: subscription.map(|request| request.id.clone()),
        });
        let response = lock(&self.responses).pop_front();
        if let (None, Some(script)) = (&response, &self.script) {
            return method(&**script, call).await;
        }
        #[allow(clippy::panic, reason = "a test fails by panicking")]
        let body = response.unwrap_or_else(|| panic!("no response queued for {operation:?}"))?;
        if body.is::<NoResponse>() {
            return future::pending().await;
        }
        let body = if TypeId::of::<T>() == TypeId::of::<EventStream>() {
            body.downcast().map_or_else(|other| other, |response| Box::new(one_event(*response)))
        } else {
            body
        };
        #[allow(clippy::panic, reason = "a test fails by panicking")]
        let response = body
            .downcast()
            .unwrap_or_else(|_| panic!("the response queued for {operation:?} has another type"));
        Ok(Reply::new(*response))
    }
}

/// The response to a streaming send.
fn one_event(response: SendMessageResponse) -> EventStream {
    let event = response.payload.map(|payload| {
        Ok(match payload {
            send_message_response::Payload::Task(task) => Event::from(task),
            send_message_response::Payload::Message(message) => Event::from(message),
        })
    });
    EventStream::new(stream::iter(event))
}

impl Agent for TestAgent {
    intercept_agent!(intercept);
}

impl fmt::Debug for TestAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queued = lock(&self.responses).len();
        f.debug_struct("TestAgent").field("queued", &queued).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
