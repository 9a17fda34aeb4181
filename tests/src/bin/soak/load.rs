//! Callers that use a server in every way.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_compat::client::JsonRpcClient;
use a2a_core::{
    Error, ErrorKind, ProtocolVersion, TaskState,
    v1::{
        ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
        TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_http::client::{ClientSettings, HttpClient};
use a2a_operations::{Agent, Call, EventStream};
use a2a_tests::call::{at_once, cancel, configured, get, send, subscribe, to_task};
use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

/// The pause of a caller between two things that it does.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest that one of them may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Failures that are remembered, each once.
const MAX_FAILURES: usize = 20;

/// What callers share.
#[derive(Clone)]
pub(crate) struct Load(Arc<Inner>);

struct Inner {
    /// By binding; the last one speaks 0.3.
    ways: Vec<(&'static str, Arc<dyn Agent>)>,
    webhook: String,
    done: AtomicU64,
    failures: Mutex<BTreeMap<String, u64>>,
}

/// What a caller does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Send,
    Stream,
    HangUp,
    Cancel,
    Subscribe,
    SubscribeAndLeave,
    Converse,
    List,
    Miss,
    Webhook,
    Fail,
}

const DEEDS: [Deed; 11] = [
    Deed::Send,
    Deed::Stream,
    Deed::HangUp,
    Deed::Cancel,
    Deed::Subscribe,
    Deed::SubscribeAndLeave,
    Deed::Converse,
    Deed::List,
    Deed::Miss,
    Deed::Webhook,
    Deed::Fail,
];

impl Load {
    pub(crate) fn new(url: &str, webhook: String) -> Result<Self, String> {
        let said = |error: Error| error.to_string();
        let http = HttpClient::new(ClientSettings::default()).map_err(said)?;
        let old = JsonRpcClient::new(url, ProtocolVersion::V0_3, http).map_err(said)?;
        let ways: Vec<(&'static str, Arc<dyn Agent>)> = vec![
            ("JSON-RPC", Arc::new(a2a_jsonrpc::Client::new(url).map_err(said)?)),
            ("HTTP+JSON", Arc::new(a2a_rest::Client::new(url).map_err(said)?)),
            ("gRPC", Arc::new(a2a_grpc::Client::connect(url).map_err(|e| e.to_string())?)),
            ("0.3", Arc::new(old)),
        ];
        let (done, failures) = Default::default();
        Ok(Self(Arc::new(Inner { ways, webhook, done, failures })))
    }

    /// Does one thing after the other.
    pub(crate) async fn call(self, number: u64) {
        let ways = self.0.ways.len() as u64;
        // Each caller begins elsewhere, and passes by everything.
        for step in number.. {
            let (way, agent) = &self.0.ways[usize::try_from(step % ways).unwrap_or_default()];
            let deed = DEEDS[usize::try_from(step / ways).unwrap_or_default() % DEEDS.len()];
            let failure = match timeout(PATIENCE, self.perform(deed, &**agent)).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_elapsed) => Some(format!("not done in {PATIENCE:?}")),
            };
            self.0.done.fetch_add(1, Ordering::Relaxed);
            if let Some(failure) = failure {
                self.note(format!("{way}, {deed:?}: {failure}"));
            }
            sleep(PAUSE).await;
        }
    }

    async fn perform(&self, deed: Deed, agent: &dyn Agent) -> Result<(), Error> {
        match deed {
            Deed::Send => {
                agent.send_message(send("echo soak")).await?;
            }
            Deed::Stream => {
                read(agent.send_streaming_message(send("stream 20 5ms")).await?.response).await?;
            }
            Deed::HangUp => {
                let stream = agent.send_streaming_message(send("stream 20 20ms")).await?;
                stream.response.take(3).count().await;
            }
            Deed::Cancel => {
                let id = task_id(agent.send_message(at_once(send("slow 30"))).await?.response)?;
                agent.get_task(get(&id)).await?;
                let canceled = agent.cancel_task(cancel(&id)).await?.response;
                if canceled.state() != TaskState::Canceled {
                    return Err(Error::internal("a canceled task is not CANCELED"));
                }
            }
            Deed::Subscribe => {
                let sent = agent.send_message(at_once(send("stream 30 20ms"))).await?.response;
                read(agent.subscribe_to_task(subscribe(&task_id(sent)?)).await?.response).await?;
            }
            Deed::SubscribeAndLeave => {
                let sent = agent.send_message(at_once(send("slow 2"))).await?.response;
                let stream = agent.subscribe_to_task(subscribe(&task_id(sent)?)).await?;
                stream.response.take(1).count().await;
            }
            Deed::Converse => {
                let id = task_id(agent.send_message(send("ask")).await?.response)?;
                agent.send_message(to_task(&id, "an answer")).await?;
            }
            Deed::List => {
                let request = ListTasksRequest { page_size: Some(10), ..Default::default() };
                match agent.list_tasks(Call::new(request)).await {
                    // 0.3 has no list over JSON-RPC.
                    Err(error) if error.kind() == ErrorKind::UnsupportedOperation => {}
                    listed => {
                        listed?;
                    }
                }
            }
            Deed::Miss => match agent.get_task(get("there is no such task")).await {
                Err(error) if error.kind() == ErrorKind::TaskNotFound => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(Error::internal("a task that nobody made")),
            },
            Deed::Webhook => {
                agent.send_message(self.with_webhook(send("stream 3 5ms"))).await?;
            }
            Deed::Fail => {
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

    /// How much was done.
    pub(crate) fn tally(&self) -> String {
        format!("{} done", self.0.done.load(Ordering::Relaxed))
    }

    /// What went wrong, and how often.
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
        _ => Err(Error::internal("the answer is no task")),
    }
}
