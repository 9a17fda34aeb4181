//! The trip planner of the examples: its conversation, its limits, and restarts in the middle.

#[path = "../examples/trip_planner/agents.rs"]
mod agents;

use a2a_kit::{
    Client, Engine, MessageRequest, SendOutcome, Task, TaskState, store::sqlite::SqliteStore,
    testing,
};
use agents::{Forecast, Planner, Trip};

fn forecaster() -> Client {
    testing::client(&Engine::new(agents::forecaster_card(), agents::forecaster()))
}

fn planner() -> Planner {
    Planner { forecaster: forecaster() }
}

#[tokio::test]
async fn forecasts_are_typed_and_refusals_have_a_reason() {
    let found = forecaster().send("Lisbon").await.unwrap();
    let found: Forecast =
        found.task().and_then(|task| task.artifact("answer")).unwrap().parse().unwrap();
    assert_eq!(found, Forecast { city: "Lisbon".into(), degrees: 24 });
    let refused = forecaster().send("Atlantis").await.unwrap();
    let reason = refused.task().and_then(Task::failure);
    assert_eq!(reason.as_deref(), Some("there is no forecast for Atlantis"));
}

#[tokio::test]
async fn conversation_survives_a_restart_at_each_question() {
    let folder = tempfile::tempdir().unwrap();
    let mut outcome = None;
    for text in ["Plan a trip", "Lisbon", "2027-05-01", "yes"] {
        let store = SqliteStore::open(folder.path().join("trips.db")).await.unwrap();
        let engine = Engine::builder(agents::planner_card(), planner()).store(store).build();
        let client = testing::client(&engine);
        let mut request = MessageRequest::from(text);
        if let Some(task_id) = outcome.as_ref().and_then(SendOutcome::task_id) {
            request = request.to_task(task_id);
        }
        outcome = Some(client.send(request).await.unwrap());
        engine.shutdown(testing::DEFAULT_TIMEOUT).await;
    }
    let outcome = outcome.unwrap();
    assert_eq!(outcome.state(), Some(TaskState::Completed), "{}", outcome.text());
    let task = outcome.task().unwrap();
    let Trip { city, date, booking } = task.artifact("trip").unwrap().parse().unwrap();
    assert_eq!((&*city, &*date), ("Lisbon", "2027-05-01"));
    assert_eq!(task.status_text(), format!("Booked: {booking}"));
    let names: Vec<_> = task.artifacts.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["plan", "download", "trip"], "each artifact is sent once");
}

#[tokio::test]
async fn cancel_at_a_question_is_confirmed_in_words() {
    let client = testing::client(&Engine::new(agents::planner_card(), planner()));
    let asked = client.send("Plan a trip").await.unwrap();
    let canceled = client.cancel(asked.task_id().unwrap()).await.unwrap();
    assert_eq!(
        (canceled.state(), &*canceled.status_text()),
        (TaskState::Canceled, "Nothing was booked.")
    );
}
