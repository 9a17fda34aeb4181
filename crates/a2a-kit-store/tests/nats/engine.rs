//! Engines of two nodes whose server is away.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    Artifact, Message, Part, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent as _, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use a2a_kit_store::nats::{Clustered, NatsConfig};
use a2a_kit_store_testing::MemoryNode;
use a2a_test_servers::Private;
use futures_util::StreamExt as _;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Emits an artifact for each permit, until it is dropped.
struct Emitter(Arc<Semaphore>);

impl AgentExecutor for Emitter {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        loop {
            self.0.acquire().await?.forget();
            updates.artifact(Artifact::new("text", Part::text("x"))).await?;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_and_cancels_reach_other_nodes_while_the_server_is_away() {
    let Ok(mut nats) = Private::nats(&[]).await else { return };
    let permits = Arc::new(Semaphore::new(0));
    let store = MemoryNode::new();
    let second = store.join("two");
    let mut engines = Vec::new();
    for store in [store, second] {
        let store = Clustered::connect(Arc::new(store), NatsConfig::new(nats.url())).await.unwrap();
        let card = AgentCard::new("Emitter", "Emits").with_streaming(true);
        engines.push(Engine::builder(card, Emitter(Arc::clone(&permits))).store(store).build());
    }
    let (one, two) = (&engines[0], &engines[1]);
    let send = SendMessageRequest {
        message: Some(Message::user("go")),
        configuration: Some(SendMessageConfiguration {
            return_immediately: true,
            ..SendMessageConfiguration::default()
        }),
        ..SendMessageRequest::default()
    };
    let sent = one.send_message(Call::new(send)).await.unwrap().response.payload;
    let Some(send_message_response::Payload::Task(task)) = sent else { panic!("{sent:?}") };
    let subscribe = SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
    let mut events = two.subscribe_to_task(Call::new(subscribe)).await.unwrap().response;
    let mut artifacts = 0;
    let mut read = async |wanted: usize| {
        while artifacts < wanted {
            let event = timeout(TIMEOUT, events.next()).await.unwrap().unwrap().unwrap();
            artifacts += usize::from(matches!(event.payload(), Some(Payload::ArtifactUpdate(_))));
        }
    };
    permits.add_permits(1);
    read(1).await;

    nats.kill();
    let killed = Instant::now();
    permits.add_permits(3);
    read(4).await;
    assert!(killed.elapsed() < Duration::from_secs(5), "events: {:?}", killed.elapsed());

    let asked = Instant::now();
    let cancel = CancelTaskRequest { id: task.id, ..CancelTaskRequest::default() };
    let canceled = timeout(TIMEOUT, two.cancel_task(Call::new(cancel))).await.unwrap();
    assert_eq!(canceled.unwrap().response.state(), TaskState::Canceled);
    assert!(asked.elapsed() < Duration::from_secs(5), "cancel: {:?}", asked.elapsed());
}
