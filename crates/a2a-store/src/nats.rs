//! Nodes that hear of each other through NATS JetStream.
//!
//! A database that many nodes share can tell them of each other's writes by itself. Where many
//! nodes follow many streams, that is its first bottleneck: [`Clustered`] takes the telling off
//! it. It wraps the store of a node, publishes what was written once it is, with the events
//! along, and hears what the other nodes publish.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use a2a_operations::Store;
//! use a2a_store::nats::{Clustered, NatsConfig, NatsError};
//!
//! # async fn example(store: Arc<dyn Store>) -> Result<(), NatsError> {
//! let config = NatsConfig::new("nats://localhost:4222").with_cluster("weather");
//! let store = Clustered::connect(store, config).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//!
//! Signals are hints, the truth is in the store, so nothing of value is kept here: the JetStream
//! stream is in memory, with bounds in age and size. None is lost silently:
//!
//! - What can't be published is kept and published later, one entry for each task, up to 10,000
//!   entries and 4 MiB of events. Past the size only the events stay behind; past the number,
//!   all nodes are told to read everything again.
//! - A node that lost its connection goes on behind the last signal it has heard. Where that is
//!   not possible, because the server was restarted or the stream has moved on, it reads
//!   everything again.
//! - A node that crashes between a write and its publication is missed: each says at least once a
//!   second that it is there, and who does not hear one for 8 s, or hears that it has started
//!   anew, reads everything again.

mod config;
mod error;
mod listener;
mod outbox;
mod presence;
mod publisher;
mod store;
mod stream;
mod tls;
mod wire;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use a2a_operations::{
    Store,
    store::{Signal, Signals},
};
use futures_util::stream::poll_fn;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

pub use self::{config::NatsConfig, error::NatsError};
use self::{listener::Listener, outbox::Outbox, publisher::Publisher, stream::Link};

/// How many signals wait for the engine before no more are fetched.
const WAITING: usize = 256;

/// A store whose node tells other nodes what it does through NATS, and hears them.
///
/// The store below is to be one that tells nobody by itself: its own signals are not read.
pub struct Clustered {
    store: Arc<dyn Store>,
    outbox: Arc<Outbox>,
    signals: Mutex<Option<mpsc::Receiver<Signal>>>,
    _listener: AbortOnDropHandle<()>,
}

impl Clustered {
    /// Connects a node to its cluster: what happens from when this returns is heard.
    ///
    /// # Errors
    ///
    /// [`NatsError`], if the server is not there, lets us not in, or has no JetStream. Later
    /// faults are healed.
    pub async fn connect(store: Arc<dyn Store>, config: NatsConfig) -> Result<Self, NatsError> {
        let link = Link::open(&config, store.node()).await?;
        let outbox = Arc::new(Outbox::new());
        let (sender, receiver) = mpsc::channel(WAITING);
        let listener = Listener::start(link.clone(), store.node(), sender).await?;
        // It ends by itself, once all is said, after the outbox is closed.
        tokio::spawn(Publisher::new(link, store.node(), Arc::clone(&outbox)).run());
        Ok(Self { store, outbox, signals: Mutex::new(Some(receiver)), _listener: listener })
    }

    fn take_signals(&self) -> Option<Signals> {
        let mut receiver = self.signals.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::pin(poll_fn(move |context| receiver.poll_recv(context))))
    }
}

impl Drop for Clustered {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

impl fmt::Debug for Clustered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clustered").field("store", &self.store).finish_non_exhaustive()
    }
}
