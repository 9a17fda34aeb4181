//! cargo run -p a2a-kit --example multi_turn_agent
//!
//! An agent that asks questions. A conversation is straight-line code: `ask` sets the task to
//! INPUT_REQUIRED and returns the client's next message. It holds over restarts and on any node: the
//! executor then runs again and gets the same answers. What must happen only once, such as
//! placing the order, goes into `once`.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, MessageRequest, RequestContext, TaskState,
    TaskUpdater,
};

struct Waiter;

impl AgentExecutor for Waiter {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let dish = updates.ask("What would you like to eat?").await?.text();
        let drink = updates.ask(format!("And to drink with the {dish}?")).await?.text();
        let number = updates.once("order", order(&dish, &drink)).await?;
        let done = format!("One {dish} and one {drink}, coming up: order {number}.");
        updates.complete(done).await?;
        Ok(())
    }
}

/// Places an order, and returns its number.
async fn order(_dish: &str, _drink: &str) -> Result<u64, BoxError> {
    Ok(42)
}

#[tokio::main]
async fn main() -> a2a_kit::types::Result<()> {
    let card = AgentCard::new("Waiter", "Takes your order");
    let engine = Engine::new(card.clone(), Waiter);
    // A client of an engine in the same process; for a remote agent, use `Client::connect`.
    let client = Client::from_agent(engine, card);

    let mut outcome = client.send("A table for one, please").await?;
    for answer in ["soup", "glass of water"] {
        assert_eq!(outcome.state(), Some(TaskState::InputRequired));
        println!("waiter: {}", outcome.text());
        println!("guest:  {answer}");
        let task_id = outcome.task_id().unwrap_or_default();
        outcome = client.send(MessageRequest::from(answer).to_task(task_id)).await?;
    }
    println!("waiter: {}", outcome.text());
    Ok(())
}
