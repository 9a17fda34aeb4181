//! Events of a client.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{Error, Operation};

use crate::SelectedInterface;

/// What a client does on its own between a call and its result, for logs and progress displays:
/// see [`ClientBuilder::on_event`](crate::ClientBuilder::on_event).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The preferred interface is not used because credentials must not be sent to it.
    InterfaceSkipped {
        /// The interface that would have been used.
        preferred: SelectedInterface,
        /// The interface that is used.
        used: SelectedInterface,
    },
    /// A request failed and is retried after a delay.
    Retrying {
        /// The operation.
        operation: Operation,
        /// The task, if the request names one.
        task_id: Option<String>,
        /// The number of the retry, from 1.
        attempt: u32,
        /// The delay before the retry.
        delay: Duration,
        /// The error of the previous attempt.
        error: Error,
    },
    /// The connection of a stream was lost, and the stream is reopened after a delay.
    Reconnecting {
        /// The task; `None` if the stream was lost before its first event.
        task_id: Option<String>,
        /// The number of the attempt since the last event, from 1.
        attempt: u32,
        /// The delay before the attempt.
        delay: Duration,
        /// The error that ended the stream or the previous attempt.
        error: Error,
    },
    /// A lost stream was reopened.
    Resumed {
        /// The task; `None` if it is still unknown.
        task_id: Option<String>,
    },
    /// A task is polled because its stream could not be opened or resumed.
    FellBackToPolling {
        /// The task; `None` if it is still unknown.
        task_id: Option<String>,
        /// The error of the stream.
        error: Error,
    },
}

/// The observer of a client, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<dyn Fn(ClientEvent) + Send + Sync>>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(ClientEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn emit(&self, event: impl FnOnce() -> ClientEvent) {
        if let Some(observe) = &self.0 {
            observe(event());
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observer(..)" } else { "None" })
    }
}
