use std::{pin::Pin, sync::Arc};

use futures_core::Stream;

use crate::{Event, EventId};

/// A change made by another node. Signals are hints; the store is authoritative. A signal that is
/// lost without a [`Lagged`](Self::Lagged) is a bug in the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// A task was written, or its lease changed hands.
    Written {
        /// The task.
        task_id: Arc<str>,
        /// The position of its newest event.
        last_event: EventId,
        /// The newest events up to that position, without gaps, if the store includes them. A
        /// reader may need older ones.
        events: Vec<Event>,
    },
    /// A command is pending for a task that this node holds.
    Posted {
        /// The task.
        task_id: Arc<str>,
    },
    /// A command that this node posted was answered.
    Answered {
        /// The command.
        command_id: Arc<str>,
    },
    /// A node has abandoned leases, so there are tasks to take over.
    Abandoned,
    /// Signals may have been lost: reload everything that is watched. Repeated every second while
    /// none can be received.
    Lagged,
}

/// A stream of signals. It reconnects by itself and ends with the store.
pub type Signals = Pin<Box<dyn Stream<Item = Signal> + Send>>;
