//! Messages that wait for their turn.

use std::sync::Arc;

use a2a_core::v1::Message;

use crate::CallContext;

/// A message that waits for its turn.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) ticket: u64,
    pub(super) turn: TurnRequest,
}

/// What an executor gets to know of one message.
#[derive(Clone, Debug)]
pub(crate) struct TurnRequest {
    pub(crate) message: Arc<Message>,
    pub(crate) call: Arc<CallContext>,
    pub(crate) accepted_output_modes: Arc<[String]>,
    pub(crate) metadata: Option<Arc<a2a_core::well_known::Struct>>,
    /// Whether the sender reads a stream.
    pub(crate) streams: bool,
    /// Whether the message is the same as one with its id that was taken before.
    pub(crate) joins: bool,
    /// Whether an earlier run for the message was cut off.
    pub(crate) rerun: bool,
    /// The commands that brought the message, where other nodes took it.
    pub(crate) commands: Vec<Arc<str>>,
}
