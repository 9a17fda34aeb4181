//! The client.

use std::{
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use a2a_auth::client::AgentCredentials;
use a2a_core::{
    AgentCard, Error, ErrorKind, Result, Task,
    v1::{
        AgentInterface, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, ListTasksResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, CallContext};
use futures_core::Stream;
use futures_util::stream;

use crate::{ClientBuilder, DiscoveryError, Events, Outgoing, SendOutcome, prepared::SharedCard};

/// A client of one agent, cheap to clone.
///
/// It chose its interface by the agent's card, sends version and tenant with every request,
/// refuses at once what the card rules out, makes requests again where that is safe, and takes
/// up cut streams.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = a2a_client::Client::connect("localhost:8080").await?;
/// let outcome = client.send("What is the weather?").await?;
/// assert_eq!(outcome.text(), "It rains.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    agent: Arc<dyn Agent>,
    card: SharedCard,
    ways: Arc<Ways>,
    context: CallContext,
}

/// The interfaces that a client may use, and the one that it uses.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    pub(crate) interfaces: Vec<AgentInterface>,
    /// What goes to each interface, where the client was given credentials.
    pub(crate) credentials: Vec<AgentCredentials>,
    pub(crate) chosen: Arc<OnceLock<usize>>,
}

impl Client {
    /// Reads the card of an agent and chooses an interface, with everything at its default.
    ///
    /// No connection to the interface is made yet.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] where there is no card, or none with an interface that is spoken here.
    pub async fn connect(reference: &str) -> Result<Self, DiscoveryError> {
        Self::builder().connect(reference).await
    }

    /// Starts a client with settings of its own.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client of an agent that is already at hand, such as an engine in this process.
    ///
    /// `card` is what the client goes by; its interfaces don't matter.
    pub fn from_agent(agent: impl Agent, card: AgentCard) -> Self {
        Self::builder().build_from_agent(agent, card)
    }

    pub(crate) fn assemble(
        agent: Arc<dyn Agent>,
        card: SharedCard,
        ways: Ways,
        context: CallContext,
    ) -> Self {
        Self { agent, card, ways: Arc::new(ways), context }
    }

    /// The card that the client goes by: the one it was made with, or the extended card once
    /// that has been read.
    pub fn card(&self) -> Arc<AgentCard> {
        self.card.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The interface that is used, which may change until one has answered; `None` for an agent
    /// that was at hand.
    pub fn interface(&self) -> Option<&AgentInterface> {
        self.ways.interfaces.get(self.chosen())
    }

    fn chosen(&self) -> usize {
        self.ways.chosen.get().copied().unwrap_or_default()
    }

    /// Obtains what the agent's card asks for before the first request needs it: requests wait
    /// for an answer only so long, and users may take longer to sign in. There is no time limit
    /// but that of the credentials' sources.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unauthenticated`] where that fails, [`ErrorKind::Unavailable`] where an
    /// authorization server can't be reached; the reason is its
    /// [source](a2a_auth::client::CredentialError).
    pub async fn authenticate(&self) -> Result<()> {
        if let Some(credentials) = self.ways.credentials.get(self.chosen()) {
            credentials.credential().await?;
        }
        Ok(())
    }

    /// What goes with every request: extensions, service parameters.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Returns a client of the same agent with something else going with its requests.
    #[must_use]
    pub fn with_context(&self, context: CallContext) -> Self {
        Self { context, ..self.clone() }
    }

    /// The agent behind the client, with tenant, retries and resuming: what the methods below
    /// call, and where answers come with the extensions that were used for them.
    pub fn agent(&self) -> Arc<dyn Agent> {
        self.agent.clone()
    }

    /// Creates a call for [`agent`](Self::agent) with this client's context.
    pub fn call<R>(&self, request: R) -> Call<R> {
        Call::with_context(self.context.clone(), request)
    }

    /// Sends a message and waits for what comes of it (spec §3.1.1).
    ///
    /// It is sent a second time only if the first never left, or if the agent's card says that
    /// it tells a repeated send from a new one.
    ///
    /// # Errors
    ///
    /// Whatever the agent answers; [`ErrorKind::Unavailable`] where it can't be reached,
    /// [`ErrorKind::DeadlineExceeded`] where it takes too long.
    pub async fn send(&self, message: impl Into<Outgoing>) -> Result<SendOutcome> {
        let call = self.call(message.into().into_request());
        self.agent.send_message(call).await?.response.try_into()
    }

    /// Sends a text, waits, and returns what the agent says, as text.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_text(&self, text: impl Into<String>) -> Result<String> {
        Ok(self.send(text.into()).await?.text())
    }

    /// Sends a message and streams what comes of it (spec §3.1.2).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::UnsupportedOperation`] where the card declares no
    /// streaming.
    pub async fn stream(&self, message: impl Into<Outgoing>) -> Result<Events> {
        let call = self.call(message.into().into_request());
        Ok(Events::of_send(self.agent.send_streaming_message(call).await?))
    }

    /// Streams a task that has not ended, beginning with its state (spec §3.1.6).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedOperation`] where the task has ended, or the card declares no
    /// streaming.
    pub async fn subscribe(&self, task_id: impl Into<String>) -> Result<Events> {
        let request = SubscribeToTaskRequest { id: task_id.into(), ..Default::default() };
        Ok(Events::of_subscription(self.agent.subscribe_to_task(self.call(request)).await?))
    }

    /// Returns a task, with as much history as the agent gives (spec §3.1.3).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotFound`] where there is none for this caller.
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

    /// Streams the caller's tasks that `filter` lets through, newest first, page by page
    /// (spec §3.1.4). After an error the stream ends.
    pub fn list(
        &self,
        filter: ListTasksRequest,
    ) -> impl Stream<Item = Result<Task>> + Send + Unpin + use<> {
        let client = self.clone();
        paged(filter.page_token.clone(), move |page_token| {
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
    /// [`ErrorKind::InvalidParams`] for a page size or a token that the agent does not take.
    pub async fn list_page(&self, request: ListTasksRequest) -> Result<ListTasksResponse> {
        Ok(self.agent.list_tasks(self.call(request)).await?.response)
    }

    /// Cancels a task and returns it as it is then (spec §3.1.5).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TaskNotCancelable`] where the task has ended already.
    pub async fn cancel(&self, task_id: impl Into<String>) -> Result<Arc<Task>> {
        let request = CancelTaskRequest { id: task_id.into(), ..Default::default() };
        Ok(self.agent.cancel_task(self.call(request)).await?.response)
    }

    /// Registers a webhook for a task; the agent gives it an id if it has none (spec §3.1.7).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PushNotificationNotSupported`] where the card declares none.
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
    /// [`ErrorKind::TaskNotFound`] where there is no such task or webhook.
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

    /// Streams the webhooks of a task, page by page (spec §3.1.9).
    pub fn push_configs(
        &self,
        task_id: &str,
    ) -> impl Stream<Item = Result<TaskPushNotificationConfig>> + Send + Unpin + use<> {
        let client = self.clone();
        let task_id = task_id.to_owned();
        paged(String::new(), move |page_token| {
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
    /// [`ErrorKind::TaskNotFound`] where there is no such task.
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

    /// Reads the card for authenticated callers, and goes by it from then on (spec §3.1.11).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedOperation`] where the card declares none,
    /// [`ErrorKind::Unauthenticated`] where the caller has not said who it is.
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

pub(crate) fn shared(card: Arc<AgentCard>) -> SharedCard {
    Arc::new(RwLock::new(card))
}

/// Streams the items of all pages, the first of which begins at `token`.
fn paged<T, F>(
    token: String,
    fetch: impl Fn(String) -> F + Send + 'static,
) -> impl Stream<Item = Result<T>> + Send + Unpin
where
    T: Send + 'static,
    F: Future<Output = Result<(Vec<T>, String)>> + Send,
{
    struct Pages<T> {
        items: std::vec::IntoIter<T>,
        token: Option<String>,
    }
    let pages = Pages { items: Vec::new().into_iter(), token: Some(token) };
    let items = stream::unfold((pages, fetch), |(mut pages, fetch)| async move {
        loop {
            if let Some(item) = pages.items.next() {
                return Some((Ok(item), (pages, fetch)));
            }
            let token = pages.token.take()?;
            match fetch(token.clone()).await {
                // A page that leads back to itself would be read for ever.
                Ok((_, next)) if !next.is_empty() && next == token => {
                    let error = Error::new(
                        ErrorKind::InvalidAgentResponse,
                        "the agent's page leads back to itself",
                    );
                    return Some((Err(error), (pages, fetch)));
                }
                Ok((items, next)) => {
                    pages.items = items.into_iter();
                    pages.token = (!next.is_empty()).then_some(next);
                }
                Err(error) => return Some((Err(error), (pages, fetch))),
            }
        }
    });
    Box::pin(items)
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message, Operation, TaskState,
        v1::{SendMessageResponse, send_message_response::Payload},
    };
    use futures_util::TryStreamExt as _;

    use super::*;
    use crate::script::{Script, chunk, snapshot, status, task};

    fn client(script: &Script) -> Client {
        let card = AgentCard::new("a", "b").with_push_notifications(true).with_extended_card(true);
        Client::from_agent(script.clone(), card)
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
    async fn an_answer_is_a_task_or_a_message_and_has_a_text_either_way() {
        let answer = |payload| SendMessageResponse { payload: Some(payload) };
        let asking = Task {
            status: Some(a2a_core::v1::TaskStatus {
                state: TaskState::InputRequired.into(),
                message: Some(Message::agent("which one?")),
                timestamp: None,
            }),
            ..task(TaskState::InputRequired)
        };
        let script = Script::new()
            .then(answer(Payload::Message(Message::agent("hello"))))
            .then(answer(Payload::Task(asking)))
            .then(SendMessageResponse::default());
        let client = client(&script);
        assert_eq!(client.send_text("hi").await.unwrap(), "hello");
        let outcome = client.send("go").await.unwrap();
        assert_eq!(outcome.text(), "which one?");
        assert_eq!(outcome.state(), Some(TaskState::InputRequired));
        let error = client.send("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    }

    #[tokio::test]
    async fn tasks_are_listed_page_by_page() {
        let script =
            Script::new().then(page(&["1", "2"], "x")).then(page(&[], "y")).then(page(&["3"], ""));
        let tasks: Vec<_> =
            client(&script).list(ListTasksRequest::default()).try_collect().await.unwrap();
        let ids: Vec<_> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3"]);
        assert_eq!(script.operations(), [Operation::ListTasks; 3]);
    }

    #[tokio::test]
    async fn a_page_that_leads_back_to_itself_is_an_error() {
        let script = Script::new().then(page(&["1"], "x")).then(page(&["1"], "x"));
        let tasks: Result<Vec<_>> =
            client(&script).list(ListTasksRequest::default()).try_collect().await;
        assert_eq!(tasks.unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
    }

    // covers: R-241
    #[tokio::test]
    async fn the_events_of_a_stream_add_up_to_its_outcome() {
        let script = Script::new().then_stream([
            snapshot(1, task(TaskState::Working)),
            chunk(2, "one "),
            chunk(3, "two"),
            status(4, TaskState::Completed),
        ]);
        let outcome = client(&script).stream("count").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "one two");
        assert_eq!(outcome.state(), Some(TaskState::Completed));
    }

    #[tokio::test]
    async fn a_question_is_the_outcome_of_a_send_though_the_stream_stays_open() {
        let script = Script::new().then_endless([
            snapshot(1, task(TaskState::Working)),
            status(2, TaskState::InputRequired),
        ]);
        let outcome = client(&script).stream("count").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::InputRequired));
    }

    // covers: R-127
    #[tokio::test]
    async fn an_extended_card_is_gone_by_once_it_was_read() {
        let extended = AgentCard::new("extended", "b").with_streaming(false);
        let script = Script::new().then(extended);
        let client = client(&script);
        assert_eq!(client.card().name, "a");
        client.clone().extended_card().await.unwrap();
        assert_eq!(client.card().name, "extended");
        let error = client.stream("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    }

    #[tokio::test]
    async fn the_context_of_a_client_goes_with_its_calls() {
        let script = Script::new().then(Arc::new(task(TaskState::Working)));
        let mut context = CallContext::default();
        context.extensions.insert("urn:x");
        context.parameters.insert("a2a-budget".into(), "7".into());
        client(&script).with_context(context).get("t").await.unwrap();
        let heard = &script.heard()[0].context;
        assert!(heard.extensions.contains("urn:x"));
        assert_eq!(heard.parameters["a2a-budget"], "7");
        assert_eq!(heard.version.as_str(), "1.0");
    }
}
