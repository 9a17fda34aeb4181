//! cargo run -p a2a-kit --example trip_client -- Lisbon 2027-05-01 yes
//!
//! A client of the trip planner: it answers the questions with its arguments, prints the plan as it
//! is written, saves the file, and lists the trips of the caller.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    BoxError, Client, Event, MessageRequest, Part, TaskState,
    client::credentials::{ApiKey, Credentials},
    v1::ListTasksRequest,
};

const PLANNER: &str = "http://127.0.0.1:8080/planner";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let key = std::env::var("TRIP_KEY").unwrap_or_else(|_| "a secret for the example".into());
    let client = Client::builder()
        .credentials(Credentials::new().with(ApiKey::new(key)))
        .connect(PLANNER)
        .await?;

    let mut request = MessageRequest::from("Plan a trip");
    let mut answers = std::env::args().skip(1);
    let task_id = loop {
        let (task_id, state) = follow(&client, request).await?;
        if state != TaskState::InputRequired {
            break task_id;
        }
        let Some(answer) = answers.next() else {
            client.cancel(&task_id).await?;
            return Err("no more answers: the trip is canceled".into());
        };
        println!("> {answer}");
        request = MessageRequest::from(answer).to_task(task_id);
    };

    let task = client.get(&task_id).await?;
    if let Some(reason) = task.failure() {
        return Err(format!("no trip: {reason}").into());
    }
    for file in task.artifacts.iter().flat_map(a2a_kit::Artifact::files) {
        if let Some(bytes) = Part::as_raw(file) {
            std::fs::write("plan.txt", bytes)?;
            println!("saved plan.txt");
        }
    }
    let mut trips = client.list(ListTasksRequest::default());
    while let Some(trip) = trips.next().await {
        let trip = trip?;
        println!("{} {:?} {}", trip.id, trip.state(), trip.status_text());
    }
    Ok(())
}

/// Prints the events of one turn, and returns the task and its state. A lost connection is resumed.
async fn follow(client: &Client, request: MessageRequest) -> Result<(String, TaskState), BoxError> {
    let mut events = client.stream(request).await?;
    let (mut task_id, mut state) = (String::new(), TaskState::Unspecified);
    while let Some(event) = events.next().await {
        let event = event?;
        task_id = event.task_id().map_or(task_id, str::to_owned);
        state = event.state().unwrap_or(state);
        print(&event);
    }
    Ok((task_id, state))
}

fn print(event: &Event) {
    if event.artifact_update().is_some() {
        print!("{}", event.text());
    } else if event.status_update().is_some() && !event.text().is_empty() {
        println!("\n{}", event.text());
    }
}
