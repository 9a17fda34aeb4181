//! The trip planner of the examples, stopped while it writes the plan.

#[path = "../examples/trip_planner/agents.rs"]
mod agents;

use a2a_kit::{Engine, MessageRequest, TaskState, store::sqlite::SqliteStore, testing};

#[tokio::test]
async fn plan_is_written_once_although_the_server_stops_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let start = async || {
        let store = SqliteStore::open(folder.path().join("trips.db")).await.unwrap();
        let forecaster = Engine::new(agents::forecaster_card(), agents::forecaster());
        let planner = agents::Planner { forecaster: testing::client(&forecaster) };
        let engine = Engine::builder(agents::planner_card(), planner).store(store).build();
        (testing::client(&engine), engine)
    };
    let (client, engine) = start().await;
    let task_id = client.send("Plan a trip").await.unwrap().task_id().unwrap().to_owned();
    let to_task = |text: &str| MessageRequest::from(text).to_task(&task_id);
    client.send(to_task("Lisbon")).await.unwrap();
    let mut events = client.stream(to_task("2027-05-01")).await.unwrap();
    while events.next().await.unwrap().unwrap().artifact_update().is_none() {}
    engine.shutdown(testing::DEFAULT_TIMEOUT).await;

    let (client, _engine) = start().await;
    let task = client.send(to_task("yes")).await.unwrap().task().unwrap().clone();
    assert_eq!(task.state(), TaskState::Completed, "{}", task.status_text());
    let plan = task.artifact("plan").unwrap().text();
    assert_eq!(
        plan,
        "On 2027-05-01 fly to Lisbon. Expect 24 °C. Walk, eat, sleep, repeat. Fly home."
    );
    assert_eq!(task.artifacts.len(), 3);
}
