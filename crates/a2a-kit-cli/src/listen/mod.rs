//! The webhook receiver of `a2a listen`: verified deliveries, and their events as output.

mod deliveries;
mod printer;

pub(crate) use deliveries::{Deliveries, limits};
pub(crate) use printer::Printer;
