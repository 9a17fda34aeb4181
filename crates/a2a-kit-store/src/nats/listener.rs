//! Receives the signals of other nodes.

use std::{pin::pin, time::Duration};

use a2a_kit_operations::store::Signal;
use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, DeliverPolicy, pull},
    stream::{Info, Stream},
};
use futures_util::StreamExt as _;
use tokio::{
    sync::mpsc::Sender,
    time::{Instant, interval, interval_at, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    BoxError, NatsError,
    presence::Presence,
    stream::{Link, MAX_AGE, backoff},
    wire,
};

/// Heartbeat interval of the server.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long a silent listener waits before it queries the stream.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How often a listener looks whether it is connected.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How often the engine reads from the store what it watches while the server is away.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);
/// How long the engine may block a signal before a request to reload everything replaces it. The
/// stream retains signals in the meantime.
const SEND_TIMEOUT: Duration = Duration::from_secs(MAX_AGE.as_secs() / 4);
/// Maximum number and bytes of prefetched messages.
const PREFETCH: usize = 64;
const PREFETCH_BYTES: usize = 4 << 20;
/// When the server removes an unused consumer.
const FORGET: Duration = Duration::from_secs(30);

/// Reads the messages of the stream in order, each once.
pub(super) struct Listener {
    link: Link,
    node: String,
    sender: Sender<Signal>,
    /// The position up to which all messages were received; `None` if unknown.
    position: Option<StreamPosition>,
    presence: Presence,
}

#[derive(Clone, Copy, PartialEq)]
struct StreamPosition {
    /// The creation time of the stream, in nanoseconds since 1970: a new stream numbers its
    /// messages anew.
    created: i128,
    /// The sequence number of the next message.
    next: u64,
}

/// Why a listener restarts.
enum Interruption {
    /// The engine is gone.
    End,
    /// Resume at the current position.
    Resume,
    /// The position is lost.
    Lost,
}

impl Listener {
    /// Starts to listen. Signals published after this returns are received.
    pub(super) async fn start(
        link: Link,
        node: &str,
        sender: Sender<Signal>,
    ) -> Result<AbortOnDropHandle<()>, NatsError> {
        let mut listener = Self {
            link,
            node: node.to_owned(),
            sender,
            position: None,
            presence: Presence::new(node),
        };
        let stream = listener.link.stream().await.map_err(|error| listener.link.fault(error))?;
        let position = StreamPosition::end_of(stream.cached_info());
        let messages = listener.fetch(&stream, position).await;
        let messages = messages.map_err(|error| listener.link.fault(error))?;
        listener.position = Some(position);
        Ok(AbortOnDropHandle::new(tokio::spawn(listener.run(stream, messages))))
    }

    async fn run(mut self, mut stream: Stream, mut messages: pull::Stream) {
        loop {
            match self.receive(&stream, &mut messages).await {
                Interruption::End => return,
                Interruption::Resume => {}
                Interruption::Lost => self.position = None,
            }
            (stream, messages) = self.reopen().await;
        }
    }

    /// Opens the stream again. Until then, a signal every second makes the engine read what it
    /// watches from the store.
    async fn reopen(&mut self) -> (Stream, pull::Stream) {
        let sender = self.sender.clone();
        let mut reload = interval_at(Instant::now() + CHECK_INTERVAL, RELOAD_INTERVAL);
        let mut reopened = pin!(self.open_with_retries());
        let mut is_away = false;
        loop {
            tokio::select! {
                opened = &mut reopened => {
                    if is_away {
                        tracing::info!("NATS is back");
                    }
                    return opened;
                }
                _ = reload.tick() => {
                    if !is_away {
                        is_away = true;
                        tracing::warn!("NATS is away: reading from the store every second");
                    }
                    // A full queue has signals that are as good.
                    let _ = sender.try_send(Signal::Lagged);
                }
            }
        }
    }

    async fn open_with_retries(&mut self) -> (Stream, pull::Stream) {
        let mut attempt = 0;
        loop {
            match self.open().await {
                Ok(open) => return open,
                Err(error) => {
                    tracing::debug!(%error, "failed to subscribe to signals, will retry");
                }
            }
            sleep(backoff(attempt)).await;
            attempt += 1;
        }
    }

    /// Resumes at the current position; if that is impossible, signals lag and continues at the
    /// end.
    async fn open(&mut self) -> Result<(Stream, pull::Stream), BoxError> {
        let stream = self.link.stream().await?;
        let end = StreamPosition::end_of(stream.cached_info());
        let first = stream.cached_info().state.first_sequence;
        let known = self.position.filter(|position| {
            position.created == end.created && (first..=end.next).contains(&position.next)
        });
        let messages = self.fetch(&stream, known.unwrap_or(end)).await?;
        if known.is_none() {
            // Subscribed before the signal is sent, so that nothing is missed in between.
            self.position = Some(end);
            tracing::debug!("signals lost, reloading");
            let _ = self.sender.send(Signal::Lagged).await;
        }
        Ok((stream, messages))
    }

    async fn fetch(
        &self,
        stream: &Stream,
        position: StreamPosition,
    ) -> Result<pull::Stream, BoxError> {
        let config = pull::Config {
            description: Some(format!("a2a node {}", self.node)),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: position.next },
            ack_policy: AckPolicy::None,
            max_deliver: 1,
            inactive_threshold: FORGET,
            num_replicas: 1,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(PREFETCH)
            .max_bytes_per_batch(PREFETCH_BYTES)
            .heartbeat(HEARTBEAT)
            .messages();
        Ok(messages.await?)
    }

    async fn receive(&mut self, stream: &Stream, messages: &mut pull::Stream) -> Interruption {
        let mut probe = interval(PROBE_INTERVAL);
        let mut check = interval(CHECK_INTERVAL);
        let mut waited_for = None;
        loop {
            tokio::select! {
                _ = check.tick() => {
                    if !self.link.is_connected() {
                        return Interruption::Resume;
                    }
                }
                message = messages.next() => {
                    let Some(Ok(message)) = message else { return Interruption::Resume };
                    if let Err(broken) = self.take(&message).await {
                        return broken;
                    }
                }
                _ = probe.tick() => {
                    let Ok(info) = stream.get_info().await else { return Interruption::Resume };
                    let (Some(here), end) = (self.position, StreamPosition::end_of(&info)) else {
                        return Interruption::Lost;
                    };
                    let is_stuck = here.next < end.next && waited_for == Some(here);
                    let is_gone = info.state.first_sequence > here.next;
                    if here.created != end.created || is_gone || is_stuck {
                        return Interruption::Resume;
                    }
                    waited_for = Some(here);
                }
            }
        }
    }

    async fn take(&mut self, message: &jetstream::Message) -> Result<(), Interruption> {
        let Ok(info) = message.info() else { return Err(Interruption::Lost) };
        let Some(position) = &mut self.position else { return Err(Interruption::Lost) };
        if info.stream_sequence != position.next {
            return Err(Interruption::Lost);
        }
        position.next += 1;
        let time = info.published.unix_timestamp_nanos();
        let message = wire::read(&message.payload);
        let missed = self.presence.observe(&message, time).then(|| {
            tracing::debug!("node lost, reloading");
            Signal::Lagged
        });
        for signal in message.signals(&self.node).chain(missed) {
            match timeout(SEND_TIMEOUT, self.sender.send(signal)).await {
                Ok(Ok(())) => {}
                Ok(Err(_closed)) => return Err(Interruption::End),
                Err(_elapsed) => return Err(Interruption::Lost),
            }
        }
        Ok(())
    }
}

impl StreamPosition {
    fn end_of(info: &Info) -> Self {
        let created = info.created.unix_timestamp_nanos();
        Self { created, next: info.state.last_sequence + 1 }
    }
}
