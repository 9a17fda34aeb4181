//! Publishes the outbox.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use async_nats::jetstream::context::PublishError;
use bytes::Bytes;
use prost::Message as _;
use tokio::time::{Instant, sleep, timeout};

use super::{
    outbox::{Batch, Outbox},
    presence::HEARTBEAT_INTERVAL,
    stream::{Link, backoff},
    wire::{SignalMessage, SignalRecord},
};

/// Maximum size of a message, in bytes.
const MAX_MESSAGE: usize = 256 << 10;
/// Timeout for the last messages of a closed store.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Publishes one message at a time, each confirmed by the server. Signals accumulate in the
/// meantime.
pub(super) struct Publisher {
    link: Link,
    node: String,
    incarnation: u64,
    outbox: Arc<Outbox>,
}

impl Publisher {
    pub(super) fn new(link: Link, node: &str, outbox: Arc<Outbox>) -> Self {
        // Random, and not 0.
        let incarnation = RandomState::new().hash_one(node) | 1;
        Self { link, node: node.to_owned(), incarnation, outbox }
    }

    /// Publishes until the outbox is closed and drained, ending with a last message; sends
    /// heartbeats while idle.
    pub(super) async fn run(self) {
        loop {
            // JSON data may take more space in a message than in an event, and the server counts
            // protocol overhead too.
            let limit = MAX_MESSAGE.min(self.link.max_payload() / 3);
            let message = match timeout(HEARTBEAT_INTERVAL, self.outbox.next(limit)).await {
                Ok(Some(batch)) => self.message(&batch, false),
                Ok(None) => break,
                Err(_elapsed) => self.message(&Batch::new(), false),
            };
            if !self.publish(&message).await {
                return;
            }
        }
        self.publish(&self.message(&Batch::new(), true)).await;
    }

    fn message(&self, batch: &Batch, is_last: bool) -> Bytes {
        let records = batch.iter().map(|(signal, to)| SignalRecord::new(signal, to)).collect();
        let message = SignalMessage {
            from: self.node.clone(),
            records,
            incarnation: self.incarnation,
            is_last,
        };
        message.encode_to_vec().into()
    }

    /// Publishes until confirmed; a duplicate is harmless. Returns `false` after the shutdown
    /// timeout.
    async fn publish(&self, message: &Bytes) -> bool {
        let mut last_words = None;
        for attempt in 0.. {
            if self.link.is_connected() {
                match self.try_publish(message).await {
                    Ok(()) => return true,
                    Err(error) => {
                        tracing::debug!(%error, "failed to publish signals, will retry");
                        // A restarted server has lost the stream.
                        if let Err(error) = self.link.stream().await {
                            tracing::debug!(%error, "failed to create signal stream");
                        }
                    }
                }
            }
            if self.outbox.is_closed()
                && Instant::now() > *last_words.get_or_insert_with(|| Instant::now() + LAST_WORDS)
            {
                return false;
            }
            sleep(backoff(attempt)).await;
        }
        false
    }

    async fn try_publish(&self, message: &Bytes) -> Result<(), PublishError> {
        self.link.context.publish(self.link.subject(), message.clone()).await?.await?;
        Ok(())
    }
}
