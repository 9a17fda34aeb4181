//! An engine in process, on a memory store.

use std::fmt;

use a2a_core::{
    AgentCard, TaskState,
    v1::{SendMessageRequest, SendMessageResponse, send_message_response::Payload},
};
use a2a_kit_operations::{Agent as _, AgentExecutor, Call, Engine, agent_fn, stream_fn};
use futures_util::{StreamExt as _, stream};
use tokio::runtime::Runtime;

use crate::message;

/// How many chunks the agent of [`InProcess::streaming`] answers with.
const CHUNKS: usize = 100;

/// How many messages are sent one after the other, so that what only some of them need is spread
/// over all.
const MESSAGES: usize = 10;

/// An engine, the runtime that it runs on, and the messages to send.
pub struct InProcess {
    runtime: Runtime,
    engine: Engine,
    calls: Vec<Call<SendMessageRequest>>,
}

impl InProcess {
    fn new(executor: impl AgentExecutor) -> Self {
        let runtime = crate::runtime();
        let card = AgentCard::new("Micro", "Responds immediately").with_streaming(true);
        let engine = runtime.block_on(async { Engine::new(card, executor) });
        Self { runtime, engine, calls: Vec::new() }
    }

    /// An agent that repeats its input, warmed up.
    pub fn echo() -> Self {
        let mut engine = Self::new(agent_fn(async |text: String| text)).with_calls();
        for answer in engine.send_messages() {
            let Some(Payload::Task(task)) = answer.payload else { panic!("no task in {answer:?}") };
            assert_eq!(task.state(), TaskState::Completed, "{task:?}");
        }
        engine.with_calls()
    }

    /// An agent that answers with a hundred chunks, and has done so before.
    pub fn streaming() -> Self {
        let chunks = |_: String| stream::iter((0..CHUNKS).map(|_| "the second week of May "));
        let mut engine = Self::new(stream_fn(chunks)).with_calls();
        engine.send_streaming_message();
        engine
    }

    fn with_calls(mut self) -> Self {
        self.calls = (0..MESSAGES).map(|_| Call::new(message::request())).collect();
        self
    }

    /// Sends the messages, and returns the answers.
    pub fn send_messages(&mut self) -> Vec<SendMessageResponse> {
        let calls = self.calls.drain(..);
        self.runtime.block_on(async {
            let mut answers = Vec::with_capacity(MESSAGES);
            for call in calls {
                let reply = self.engine.send_message(call).await;
                answers.push(reply.expect("the agent answers").response);
            }
            answers
        })
    }

    /// Sends a message, reads the stream to its end, and returns how many events there were.
    pub fn send_streaming_message(&mut self) -> usize {
        let call = self.calls.pop().expect("there are messages to send");
        self.runtime.block_on(async {
            let reply = self.engine.send_streaming_message(call).await.expect("the agent answers");
            let events = reply.response.map(|event| event.expect("the stream is whole"));
            let events = events.count().await;
            assert!(events > CHUNKS, "{events} events");
            events
        })
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("engine", &self.engine).finish_non_exhaustive()
    }
}
