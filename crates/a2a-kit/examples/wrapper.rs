//! cargo run -p a2a-kit --example wrapper
//!
//! A wrapper: an agent around another one, here to count messages and to refuse some. It implements
//! the operations that it changes, and forwards the others.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use a2a_kit::{
    Agent, AgentCard, Call, Client, Engine, Error, ErrorKind, EventStream, Reply, agent_fn,
    operations::forward_agent,
    types::Result,
    v1::{SendMessageRequest, SendMessageResponse},
};
use async_trait::async_trait;

struct Polite<A> {
    agent: A,
    messages: Arc<AtomicU64>,
}

impl<A> Polite<A> {
    fn check(&self, request: &SendMessageRequest) -> Result<()> {
        self.messages.fetch_add(1, Ordering::Relaxed);
        let text = request.message.as_ref().map(a2a_kit::Message::text).unwrap_or_default();
        if text.contains("please") {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidRequest, "say please"))
    }
}

#[async_trait]
impl<A: Agent> Agent for Polite<A> {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.check(&call.request)?;
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.check(&call.request)?;
        self.agent.send_streaming_message(call).await
    }

    forward_agent! {
        this => this.agent;
        get_task, list_tasks, cancel_task, subscribe_to_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card.clone(), agent_fn(async |text: String| text));
    let messages = Arc::new(AtomicU64::new(0));
    // `Server::new(agent, card)` serves a wrapper like any other agent.
    let client = Client::from_agent(Polite { agent: engine, messages: messages.clone() }, card);
    println!("{:?}", client.send_text("tea, please").await);
    println!("{}", client.send_text("tea").await.unwrap_or_else(|error| error.to_string()));
    println!("{} messages", messages.load(Ordering::Relaxed));
    Ok(())
}
