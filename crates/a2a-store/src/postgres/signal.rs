//! What nodes tell each other through the database.
//!
//! A notification has the name of the node that sends it in its first line, and in each other
//! line what happened: `w <position> <task>` for a task that was written, `p <node> <task>` for
//! a command posted to a node, `a <node> <command>` for one answered to a node, `b` for leases
//! that were abandoned.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_operations::store::{Signal, Signals};
use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::{Notify, mpsc},
    time::{interval, sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use super::{
    link::{Connector, LinkError, quoted},
    row,
};

/// The server takes payloads of less than 8000 bytes.
const MAX_PAYLOAD: usize = 7_500;

/// The longest line beside the ids in it: a letter, spaces and a position.
const LINE: usize = 30;

/// How many signals wait for the engine before they are replaced by one that says that some
/// were missed.
const WAITING: usize = 4096;

const PING: Duration = Duration::from_secs(10);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Spreads the lines of one statement over as many notifications as they need.
pub(super) struct Chunks {
    head: usize,
    chunk: i32,
    size: usize,
}

impl Chunks {
    pub(super) fn new(node: &str) -> Self {
        Self { head: node.len(), chunk: 0, size: node.len() }
    }

    /// Returns the notification that a line goes into.
    pub(super) fn add(&mut self, length: usize) -> i32 {
        if self.size + length + LINE > MAX_PAYLOAD {
            self.chunk += 1;
            self.size = self.head;
        }
        self.size += length + LINE;
        self.chunk
    }
}

/// Where nodes of one schema notify each other. Channels are common to all of a database.
pub(super) fn channel(schema: &str) -> String {
    let name = format!("a2a:{schema}");
    if name.len() < 60 { name } else { row::digest_of(schema).chars().take(60).collect() }
}

/// Reads what a notification tells `node`. What a node has written itself, it knows; a command
/// that it has posted may be one that it has to do, or answers, itself.
fn read(payload: &str, node: &str) -> Vec<Signal> {
    let mut lines = payload.lines();
    let is_own = lines.next().is_none_or(|sender| sender == node);
    let signals = lines.filter_map(|line| read_line(line, node));
    let is_news = |signal: &Signal| {
        !is_own || matches!(signal, Signal::Posted { .. } | Signal::Answered { .. })
    };
    signals.filter(is_news).collect()
}

fn read_line(line: &str, node: &str) -> Option<Signal> {
    if line == "b" {
        return Some(Signal::Abandoned);
    }
    let mut words = line.splitn(3, ' ');
    let (kind, what, id) = (words.next()?, words.next()?, words.next()?);
    match kind {
        "w" => Some(Signal::Written {
            task_id: id.into(),
            last_event: row::position(what.parse().ok()?),
            events: Vec::new(),
        }),
        "p" if what == node => Some(Signal::Posted { task_id: id.into() }),
        "a" if what == node => Some(Signal::Answered { command_id: id.into() }),
        _ => None,
    }
}

/// The way from the database to the engine.
struct Outbox {
    sender: mpsc::Sender<Signal>,
    has_missed: AtomicBool,
    wake: Notify,
}

impl Outbox {
    fn say(&self, signal: Signal) {
        if self.has_missed.load(Ordering::Relaxed) {
            return;
        }
        if self.sender.try_send(signal).is_err() {
            self.miss();
        }
    }

    /// Notes that signals were lost: what is known is told as soon as there is room.
    fn miss(&self) {
        self.has_missed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Tells the engine whenever signals were lost.
    async fn confess(&self) {
        loop {
            self.wake.notified().await;
            let Ok(permit) = self.sender.reserve().await else { return };
            // In this order: what comes from now on is told again.
            self.has_missed.store(false, Ordering::Relaxed);
            permit.send(Signal::Missed);
        }
    }
}

/// Listens to the other nodes.
pub(super) struct Listener {
    signals: Mutex<Option<mpsc::Receiver<Signal>>>,
    _task: AbortOnDropHandle<()>,
}

impl Listener {
    /// Starts to listen: what happens from when this returns is heard.
    pub(super) async fn start(
        connector: Arc<Connector>,
        channel: String,
        node: Arc<str>,
    ) -> Result<Self, LinkError> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let outbox =
            Arc::new(Outbox { sender, has_missed: AtomicBool::new(false), wake: Notify::new() });
        let ears = Ears { connector, channel, node, outbox };
        let ear = ears.open().await?;
        let task = AbortOnDropHandle::new(tokio::spawn(ears.run(ear)));
        Ok(Self { signals: Mutex::new(Some(receiver)), _task: task })
    }

    /// What is heard; asked for once.
    pub(super) fn signals(&self) -> Option<Signals> {
        let mut receiver = self.signals.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::pin(stream::poll_fn(move |context| receiver.poll_recv(context))))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

struct Ears {
    connector: Arc<Connector>,
    channel: String,
    node: Arc<str>,
    outbox: Arc<Outbox>,
}

/// A connection that listens.
struct Ear {
    client: Client,
    driver: AbortOnDropHandle<()>,
}

impl Ears {
    async fn open(&self) -> Result<Ear, LinkError> {
        let (client, mut connection) = self.connector.open().await?;
        let (outbox, node) = (Arc::clone(&self.outbox), Arc::clone(&self.node));
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    for signal in read(notification.payload(), &node) {
                        outbox.say(signal);
                    }
                }
            }
        }));
        let listen = format!("{}; LISTEN {}", self.connector.session(), quoted(&self.channel));
        let ready = timeout(PING, client.batch_execute(&listen)).await;
        ready.map_err(|_elapsed| LinkError::Silent)??;
        Ok(Ear { client, driver })
    }

    async fn run(self, first: Ear) {
        let outbox = Arc::clone(&self.outbox);
        tokio::select! {
            () = outbox.confess() => {}
            () = self.listen(first) => {}
        }
    }

    async fn listen(self, mut ear: Ear) {
        loop {
            hear(&mut ear).await;
            drop(ear);
            tracing::debug!("the connection that listens broke");
            let mut backoff = Duration::from_millis(20);
            ear = loop {
                match self.open().await {
                    Ok(ear) => break ear,
                    Err(error) => tracing::debug!(%error, "no connection to listen on"),
                }
                sleep(backoff).await;
                backoff = (2 * backoff).min(MAX_BACKOFF);
            };
            self.outbox.miss();
        }
    }
}

/// Hears until the connection is gone. One that is only silent is asked now and then.
async fn hear(ear: &mut Ear) {
    let mut ping = interval(PING);
    loop {
        tokio::select! {
            _ = &mut ear.driver => return,
            _ = ping.tick() => {
                let answer = timeout(PING, ear.client.batch_execute("")).await;
                if !matches!(answer, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_hears_what_others_say_to_all_and_to_it() {
        let payload = "n1\nw 7 task one\np n1 v\np n2 t\np n3 u\na n2 c\na n3 d\nb\nz 1 2\nw x y";
        let heard = |node| {
            let signals = read(payload, node);
            signals.iter().map(|signal| format!("{signal:?}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(heard("n1"), "Posted { task_id: \"v\" }");
        let signals = heard("n2");
        for expected in ["\"task one\"", "EventId(7)", "Posted { task_id: \"t\" }", "\"c\"", "Aban"]
        {
            assert!(signals.contains(expected), "{signals}");
        }
        assert_eq!(read(payload, "n2").len(), 4);
    }

    #[test]
    fn no_notification_is_too_long() {
        let mut chunks = Chunks::new("node");
        let mut sizes = [4_usize; 40];
        for length in [36, 36, 600, 3, 7_000, 36].into_iter().cycle().take(100) {
            let chunk = usize::try_from(chunks.add(length)).unwrap_or_default();
            sizes[chunk] += length + 28;
        }
        assert!(sizes.iter().all(|size| *size < 8_000), "{sizes:?}");
    }
}
