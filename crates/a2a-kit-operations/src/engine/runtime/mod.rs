//! Active tasks at run time: registry, waiters, readers and writers.

mod effects;
mod entry;
mod gauges;
mod handle;
mod maintenance;
mod reader;
mod registry;
mod watchers;
mod writer;

pub(crate) use self::handle::Handle;
pub(crate) use self::{entry::Entry, reader::Reader, registry::Registry};
