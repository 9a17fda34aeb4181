//! Security events, as `tracing` events of the target `a2a::audit`.
//!
//! Each has `event`, and where it is known `subject`, `address`, `operation` and `reason`. None has
//! anything that a caller presented.

use std::net::IpAddr;

use a2a_core::Operation;
use a2a_operations::metrics;
use tracing::{field, info};

/// The target of every event.
const TARGET: &str = "a2a::audit";

/// Who did what from where, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circumstances<'a> {
    pub(super) subject: Option<&'a str>,
    pub(super) address: Option<IpAddr>,
    pub(super) operation: Option<Operation>,
}

macro_rules! event {
    ($event:literal, $circumstances:ident, $reason:expr) => {{
        let Circumstances { subject, address, operation } = $circumstances;
        info!(
            target: TARGET,
            event = $event,
            subject,
            address = address.map(field::display),
            operation = operation.map(|operation| operation.name()),
            reason = $reason,
        );
    }};
}

/// A caller was not let in.
pub(super) fn failed(circumstances: Circumstances<'_>, reason: &str) {
    metrics::refused("unauthenticated");
    event!("authentication_failed", circumstances, reason);
}

/// A caller came in that has not been here for a while.
pub(super) fn succeeded(circumstances: Circumstances<'_>) {
    event!("authentication_succeeded", circumstances, None::<&str>);
}

/// A caller may not do what it asked for.
pub(super) fn denied(circumstances: Circumstances<'_>, reason: &str) {
    metrics::refused("forbidden");
    event!("denied", circumstances, reason);
}

/// An address has to wait until its tries are looked at again.
pub(super) fn throttled(circumstances: Circumstances<'_>) {
    metrics::refused("throttled");
    event!("throttled", circumstances, "too many tries failed");
}
