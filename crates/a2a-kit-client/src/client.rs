//! A client of an agent.

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

#[cfg(doc)]
use a2a_core::ErrorKind;
use a2a_core::{
    AgentCard, Result, Task,
    v1::{
        AgentInterface, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, ListTasksResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{Agent, Call, CallContext};

use crate::{
    DiscoveryError, Events, Listing, MessageRequest, SelectedInterface, SendOutcome,
    UpdateDelivery, candidate::Candidates, client_event::Observer, preflight::SharedCard,
};

/// A client of one agent, cheap to clone.
///
/// It selects an interface of the agent's card, sends version and tenant with every request,
/// rejects operations that the card does not support, retries requests where that is safe, and
/// resumes interrupted streams.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = a2a_kit_client::Client::connect("localhost:8080").await?;
/// let outcome = client.send("What is the weather?").await?;
/// assert_eq!(outcome.text(), "It rains.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) agent: Arc<dyn Agent>,
    /// The agent as a [`Watch`](crate::Watch) that may poll calls it.
    pub(crate) watched: Arc<dyn Agent>,
    pub(crate) card: SharedCard,
    pub(crate) candidates: Arc<Candidates>,
    pub(crate) context: CallContext,
    pub(crate) observer: Observer,
    /// The maximum size of a task that is assembled from events, in bytes.
    pub(crate) max_task_bytes: usize,
}

impl Client {
    /// Fetches the card of an agent and selects an interface, with default settings.
    ///
    /// Does not connect to the interface yet. The reference is one of:
    ///
    /// | Reference | The card |
    /// |---|---|
    /// | `host`, `host:port`, `https://host` | `/.well-known/agent-card.json` of the host; without a scheme, `http` for loopback, else `https` |
    /// | `https://host/echo` | that URL, or else `/echo/.well-known/agent-card.json` |
    /// | `https://host/cards/echo.json`, `https://host/card?agent=echo` | that URL only |
    /// | `file://…`, `./card.json`, `/etc/card.json` | that file |
    ///
    /// An agent without a card, such as one that serves gRPC only, is called by
    /// [`from_agent`](Self::from_agent) with the client of its binding.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if there is no card, or if it has no supported interface.
    pub async fn connect(reference: &str) -> Result<Self, DiscoveryError> {
        Self::builder().connect(reference).await
    }

    /// Creates a client of an existing agent, such as an engine in this process, or the client of
    /// one binding for an agent without a card.
    ///
    /// `card` declares the capabilities; its interfaces are ignored.
    ///
    /// ```
    /// use a2a_core::AgentCard;
    /// use a2a_kit_client::Client;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let grpc = a2a_kit_grpc::Client::connect("127.0.0.1:50051")?;
    /// let card = AgentCard::new("Echo", "Repeats its input").with_streaming(true);
    /// let client = Client::from_agent(grpc, card);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_agent(agent: impl Agent, card: AgentCard) -> Self {
        Self::builder().build_from_agent(agent, card)
    }

    /// The agent card in use: the initial one, or the extended card once it has been fetched.
    pub fn card(&self) -> Arc<AgentCard> {
        self.card.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The active interface, which may change until one has responded; `None` for a client of an
    /// existing agent.
    pub fn interface(&self) -> Option<&AgentInterface> {
        self.selected_interface().map(|selected| &selected.interface)
    }

    /// The active interface with its binding and the protocol version that is used.
    pub fn selected_interface(&self) -> Option<&SelectedInterface> {
        self.candidates.interfaces.get(self.candidates.active_index())
    }

    /// Obtains the credentials that the agent's card requires before the first request: requests
    /// have a timeout, and users may take longer to sign in. Only the credential sources limit the
    /// time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unauthenticated`] if that fails, [`ErrorKind::Unavailable`] if an authorization
    /// server is unreachable; the source is a
    /// [`CredentialError`](a2a_kit_auth::client::CredentialError).
    pub async fn authenticate(&self) -> Result<()> {
        let index = self.candidates.active_index();
        if let Some(credentials) = self.candidates.credentials.get(index) {
            credentials.credential().await?;
        }
        Ok(())
    }

    /// The context of every request: extensions, service parameters.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Returns a client of the same agent with another context.
    #[must_use]
    pub fn with_context(&self, context: CallContext) -> Self {
        Self { context, ..self.clone() }
    }

    /// The underlying agent, with tenant, retries and resumption. The methods below call it; its
    /// replies include the activated extensions.
    pub fn agent(&self) -> Arc<dyn Agent> {
        self.agent.clone()
    }

    /// The agent as a watch calls it.
    pub(crate) fn agent_of(&self, delivery: UpdateDelivery) -> &dyn Agent {
        match delivery {
            UpdateDelivery::Any | UpdateDelivery::Polling => &*self.watched,
            UpdateDelivery::Streaming => &*self.agent,
        }
    }

    /// Creates a call for [`agent`](Self::agent) with this client's context.
    pub fn call<R>(&self, request: R) -> Call<R> {
        Call::from_parts(self.context.clone(), request)
    }

    /// Sends a message and waits for the outcome (spec §3.1.1).
    ///
    /// A send is retried only if nothing was sent, or if the agent's card declares that the agent
    /// deduplicates retried sends.
    ///
    /// # Errors
    ///
    /// Any error of the agent; [`ErrorKind::Unavailable`] if it is unreachable,
    /// [`ErrorKind::DeadlineExceeded`] if the request times out.
    pub async fn send(&self, message: impl Into<MessageRequest>) -> Result<SendOutcome> {
        let call = self.call(message.into().into_request());
        self.agent.send_message(call).await?.response.try_into()
    }

    /// Sends a text and returns the text of the outcome.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_text(&self, text: impl Into<String>) -> Result<String> {
        Ok(self.send(text.into()).await?.text())
    }

    /// Sends a message and streams the events (spec §3.1.2).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::UnsupportedOperation`] if the card does not declare
    /// streaming.
    pub async fn stream(&self, message: impl Into<MessageRequest>) -> Result<Events> {
        let call = self.call(message.into().into_request());
        let reply = self.agent.send_streaming_message(call).await?;
        Ok(Events::of_send(reply, self.max_task_bytes))
    }

    /// Subscribes to a task that has not ended; the first event is its current state (spec §3.1.6).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedOperation`] if the task has ended, or if the card does not declare
    /// streaming.
    pub async fn subscribe(&self, task_id: impl Into<String>) -> Result<Events> {
        let request = SubscribeToTaskRequest { id: task_id.into(), ..Default::default() };
        let reply = self.agent.subscribe_to_task(self.call(request)).await?;
        Ok(Events::of_subscription(reply, self.max_task_bytes))
    }

    /// Returns a task, with as much history as the agent provides (spec §3.1.3).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotFound`] if the caller has no such task.
    pub async fn get(&self, task_id: impl Into<String>) -> Result<Arc<Task>> {
        self.get_limited(task_id.into(), None).await
    }

    /// Returns a task with at most the newest `history` messages.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn get_with_history(
        &self,
        task_id: impl Into<String>,
        history: u16,
    ) -> Result<Arc<Task>> {
        self.get_limited(task_id.into(), Some(history.into())).await
    }

    async fn get_limited(&self, id: String, history_length: Option<i32>) -> Result<Arc<Task>> {
        let request = GetTaskRequest { id, history_length, ..Default::default() };
        Ok(self.agent.get_task(self.call(request)).await?.response)
    }

    /// Lists the caller's tasks that match `filter`, newest first, page by page (spec §3.1.4).
    ///
    /// ```no_run
    /// # async fn example(client: a2a_kit_client::Client) -> a2a_core::Result<()> {
    /// let tasks = client.list(Default::default()).try_collect().await?;
    /// println!("{} tasks", tasks.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, filter: ListTasksRequest) -> Listing<Task> {
        let client = self.clone();
        Listing::new(filter.page_token.clone(), move |page_token| {
            let client = client.clone();
            let request = ListTasksRequest { page_token, ..filter.clone() };
            async move {
                let page = client.list_page(request).await?;
                Ok((page.tasks, page.next_page_token))
            }
        })
    }

    /// Returns one page of tasks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParams`] for a page size or page token that the agent rejects.
    pub async fn list_page(&self, request: ListTasksRequest) -> Result<ListTasksResponse> {
        Ok(self.agent.list_tasks(self.call(request)).await?.response)
    }

    /// Cancels a task and returns its new state (spec §3.1.5).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotCancelable`] if the task has already ended.
    pub async fn cancel(&self, task_id: impl Into<String>) -> Result<Arc<Task>> {
        let request = CancelTaskRequest { id: task_id.into(), ..Default::default() };
        Ok(self.agent.cancel_task(self.call(request)).await?.response)
    }

    /// Registers a webhook for a task; the agent assigns an id if it has none (spec §3.1.7).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PushNotificationNotSupported`] if the card does not declare push notifications.
    pub async fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig> {
        let call = self.call(config);
        Ok(self.agent.create_task_push_notification_config(call).await?.response)
    }

    /// Returns a webhook of a task (spec §3.1.8).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotFound`] if there is no such task or webhook.
    pub async fn push_config(
        &self,
        task_id: impl Into<String>,
        id: impl Into<String>,
    ) -> Result<TaskPushNotificationConfig> {
        let request = GetTaskPushNotificationConfigRequest {
            task_id: task_id.into(),
            id: id.into(),
            ..Default::default()
        };
        let call = self.call(request);
        Ok(self.agent.get_task_push_notification_config(call).await?.response)
    }

    /// Lists the webhooks of a task, page by page (spec §3.1.9).
    pub fn push_configs(&self, task_id: &str) -> Listing<TaskPushNotificationConfig> {
        let client = self.clone();
        let task_id = task_id.to_owned();
        Listing::new(String::new(), move |page_token| {
            let client = client.clone();
            let request = ListTaskPushNotificationConfigsRequest {
                task_id: task_id.clone(),
                page_token,
                ..Default::default()
            };
            async move {
                let call = client.call(request);
                let page = client.agent.list_task_push_notification_configs(call).await?.response;
                Ok((page.configs, page.next_page_token))
            }
        })
    }

    /// Removes a webhook of a task (spec §3.1.10).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotFound`] if there is no such task.
    pub async fn delete_push_config(
        &self,
        task_id: impl Into<String>,
        id: impl Into<String>,
    ) -> Result<()> {
        let request = DeleteTaskPushNotificationConfigRequest {
            task_id: task_id.into(),
            id: id.into(),
            ..Default::default()
        };
        let call = self.call(request);
        self.agent.delete_task_push_notification_config(call).await?;
        Ok(())
    }

    /// Fetches the card for authenticated callers, and uses it from then on (spec §3.1.11).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedOperation`] if the card does not declare an extended card,
    /// [`ErrorKind::Unauthenticated`] if the caller is not authenticated.
    pub async fn extended_card(&self) -> Result<Arc<AgentCard>> {
        let call = self.call(GetExtendedAgentCardRequest::default());
        let card = Arc::new(self.agent.get_extended_agent_card(call).await?.response);
        *self.card.write().unwrap_or_else(PoisonError::into_inner) = card.clone();
        Ok(card)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("card", &self.card().name)
            .field("interface", &self.interface())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        ErrorKind, Message, Operation, TaskState,
        v1::{SendMessageResponse, send_message_response::Payload},
    };

    use super::*;
    use crate::test_agent::{TestAgent, chunk, snapshot, status, task};

    fn client(agent: &TestAgent) -> Client {
        let card = AgentCard::new("a", "b").with_push_notifications(true).with_extended_card(true);
        Client::from_agent(agent.clone(), card)
    }

    #[test]
    fn client_tries_at_most_five_interfaces_of_a_card() {
        let card = (0..12).fold(AgentCard::new("a", "b"), |card, port| {
            card.with_interface("JSONRPC", format!("http://127.0.0.1:{}", 9_000 + port))
        });
        let client = Client::builder().build(card).unwrap();
        assert_eq!(client.candidates.interfaces.len(), 5);
    }

    fn page(ids: &[&str], next: &str) -> ListTasksResponse {
        let tasks = ids.iter().map(|id| Task { id: (*id).into(), ..task(TaskState::Working) });
        ListTasksResponse {
            tasks: tasks.collect(),
            next_page_token: next.into(),
            ..ListTasksResponse::default()
        }
    }

    #[tokio::test]
    async fn outcome_is_a_task_or_a_message_with_text() {
        let response = |payload| SendMessageResponse { payload: Some(payload) };
        let input_required = Task {
            status: Some(a2a_core::v1::TaskStatus {
                state: TaskState::InputRequired.into(),
                message: Some(Message::agent("which one?")),
                timestamp: None,
            }),
            ..task(TaskState::InputRequired)
        };
        let agent = TestAgent::new()
            .then(response(Payload::Message(Message::agent("hello"))))
            .then(response(Payload::Task(input_required)))
            .then(SendMessageResponse::default());
        let client = client(&agent);
        assert_eq!(client.send_text("hi").await.unwrap(), "hello");
        let outcome = client.send("go").await.unwrap();
        assert_eq!(outcome.text(), "which one?");
        assert_eq!(outcome.state(), Some(TaskState::InputRequired));
        let error = client.send("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    }

    #[tokio::test]
    async fn tasks_are_listed_page_by_page() {
        let agent = TestAgent::new()
            .then(page(&["1", "2"], "x"))
            .then(page(&[], "y"))
            .then(page(&["3"], ""));
        let tasks = client(&agent).list(ListTasksRequest::default()).try_collect().await.unwrap();
        let ids: Vec<_> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3"]);
        assert_eq!(agent.operations(), [Operation::ListTasks; 3]);
    }

    #[tokio::test]
    async fn page_tokens_that_repeat_are_an_error() {
        for cycle in [&["x"][..], &["x", "y"], &["a", "b", "x", "y", "z"]] {
            let tokens = cycle.iter().cycle().take(4 * cycle.len());
            let agent =
                tokens.fold(TestAgent::new(), |agent, token| agent.then(page(&["1"], token)));
            let tasks = client(&agent).list(ListTasksRequest::default()).try_collect().await;
            assert_eq!(tasks.unwrap_err().kind(), ErrorKind::InvalidAgentResponse, "{cycle:?}");
        }
    }

    // covers: R-241
    #[tokio::test]
    async fn stream_events_are_assembled_into_the_outcome() {
        let agent = TestAgent::new().then_stream([
            snapshot(1, task(TaskState::Working)),
            chunk(2, "one "),
            chunk(3, "two"),
            status(4, TaskState::Completed),
        ]);
        let outcome = client(&agent).stream("count").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "one two");
        assert_eq!(outcome.state(), Some(TaskState::Completed));
    }

    #[tokio::test]
    async fn input_required_is_the_outcome_of_a_send_while_the_stream_stays_open() {
        let agent = TestAgent::new().then_open_stream([
            snapshot(1, task(TaskState::Working)),
            status(2, TaskState::InputRequired),
        ]);
        let outcome = client(&agent).stream("count").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::InputRequired));
    }

    // covers: R-127
    #[tokio::test]
    async fn fetched_extended_card_replaces_the_card() {
        let extended = AgentCard::new("extended", "b").with_streaming(false);
        let agent = TestAgent::new().then(extended);
        let client = client(&agent);
        assert_eq!(client.card().name, "a");
        client.clone().extended_card().await.unwrap();
        assert_eq!(client.card().name, "extended");
        let error = client.stream("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    }

    #[tokio::test]
    async fn context_of_the_client_is_sent_with_its_calls() {
        let agent = TestAgent::new().then(Arc::new(task(TaskState::Working)));
        let mut context = CallContext::default();
        context.extensions.insert("urn:x");
        context.parameters.insert("a2a-budget".into(), "7".into());
        client(&agent).with_context(context).get("t").await.unwrap();
        let context = &agent.received()[0].context;
        assert!(context.extensions.contains("urn:x"));
        assert_eq!(context.parameters["a2a-budget"], "7");
        assert_eq!(context.version.as_str(), "1.0");
    }
}
