//! Signals between nodes through `LISTEN` and `NOTIFY`.
//!
//! The first line of a notification is the name of the sending node, and each other line is a
//! signal: `w <position> <task>` for a written task, `p <node> <task>` for a command posted to a
//! node, `a <node> <command>` for an answer to a node, `b` for abandoned leases.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_kit_operations::store::{Signal, Signals};
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, interval, interval_at, sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use super::{
    link::{Connector, quoted},
    link_error::LinkError,
    row,
};

/// The server accepts payloads of less than 8000 bytes.
const MAX_PAYLOAD: usize = 7_500;

/// The maximum length of a line without its ids: a letter, spaces and a position.
const LINE: usize = 30;

/// Maximum number of signals buffered for the engine, beyond which they are replaced by one lag
/// signal.
const WAITING: usize = 4096;

/// How often an idle connection is checked, and how long an answer may take.
const PING: Duration = Duration::from_secs(3);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the engine reads what it watches while the connection is lost.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Splits the lines of one statement into notifications.
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

/// The channel of a schema. Channels are shared by the whole database.
pub(super) fn channel(schema: &str) -> String {
    let name = format!("a2a:{schema}");
    if name.len() < 60 { name } else { row::digest_of(schema).chars().take(60).collect() }
}

/// Parses the signals of a notification for `node`. Its own writes are skipped; a command or answer
/// may be addressed to its sender.
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

/// The queue of signals for the engine.
struct Outbox {
    sender: mpsc::Sender<Signal>,
    has_missed: AtomicBool,
    wake: Notify,
}

impl Outbox {
    fn send(&self, signal: Signal) {
        if self.has_missed.load(Ordering::Relaxed) {
            return;
        }
        if self.sender.try_send(signal).is_err() {
            self.mark_lagged();
        }
    }

    /// Marks that signals were lost, to be reported as soon as there is room.
    fn mark_lagged(&self) {
        self.has_missed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Reports lost signals to the engine.
    async fn report_lag(&self) {
        loop {
            self.wake.notified().await;
            let Ok(permit) = self.sender.reserve().await else { return };
            // Cleared first, so that later losses are reported again.
            self.has_missed.store(false, Ordering::Relaxed);
            permit.send(Signal::Lagged);
        }
    }
}

/// Listens for signals of other nodes.
pub(super) struct Listener {
    signals: Mutex<Option<mpsc::Receiver<Signal>>>,
    _task: AbortOnDropHandle<()>,
}

impl Listener {
    /// Starts to listen. Signals sent after this returns are received.
    pub(super) async fn start(
        connector: Arc<Connector>,
        channel: String,
        node: Arc<str>,
    ) -> Result<Self, LinkError> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let outbox =
            Arc::new(Outbox { sender, has_missed: AtomicBool::new(false), wake: Notify::new() });
        let listen = ListenTask { connector, channel, node, outbox };
        let connection = listen.open().await?;
        let task = AbortOnDropHandle::new(tokio::spawn(listen.run(connection)));
        Ok(Self { signals: Mutex::new(Some(receiver)), _task: task })
    }

    /// The signals; called once.
    pub(super) fn signals(&self) -> Option<Signals> {
        let mut receiver = self.signals.lock().take()?;
        Some(Box::pin(stream::poll_fn(move |context| receiver.poll_recv(context))))
    }
}

a2a_core::debug_fields!(Listener(..));

struct ListenTask {
    connector: Arc<Connector>,
    channel: String,
    node: Arc<str>,
    outbox: Arc<Outbox>,
}

struct ListenConnection {
    client: Client,
    generation: u64,
    driver: AbortOnDropHandle<()>,
}

impl ListenTask {
    async fn open(&self) -> Result<ListenConnection, LinkError> {
        let generation = self.connector.health().generation();
        let (client, mut connection) = self.connector.open().await?;
        let (outbox, node) = (Arc::clone(&self.outbox), Arc::clone(&self.node));
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    for signal in read(notification.payload(), &node) {
                        outbox.send(signal);
                    }
                }
            }
        }));
        let listen = format!("{}; LISTEN {}", self.connector.session(), quoted(&self.channel));
        let ready = timeout(PING_TIMEOUT, client.batch_execute(&listen)).await;
        ready.map_err(|_elapsed| LinkError::Timeout)??;
        Ok(ListenConnection { client, generation, driver })
    }

    async fn run(self, first: ListenConnection) {
        let outbox = Arc::clone(&self.outbox);
        tokio::select! {
            () = outbox.report_lag() => {}
            () = self.listen(first) => {}
        }
    }

    async fn listen(self, mut connection: ListenConnection) {
        loop {
            let generation = connection.generation;
            tokio::select! {
                () = receive(&mut connection) => {}
                // A primary that was demoted keeps the connection, but signals nothing.
                () = self.connector.health().outdated(generation) => {}
            }
            drop(connection);
            tracing::debug!("listen connection lost");
            connection = self.reopen().await;
            self.outbox.mark_lagged();
        }
    }

    /// Opens the connection again. Until then, a signal every second makes the engine read what
    /// it watches.
    async fn reopen(&self) -> ListenConnection {
        let mut reload = interval_at(Instant::now() + RELOAD_INTERVAL, RELOAD_INTERVAL);
        let mut reopened = pin!(self.open_with_retries());
        let mut is_away = false;
        loop {
            tokio::select! {
                opened = &mut reopened => {
                    if is_away {
                        tracing::info!("listen connection is back");
                    }
                    return opened;
                }
                _ = reload.tick() => {
                    if !is_away {
                        is_away = true;
                        tracing::warn!("listen connection lost: reading tasks every second");
                    }
                    self.outbox.mark_lagged();
                }
            }
        }
    }

    async fn open_with_retries(&self) -> ListenConnection {
        let mut backoff = Duration::from_millis(20);
        loop {
            match self.open().await {
                Ok(connection) => return connection,
                Err(error) => tracing::debug!(%error, "failed to open listen connection"),
            }
            sleep(backoff).await;
            backoff = (2 * backoff).min(MAX_BACKOFF);
        }
    }
}

/// Receives until the connection is lost. An idle connection is checked periodically.
async fn receive(connection: &mut ListenConnection) {
    let mut ping = interval(PING);
    loop {
        tokio::select! {
            _ = &mut connection.driver => return,
            _ = ping.tick() => {
                let answer = timeout(PING_TIMEOUT, connection.client.batch_execute("")).await;
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
    fn node_receives_broadcasts_and_direct_signals() {
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
    fn notifications_fit_the_payload_limit() {
        let mut chunks = Chunks::new("node");
        let mut sizes = [4_usize; 40];
        for length in [36, 36, 600, 3, 7_000, 36].into_iter().cycle().take(100) {
            let chunk = usize::try_from(chunks.add(length)).unwrap_or_default();
            sizes[chunk] += length + 28;
        }
        assert!(sizes.iter().all(|size| *size < 8_000), "{sizes:?}");
    }
}
