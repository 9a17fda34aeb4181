//! Hears what other nodes publish.

use std::{fmt::Display, time::Duration};

use a2a_operations::store::Signal;
use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, DeliverPolicy, pull},
    stream::{Info, Stream},
};
use futures_util::StreamExt as _;
use tokio::{
    sync::mpsc::Sender,
    time::{interval, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    NatsError,
    presence::{Presence, Word},
    stream::{Link, MAX_AGE, backoff},
    wire,
};

/// How often the server says that there is nothing to say.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How often a listener that hears nothing asks whether that is so.
const DOUBT: Duration = Duration::from_secs(5);
/// How long the engine may let a signal wait before it is told to read everything instead. The
/// stream keeps what comes meanwhile.
const PATIENCE: Duration = Duration::from_secs(MAX_AGE.as_secs() / 4);
/// The most messages that are fetched ahead, and their most bytes.
const AHEAD: usize = 64;
const AHEAD_BYTES: usize = 4 << 20;
/// When the server forgets a consumer that is not used any more.
const FORGET: Duration = Duration::from_secs(30);

/// Fetches the messages of the stream in their order, each once.
pub(super) struct Listener {
    link: Link,
    node: String,
    sender: Sender<Signal>,
    /// Up to where all is heard; `None` where that is not known.
    place: Option<Place>,
    presence: Presence,
}

/// A place in a stream.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    /// When the stream was made, in nanoseconds since 1970: another one has other numbers.
    created: i128,
    /// The number of the next message.
    next: u64,
}

/// Why a listener begins anew.
enum Broken {
    /// The engine is gone.
    End,
    /// It is to go on where it was.
    Resume,
    /// It has lost its place.
    Lost,
}

impl Listener {
    /// Starts to listen: what is published from when this returns is heard.
    pub(super) async fn start(
        link: Link,
        node: &str,
        sender: Sender<Signal>,
    ) -> Result<AbortOnDropHandle<()>, NatsError> {
        let mut listener = Self {
            link,
            node: node.to_owned(),
            sender,
            place: None,
            presence: Presence::new(node),
        };
        let stream = listener.link.stream().await.map_err(|error| listener.link.fault(error))?;
        let place = Place::end_of(stream.cached_info());
        let messages = listener.fetch(&stream, place).await;
        let messages = messages.map_err(|error| listener.link.fault(error))?;
        listener.place = Some(place);
        Ok(AbortOnDropHandle::new(tokio::spawn(listener.run(stream, messages))))
    }

    async fn run(mut self, mut stream: Stream, mut messages: pull::Stream) {
        loop {
            match self.hear(&stream, &mut messages).await {
                Broken::End => return,
                Broken::Resume => {}
                Broken::Lost => self.place = None,
            }
            let mut attempt = 0;
            (stream, messages) = loop {
                match self.open().await {
                    Ok(open) => break open,
                    Err(error) => tracing::debug!(%error, "signals can't be heard yet"),
                }
                sleep(backoff(attempt)).await;
                attempt += 1;
            };
        }
    }

    /// Goes on where it was; where that is not possible, says so and goes on at the end.
    async fn open(&mut self) -> Result<(Stream, pull::Stream), Unheard> {
        let stream = self.link.stream().await.map_err(Unheard::new)?;
        let end = Place::end_of(stream.cached_info());
        let first = stream.cached_info().state.first_sequence;
        let known = self.place.filter(|place| {
            place.created == end.created && (first..=end.next).contains(&place.next)
        });
        let messages = self.fetch(&stream, known.unwrap_or(end)).await?;
        if known.is_none() {
            // In this order: what is published from now on is heard.
            self.place = Some(end);
            tracing::debug!("signals were missed");
            let _ = self.sender.send(Signal::Missed).await;
        }
        Ok((stream, messages))
    }

    async fn fetch(&self, stream: &Stream, place: Place) -> Result<pull::Stream, Unheard> {
        let config = pull::Config {
            description: Some(format!("a2a node {}", self.node)),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: place.next },
            ack_policy: AckPolicy::None,
            max_deliver: 1,
            inactive_threshold: FORGET,
            num_replicas: 1,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(Unheard::new)?;
        consumer
            .stream()
            .max_messages_per_batch(AHEAD)
            .max_bytes_per_batch(AHEAD_BYTES)
            .heartbeat(HEARTBEAT)
            .messages()
            .await
            .map_err(Unheard::new)
    }

    async fn hear(&mut self, stream: &Stream, messages: &mut pull::Stream) -> Broken {
        let mut doubt = interval(DOUBT);
        let mut waited_for = None;
        loop {
            tokio::select! {
                message = messages.next() => {
                    let Some(Ok(message)) = message else { return Broken::Resume };
                    if let Err(broken) = self.take(&message).await {
                        return broken;
                    }
                }
                _ = doubt.tick() => {
                    let Ok(info) = stream.get_info().await else { return Broken::Resume };
                    let (Some(here), end) = (self.place, Place::end_of(&info)) else {
                        return Broken::Lost;
                    };
                    let is_stuck = here.next < end.next && waited_for == Some(here);
                    let is_gone = info.state.first_sequence > here.next;
                    if here.created != end.created || is_gone || is_stuck {
                        return Broken::Resume;
                    }
                    waited_for = Some(here);
                }
            }
        }
    }

    async fn take(&mut self, message: &jetstream::Message) -> Result<(), Broken> {
        let Ok(info) = message.info() else { return Err(Broken::Lost) };
        let Some(place) = &mut self.place else { return Err(Broken::Lost) };
        if info.stream_sequence != place.next {
            return Err(Broken::Lost);
        }
        place.next += 1;
        let time = info.published.unix_timestamp_nanos();
        let letter = wire::read(&message.payload);
        let word = Word { from: &letter.from, life: letter.life, leaves: letter.leaves, time };
        let missed = self.presence.hear(word).then(|| {
            tracing::debug!("a node is gone, and may not have told all that it wrote");
            Signal::Missed
        });
        for signal in letter.signals(&self.node).chain(missed) {
            match timeout(PATIENCE, self.sender.send(signal)).await {
                Ok(Ok(())) => {}
                Ok(Err(_closed)) => return Err(Broken::End),
                Err(_elapsed) => return Err(Broken::Lost),
            }
        }
        Ok(())
    }
}

impl Place {
    fn end_of(info: &Info) -> Self {
        let created = info.created.unix_timestamp_nanos();
        Self { created, next: info.state.last_sequence + 1 }
    }
}

/// Why nothing can be heard.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unheard(String);

impl Unheard {
    fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}
