//! Security events, as `tracing` events of the target `a2a::audit`.
//!
//! Each has the field `event`, and where known `subject`, `address`, `operation` and `reason`.
//! Events never contain credentials.

use std::net::IpAddr;

use a2a_core::Operation;
use a2a_kit_operations::metrics;
use tracing::{field, info};

/// The target of every event.
const TARGET: &str = "a2a::audit";

/// The fields common to all events, where known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuditContext<'a> {
    pub(super) subject: Option<&'a str>,
    pub(super) address: Option<IpAddr>,
    pub(super) operation: Option<Operation>,
}

macro_rules! event {
    ($event:literal, $audit_context:ident, $reason:expr) => {{
        let AuditContext { subject, address, operation } = $audit_context;
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

/// A request failed to authenticate.
pub(super) fn failed(audit_context: AuditContext<'_>, reason: &'static str) {
    metrics::refused("unauthenticated");
    metrics::authentication_failed(reason);
    event!("authentication_failed", audit_context, reason);
}

/// A caller was authorized for the first time within an hour.
pub(super) fn succeeded(audit_context: AuditContext<'_>) {
    event!("authentication_succeeded", audit_context, None::<&str>);
}

/// An authenticated caller is not authorized.
pub(super) fn denied(audit_context: AuditContext<'_>, reason: &str) {
    metrics::refused("forbidden");
    event!("denied", audit_context, reason);
}

/// An address is throttled from now on.
pub(super) fn throttled(audit_context: AuditContext<'_>) {
    metrics::refused("throttled");
    event!("throttled", audit_context, "too many failed attempts");
}
