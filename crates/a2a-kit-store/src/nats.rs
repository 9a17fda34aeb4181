//! Signals between nodes through NATS JetStream.
//!
//! A shared database can signal writes to its nodes by itself, but with many nodes and many streams
//! that is its first bottleneck. [`Clustered`] replaces these signals: it wraps the store of a
//! node, publishes its writes together with their events, and receives those of other nodes.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use a2a_kit_operations::Store;
//! use a2a_kit_store::nats::{Clustered, NatsConfig, NatsError};
//!
//! # async fn example(store: Arc<dyn Store>) -> Result<(), NatsError> {
//! let config = NatsConfig::new("nats://localhost:4222").with_cluster("weather");
//! let store = Clustered::connect(store, config).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! Signals are hints, and the store is authoritative, so nothing durable is kept here: the
//! JetStream stream is in memory, limited by age and size. No signal is lost silently:
//!
//! - Signals that cannot be published are retained and published later, one entry per task, up to
//!   10,000 entries and 4 MiB of events. Beyond the size, only events are dropped; beyond the
//!   number, all nodes are signalled to reload everything.
//! - A node that lost its connection resumes after the last signal it received. If that is
//!   impossible, because the server was restarted or the stream was trimmed, it reloads everything.
//! - While the server is away, the engine of each node reads the tasks that it watches, commands and
//!   their answers from the store every second.
//! - A node may crash between a write and its publication. Each node therefore sends a heartbeat at
//!   least once a second; a node that misses another's for 8 s, or sees it restart, reloads
//!   everything.

mod config;
mod error;
mod listener;
mod outbox;
mod presence;
mod publisher;
mod store;
mod stream;
mod wire;

use std::sync::Arc;

use a2a_kit_operations::{Store, store::Signal};
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::task::AbortOnDropHandle;

pub use self::{config::NatsConfig, error::NatsError};
use self::{
    error::BoxError, listener::Listener, outbox::Outbox, publisher::Publisher, stream::Link,
};

/// Maximum number of signals buffered for the engine.
const WAITING: usize = 256;

/// A store whose node exchanges signals with other nodes through NATS.
///
/// The signals of the wrapped store are ignored, so disable them.
pub struct Clustered {
    store: Arc<dyn Store>,
    outbox: Arc<Outbox>,
    signals: Mutex<Option<mpsc::Receiver<Signal>>>,
    /// Ends once the outbox is closed and everything is published.
    publisher: Mutex<Option<JoinHandle<()>>>,
    _listener: AbortOnDropHandle<()>,
}

impl Clustered {
    /// Connects a node to its cluster. Signals sent after this returns are received.
    ///
    /// # Errors
    ///
    /// [`NatsError`] if the server is unreachable, rejects the credentials, or lacks JetStream.
    /// Later failures are retried.
    pub async fn connect(store: Arc<dyn Store>, config: NatsConfig) -> Result<Self, NatsError> {
        let link = Link::open(&config, store.node()).await?;
        let outbox = Arc::<Outbox>::default();
        let (sender, receiver) = mpsc::channel(WAITING);
        let listener = Listener::start(link.clone(), store.node(), sender).await?;
        let publisher = Publisher::new(link, store.node(), Arc::clone(&outbox));
        let publisher = Mutex::new(Some(tokio::spawn(publisher.run())));
        let signals = Mutex::new(Some(receiver));
        Ok(Self { store, outbox, signals, publisher, _listener: listener })
    }
}

impl Drop for Clustered {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

a2a_core::debug_fields!(Clustered { store, .. });
