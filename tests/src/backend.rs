//! The stores and nodes of the agent under test.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{
    Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{Agent, Call, Engine, EventStream, MemoryStore, Reply, Store};
use a2a_kit_store::{
    nats::{Clustered, NatsConfig},
    postgres::{PostgresConfig, PostgresStore},
    sqlite::SqliteStore,
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
use tempfile::TempDir;

/// The store of the tasks, and the number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Memory,
    Sqlite,
    Postgres,
    TwoNodes,
    TwoNodesOnPostgres,
    TwoNodesOnNats,
}

impl Backend {
    /// Returns whether the required servers are available; prints `SKIPPED` otherwise.
    pub async fn is_available(self) -> bool {
        let postgres = match self {
            Self::Memory | Self::Sqlite | Self::TwoNodes => return true,
            Self::Postgres | Self::TwoNodesOnPostgres | Self::TwoNodesOnNats => {
                a2a_test_servers::postgres().await.is_ok()
            }
        };
        postgres && (self != Self::TwoNodesOnNats || a2a_test_servers::nats().await.is_ok())
    }

    /// An empty store for each node, and its directory.
    pub async fn stores(self) -> (Vec<Arc<dyn Store>>, Option<TempDir>) {
        match self {
            Self::Memory => (vec![Arc::new(MemoryStore::new())], None),
            Self::Sqlite => {
                let folder = TempDir::new().expect("a folder");
                let store = SqliteStore::open(folder.path().join("a2a.db")).await.expect("a file");
                (vec![Arc::new(store)], Some(folder))
            }
            Self::TwoNodes => {
                let one = MemoryNode::new();
                let two = one.join("two");
                (vec![Arc::new(one), Arc::new(two)], None)
            }
            Self::Postgres => (nodes_on_postgres(1, true).await, None),
            Self::TwoNodesOnPostgres => (nodes_on_postgres(2, true).await, None),
            Self::TwoNodesOnNats => {
                let nats = a2a_test_servers::nats().await.expect("a server");
                let cluster = nats.unique();
                let mut nodes: Vec<Arc<dyn Store>> = Vec::new();
                for store in nodes_on_postgres(2, false).await {
                    let config = NatsConfig::new(nats.url()).with_cluster(&cluster);
                    let node = Clustered::connect(store, config).await.expect("a connection");
                    nodes.push(Arc::new(node));
                }
                (nodes, None)
            }
        }
    }
}

/// Opens an empty database for `count` nodes.
async fn nodes_on_postgres(count: usize, notify: bool) -> Vec<Arc<dyn Store>> {
    let postgres = a2a_test_servers::postgres().await.expect("a server");
    let url = postgres.database().await;
    let mut nodes: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..count {
        // Few connections, because many pools are open concurrently.
        let config = PostgresConfig::default().with_notify(notify).with_writers(1).with_readers(2);
        let store = PostgresStore::connect_with(&url, config).await.expect("a connection");
        nodes.push(Arc::new(store));
    }
    nodes
}

/// Several nodes as one agent, called in round-robin order.
#[derive(Debug)]
pub struct RoundRobin {
    nodes: Vec<Engine>,
    calls: AtomicUsize,
}

impl RoundRobin {
    pub fn new(nodes: Vec<Engine>) -> Self {
        Self { nodes, calls: AtomicUsize::new(0) }
    }

    fn next(&self) -> &Engine {
        &self.nodes[self.calls.fetch_add(1, Ordering::Relaxed) % self.nodes.len()]
    }
}

macro_rules! round_robin {
    ($($method:ident: $request:ty => $response:ty;)*) => {
        #[async_trait]
        impl Agent for RoundRobin {
            $(
                async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                    self.next().$method(call).await
                }
            )*
        }
    };
}

round_robin! {
    send_message: SendMessageRequest => SendMessageResponse;
    send_streaming_message: SendMessageRequest => EventStream;
    get_task: GetTaskRequest => Arc<Task>;
    list_tasks: ListTasksRequest => ListTasksResponse;
    cancel_task: CancelTaskRequest => Arc<Task>;
    subscribe_to_task: SubscribeToTaskRequest => EventStream;
    create_task_push_notification_config:
        TaskPushNotificationConfig => TaskPushNotificationConfig;
    get_task_push_notification_config:
        GetTaskPushNotificationConfigRequest => TaskPushNotificationConfig;
    list_task_push_notification_configs:
        ListTaskPushNotificationConfigsRequest => ListTaskPushNotificationConfigsResponse;
    delete_task_push_notification_config: DeleteTaskPushNotificationConfigRequest => ();
    get_extended_agent_card: GetExtendedAgentCardRequest => AgentCard;
}
