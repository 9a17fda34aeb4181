//! The rows of the matrices. A row that a driver omits has failed.

use super::{BINDINGS, cards::ALGORITHMS, matrix::Row};

const RPC: &[&str] = &["JSONRPC"];
const REST: &[&str] = &["HTTP+JSON"];
const HTTP: &[&str] = &["JSONRPC", "HTTP+JSON"];
/// The column of a framework that chooses the binding.
const ANY: &[&str] = &["any"];

/// Every operation in both directions, and requests that must be rejected.
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
    ("stream-silence", &BINDINGS),
    ("stream-cut", &BINDINGS),
    ("subscribe", &BINDINGS),
    ("subscribe-input", &BINDINGS),
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

/// The operations of older revisions, in both directions.
pub(super) const OLDER: &[Row] = &[
    ("card", &BINDINGS),
    ("extended-card", &BINDINGS),
    ("send", &BINDINGS),
    ("send-message", &BINDINGS),
    ("send-parts", &BINDINGS),
    ("send-immediately", &BINDINGS),
    ("multi-turn", &BINDINGS),
    ("failed-task", &BINDINGS),
    ("crashed-task", &BINDINGS),
    ("extensions", &BINDINGS),
    ("stream", &BINDINGS),
    ("stream-message", &BINDINGS),
    ("stream-input", &BINDINGS),
    ("stream-crash", &BINDINGS),
    ("subscribe", &BINDINGS),
    ("get", &BINDINGS),
    ("cancel", &BINDINGS),
    ("push-configs", &BINDINGS),
    ("push-delivery", &BINDINGS),
    ("push-with-message", &BINDINGS),
    ("error-unknown-task", &BINDINGS),
    ("error-cancel-terminal", &BINDINGS),
    ("error-send-terminal", &BINDINGS),
    ("error-context", &BINDINGS),
];

/// Differences of deployed SDKs on the wire, all of which have to be accepted.
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

/// Differences between signers of cards. The rows about omitted members test the canonical form
/// without them, which is off by default.
pub(super) const CARDS: &[Row] = &[
    ("card-full", &ALGORITHMS),
    ("card-unset", &ALGORITHMS),
    ("card-false", &ALGORITHMS),
    ("card-text", &ALGORITHMS),
    ("card-numbers", &ALGORITHMS),
    ("card-header", &ALGORITHMS),
    ("card-rotation", &ALGORITHMS),
    ("card-hybrid", &ALGORITHMS),
    ("card-unknown", &ALGORITHMS),
    ("card-empty-required", &ALGORITHMS),
    ("card-empty-required-left-out", &ALGORITHMS),
    ("card-empty-optional", &ALGORITHMS),
    ("card-empty-optional-left-out", &ALGORITHMS),
    ("card-empty-objects", &ALGORITHMS),
    ("card-empty-objects-left-out", &ALGORITHMS),
];

/// The OpenAPI document itself, and the operations in it.
pub(super) const SCHEMA: &[Row] = &[
    ("openapi-document", REST),
    ("GetAgentCard", REST),
    ("GetExtendedAgentCard", REST),
    ("SendMessage", REST),
    ("SendStreamingMessage", REST),
    ("GetTask", REST),
    ("ListTasks", REST),
    ("CancelTask", REST),
    ("SubscribeToTask", REST),
    ("SubscribeToTaskWithPost", REST),
    ("CreateTaskPushNotificationConfig", REST),
    ("GetTaskPushNotificationConfig", REST),
    ("ListTaskPushNotificationConfigs", REST),
    ("DeleteTaskPushNotificationConfig", REST),
];

/// What frameworks can do with a remote agent. They choose the binding.
pub(super) const FRAMEWORK_CLIENTS: &[Row] = &[
    ("card", ANY),
    ("send", ANY),
    ("stream", ANY),
    ("multi-turn", ANY),
    ("cancel", ANY),
    ("files", ANY),
    ("data", ANY),
    ("failed", ANY),
    ("push", ANY),
    ("error", ANY),
];

/// What agents of frameworks can do.
pub(super) const FRAMEWORK_AGENTS: &[Row] = &[
    ("card", &BINDINGS),
    ("send", &BINDINGS),
    ("stream", &BINDINGS),
    ("multi-turn", &BINDINGS),
    ("ask", &BINDINGS),
    ("cancel", &BINDINGS),
    ("get", &BINDINGS),
    ("subscribe", &BINDINGS),
    ("files", &BINDINGS),
    ("data", &BINDINGS),
    ("failed", &BINDINGS),
    ("push", &BINDINGS),
];
