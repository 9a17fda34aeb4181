//! Publishes what waits in the outbox.

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
    presence::BEAT,
    stream::{Link, backoff},
    wire::{Letter, Line},
};

/// The most that is said at once, in bytes.
const MAX_LETTER: usize = 256 << 10;
/// What a node whose store is closed gets for its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Publishes one message at a time, which the server has to confirm. What happens meanwhile goes
/// into the next.
pub(super) struct Publisher {
    link: Link,
    node: String,
    /// Which life of the node this is.
    life: u64,
    outbox: Arc<Outbox>,
}

impl Publisher {
    pub(super) fn new(link: Link, node: &str, outbox: Arc<Outbox>) -> Self {
        // By chance, and not 0.
        let life = RandomState::new().hash_one(node) | 1;
        Self { link, node: node.to_owned(), life, outbox }
    }

    /// Publishes until the outbox is closed, what is in it then, and a farewell; while there is
    /// nothing to say, that this node is there.
    pub(super) async fn run(self) {
        loop {
            // Free data may take more in a message than in an event; and the server counts its
            // own words, too.
            let limit = MAX_LETTER.min(self.link.max_payload() / 3);
            let letter = match timeout(BEAT, self.outbox.next(limit)).await {
                Ok(Some(batch)) => self.letter(&batch, false),
                Ok(None) => break,
                Err(_elapsed) => self.letter(&Batch::new(), false),
            };
            if !self.publish(&letter).await {
                return;
            }
        }
        self.publish(&self.letter(&Batch::new(), true)).await;
    }

    fn letter(&self, batch: &Batch, leaves: bool) -> Bytes {
        let lines = batch.iter().map(|(signal, to)| Line::new(signal, to)).collect();
        let letter = Letter { from: self.node.clone(), lines, life: self.life, leaves };
        letter.encode_to_vec().into()
    }

    /// Publishes until it is confirmed: hearing something twice does no harm. Returns `false`
    /// when nobody is to wait for that any more.
    async fn publish(&self, letter: &Bytes) -> bool {
        let mut last_words = None;
        for attempt in 0.. {
            if self.link.is_connected() {
                match self.try_publish(letter).await {
                    Ok(()) => return true,
                    Err(error) => {
                        tracing::debug!(%error, "signals could not be published yet");
                        // A server that was restarted has lost the stream.
                        if let Err(error) = self.link.stream().await {
                            tracing::debug!(%error, "there is no stream for signals");
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

    async fn try_publish(&self, letter: &Bytes) -> Result<(), PublishError> {
        self.link.context.publish(self.link.subject(), letter.clone()).await?.await?;
        Ok(())
    }
}
