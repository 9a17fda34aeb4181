//! Callers with a mix of operations on every binding.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, TaskState,
    v1::{
        ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
        TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_kit_compat::client::JsonRpcClient;
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent, Call, EventStream};
use a2a_tests::call::{at_once, cancel, configured, get, send, subscribe, to_task};
use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

/// Pause of a caller between actions.
const PAUSE: Duration = Duration::from_millis(100);
/// Timeout of an action.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of distinct failures.
const MAX_FAILURES: usize = 20;

/// The state shared by callers.
#[derive(Clone)]
pub(crate) struct Load(Arc<Inner>);

struct Inner {
    /// Clients by binding; the last one uses 0.3.
    bindings: Vec<(&'static str, Arc<dyn Agent>)>,
    webhook: String,
    done: AtomicU64,
    failures: Mutex<BTreeMap<String, u64>>,
}

/// An action of a caller.
#[derive(Clone, Copy, Debug)]
enum Action {
    Send,
    Stream,
    Disconnect,
    Cancel,
    Subscribe,
    SubscribeAndDisconnect,
    Converse,
    List,
    GetUnknown,
    Webhook,
    Fail,
}

const ACTIONS: [Action; 11] = [
    Action::Send,
    Action::Stream,
    Action::Disconnect,
    Action::Cancel,
    Action::Subscribe,
    Action::SubscribeAndDisconnect,
    Action::Converse,
    Action::List,
    Action::GetUnknown,
    Action::Webhook,
    Action::Fail,
];

impl Load {
    pub(crate) fn new(url: &str, webhook: String) -> Result<Self, String> {
        let describe = |error: Error| error.to_string();
        let http = HttpClient::new(ClientSettings::default()).map_err(describe)?;
        let old = JsonRpcClient::new(url, ProtocolVersion::V0_3, http).map_err(describe)?;
        let bindings: Vec<(&'static str, Arc<dyn Agent>)> = vec![
            ("JSON-RPC", Arc::new(a2a_kit_jsonrpc::Client::new(url).map_err(describe)?)),
            ("HTTP+JSON", Arc::new(a2a_kit_rest::Client::new(url).map_err(describe)?)),
            ("gRPC", Arc::new(a2a_kit_grpc::Client::connect(url).map_err(|e| e.to_string())?)),
            ("0.3", Arc::new(old)),
        ];
        let (done, failures) = Default::default();
        Ok(Self(Arc::new(Inner { bindings, webhook, done, failures })))
    }

    /// Performs actions in a loop.
    pub(crate) async fn call(self, number: u64) {
        let bindings = self.0.bindings.len() as u64;
        // Each caller starts at another action and cycles through all.
        for step in number.. {
            let (binding, agent) =
                &self.0.bindings[usize::try_from(step % bindings).unwrap_or_default()];
            let action =
                ACTIONS[usize::try_from(step / bindings).unwrap_or_default() % ACTIONS.len()];
            let failure = match timeout(TIMEOUT, self.perform(action, &**agent)).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_elapsed) => Some(format!("timeout after {TIMEOUT:?}")),
            };
            self.0.done.fetch_add(1, Ordering::Relaxed);
            if let Some(failure) = failure {
                self.note(format!("{binding}, {action:?}: {failure}"));
            }
            sleep(PAUSE).await;
        }
    }

    async fn perform(&self, action: Action, agent: &dyn Agent) -> Result<(), Error> {
        match action {
            Action::Send => {
                agent.send_message(send("echo soak")).await?;
            }
            Action::Stream => {
                read(agent.send_streaming_message(send("stream 20 5ms")).await?.response).await?;
            }
            Action::Disconnect => {
                let stream = agent.send_streaming_message(send("stream 20 20ms")).await?;
                stream.response.take(3).count().await;
            }
            Action::Cancel => {
                let id = task_id(agent.send_message(at_once(send("slow 30"))).await?.response)?;
                agent.get_task(get(&id)).await?;
                let canceled = agent.cancel_task(cancel(&id)).await?.response;
                if canceled.state() != TaskState::Canceled {
                    return Err(Error::internal("a canceled task is not CANCELED"));
                }
            }
            Action::Subscribe => {
                let sent = agent.send_message(at_once(send("stream 30 20ms"))).await?.response;
                read(agent.subscribe_to_task(subscribe(&task_id(sent)?)).await?.response).await?;
            }
            Action::SubscribeAndDisconnect => {
                let sent = agent.send_message(at_once(send("slow 2"))).await?.response;
                let stream = agent.subscribe_to_task(subscribe(&task_id(sent)?)).await?;
                stream.response.take(1).count().await;
            }
            Action::Converse => {
                let id = task_id(agent.send_message(send("ask")).await?.response)?;
                agent.send_message(to_task(&id, "an answer")).await?;
            }
            Action::List => {
                let request = ListTasksRequest { page_size: Some(10), ..Default::default() };
                match agent.list_tasks(Call::new(request)).await {
                    // 0.3 has no list over JSON-RPC.
                    Err(error) if error.kind() == ErrorKind::UnsupportedOperation => {}
                    listed => {
                        listed?;
                    }
                }
            }
            Action::GetUnknown => match agent.get_task(get("unknown")).await {
                Err(error) if error.kind() == ErrorKind::TaskNotFound => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(Error::internal("an unknown task was found")),
            },
            Action::Webhook => {
                agent.send_message(self.with_webhook(send("stream 3 5ms"))).await?;
            }
            Action::Fail => {
                agent.send_message(send("fail")).await?;
            }
        }
        Ok(())
    }

    fn with_webhook(&self, call: Call<SendMessageRequest>) -> Call<SendMessageRequest> {
        let webhook =
            TaskPushNotificationConfig { url: self.0.webhook.clone(), ..Default::default() };
        let configuration = SendMessageConfiguration {
            task_push_notification_config: Some(webhook),
            ..SendMessageConfiguration::default()
        };
        configured(call, configuration)
    }

    fn note(&self, failure: String) {
        let mut failures = self.0.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() < MAX_FAILURES || failures.contains_key(&failure) {
            *failures.entry(failure).or_default() += 1;
        }
    }

    /// The number of actions.
    pub(crate) fn tally(&self) -> String {
        format!("{} done", self.0.done.load(Ordering::Relaxed))
    }

    /// The failures with their counts.
    pub(crate) fn failures(&self) -> Vec<String> {
        let failures = self.0.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.iter().map(|(failure, count)| format!("{count} times: {failure}")).collect()
    }
}

async fn read(mut events: EventStream) -> Result<(), Error> {
    while let Some(event) = events.next().await {
        event?;
    }
    Ok(())
}

fn task_id(sent: SendMessageResponse) -> Result<String, Error> {
    match sent.payload {
        Some(Payload::Task(task)) => Ok(task.id),
        _ => Err(Error::internal("the response is not a task")),
    }
}
