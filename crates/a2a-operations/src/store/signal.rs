use std::{pin::Pin, sync::Arc};

use futures_core::Stream;

use crate::{Event, EventId};

/// What happened at another node. Signals are hints: the truth is in the store, and one that is
/// lost without a [`Missed`](Self::Missed) is a fault of the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// A task was written, or its holder changed.
    Written {
        /// The task.
        task_id: Arc<str>,
        /// The position of its newest event.
        last_event: EventId,
        /// The newest events up to that position without a gap, where they travel along; they
        /// may not be all that a reader lacks.
        events: Vec<Event>,
    },
    /// A command waits for a task that this node holds.
    Posted {
        /// The task.
        task_id: Arc<str>,
    },
    /// A command that this node posted was answered.
    Answered {
        /// The command.
        command_id: Arc<str>,
    },
    /// A node has let its leases run out: there is something to take over.
    Abandoned,
    /// Signals may have been missed, so everything that is watched has to be read again.
    Missed,
}

/// What other nodes do, as it happens. It heals its connection by itself and ends with the store.
pub type Signals = Pin<Box<dyn Stream<Item = Signal> + Send>>;
