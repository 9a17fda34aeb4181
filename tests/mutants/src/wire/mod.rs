//! Faults on the wire: a layer around the server that changes requests and responses.

mod exchange;
mod layer;
mod text;

pub use exchange::Exchange;
pub(crate) use layer::apply;
pub use text::Texts;
