//! The rows of the matrices. A driver that leaves one out has failed at it.

use super::{BINDINGS, matrix::Row};

const RPC: &[&str] = &["JSONRPC"];
const REST: &[&str] = &["HTTP+JSON"];
const HTTP: &[&str] = &["JSONRPC", "HTTP+JSON"];

/// What the SDKs do with us and we with them: every operation, and what has to be refused.
pub(super) const OPERATIONS: &[Row] = &[
    ("card", &BINDINGS),
    ("extended-card", &BINDINGS),
    ("send", &BINDINGS),
    ("send-message", &BINDINGS),
    ("send-parts", &BINDINGS),
    ("send-large", &BINDINGS),
    ("send-immediately", &BINDINGS),
    ("send-history-length", &BINDINGS),
    ("multi-turn", &BINDINGS),
    ("tenant", &BINDINGS),
    ("failed-task", &BINDINGS),
    ("crashed-task", &BINDINGS),
    ("extensions", &BINDINGS),
    ("stream", &BINDINGS),
    ("stream-message", &BINDINGS),
    ("stream-input", &BINDINGS),
    ("stream-crash", &BINDINGS),
    ("stream-cut", &BINDINGS),
    ("subscribe", &BINDINGS),
    ("get", &BINDINGS),
    ("list-pages", &BINDINGS),
    ("list-filters", &BINDINGS),
    ("list-since", &BINDINGS),
    ("cancel", &BINDINGS),
    ("push-configs", &BINDINGS),
    ("push-delivery", &BINDINGS),
    ("push-with-message", &BINDINGS),
    ("error-unknown-task", &BINDINGS),
    ("error-cancel-terminal", &BINDINGS),
    ("error-subscribe-terminal", &BINDINGS),
    ("error-send-terminal", &BINDINGS),
    ("error-context", &BINDINGS),
    ("error-page-size", &BINDINGS),
    ("error-empty-message", &BINDINGS),
    ("error-push-config", &BINDINGS),
    ("error-version", &BINDINGS),
];

/// Where deployed SDKs differ on the wire, and each of their ways has to be taken.
pub(super) const WIRE: &[Row] = &[
    ("missing-version", HTTP),
    ("patch-version", HTTP),
    ("query-version", HTTP),
    ("extension-headers", HTTP),
    ("request-ids", RPC),
    ("batch", RPC),
    ("missing-params", RPC),
    ("unknown-method", RPC),
    ("parse-error", HTTP),
    ("error-status", HTTP),
    ("content-types", HTTP),
    ("accepted-types", REST),
    ("unknown-members", HTTP),
    ("unknown-enum", HTTP),
    ("snake-case", HTTP),
    ("enum-integers", HTTP),
    ("two-contents", HTTP),
    ("required-members", HTTP),
    ("absent-members", HTTP),
    ("event-stream", HTTP),
    ("last-event-id", HTTP),
    ("refused-stream", HTTP),
    ("subscribe-verbs", REST),
    ("empty-bodies", REST),
    ("webhook-status", HTTP),
    ("trailing-slash", RPC),
    ("tenant-paths", REST),
    ("card-document", REST),
];
