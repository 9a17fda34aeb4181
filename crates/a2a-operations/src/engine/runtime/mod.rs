//! Live tasks at work: who keeps them, waits for them, reads and writes them.

mod entry;
mod gauges;
mod handle;
mod maintenance;
mod reader;
mod registry;
mod watchers;
mod writer;

pub(crate) use self::handle::Handle;
pub(in crate::engine) use self::{
    entry::Entry,
    reader::{Reader, Until},
    registry::Registry,
};
