//! Complete tasks per second of an engine: a message, a response, and all of it stored.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    Artifact, Message, Part, TaskState,
    v1::{AgentCard, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, MemoryStore, RequestContext, Store, TaskUpdater,
};
use futures_util::future::join_all;

use super::databases::Databases;

const IN_FLIGHT: [usize; 2] = [16, 256];
const SPAN: Duration = Duration::from_secs(2);

/// Starts, adds one artifact, and completes.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        updates.begin(Artifact::new("answer", Part::text("forty-two"))).await?;
        updates.complete("done").await?;
        Ok(())
    }
}

pub(crate) async fn run(databases: &Databases) {
    println!("\ntasks per second through the engine: started, an artifact, completed");
    let stores: [(&str, Arc<dyn Store>); 3] = [
        ("memory", Arc::new(MemoryStore::default())),
        ("SQLite", Arc::new(databases.sqlite().await)),
        ("PostgreSQL", Arc::new(databases.postgres().await)),
    ];
    for (name, store) in stores {
        for in_flight in IN_FLIGHT {
            let rate = rate(Arc::clone(&store), in_flight).await;
            println!("  {name:<11} {in_flight:>3} in flight {rate:>8.0}/s");
        }
    }
}

async fn rate(store: Arc<dyn Store>, in_flight: usize) -> f64 {
    let engine = Engine::builder(AgentCard::new("Worker", "Works"), Worker);
    let engine = engine.shared_store(store).build();
    let start = Instant::now();
    let callers = (0..in_flight).map(|_| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let mut done = 0_u32;
            while start.elapsed() < SPAN {
                let message = Some(Message::user("work"));
                let request = SendMessageRequest { message, ..SendMessageRequest::default() };
                let reply = engine.send_message(Call::new(request)).await.expect("it is done");
                let Some(Payload::Task(task)) = reply.response.payload else { panic!("a task") };
                assert_eq!(task.state(), TaskState::Completed);
                done += 1;
            }
            done
        })
    });
    let done: u32 = join_all(callers).await.into_iter().map(|done| done.expect("it ends")).sum();
    f64::from(done) / start.elapsed().as_secs_f64()
}
