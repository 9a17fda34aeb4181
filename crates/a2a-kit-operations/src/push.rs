//! Webhook delivery traits.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{
    ProtocolVersion, Result,
    v1::{Task, TaskPushNotificationConfig},
};
use async_trait::async_trait;
use derive_setters::Setters;

use crate::{Event, trace::TraceContext};

/// A webhook of a task.
#[derive(Clone, Debug, Default, PartialEq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct Webhook {
    /// Its URL and credentials.
    pub config: TaskPushNotificationConfig,
    /// The protocol version of the registration, which deliveries use too.
    pub revision: ProtocolVersion,
    /// The trace context of the registration, which deliveries belong to.
    pub trace: Option<TraceContext>,
}

impl From<TaskPushNotificationConfig> for Webhook {
    fn from(config: TaskPushNotificationConfig) -> Self {
        Self { config, revision: ProtocolVersion::LATEST, trace: None }
    }
}

/// An event to deliver to a webhook.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The event.
    pub event: Event,
    /// The task at the event or later: older revisions deliver it in place of the event.
    pub task: Arc<Task>,
}

/// Delivers events to webhooks (spec §4.3.3). `a2a-kit-http` provides an implementation over HTTP.
#[async_trait]
pub trait PushSender: fmt::Debug + Send + Sync + 'static {
    /// Checks a webhook before it is stored.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the field `url`, if the address
    /// must not be called.
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<()>;

    /// The host of a webhook. Webhooks with the same host share its limits: see
    /// [`concurrency_per_host`](crate::PushConfig::concurrency_per_host).
    fn destination(&self, config: &TaskPushNotificationConfig) -> String;

    /// Attempts to deliver an event.
    async fn deliver(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError>;
}

/// Signs webhook deliveries, so that receivers can authenticate the sender (spec §13.2). `a2a-kit-auth`
/// provides an implementation with JSON Web Tokens.
pub trait PushSigner: fmt::Debug + Send + Sync + 'static {
    /// Returns a token for this delivery, as visible ASCII for a header. Each attempt is signed
    /// anew.
    fn sign(&self, webhook: &Webhook, delivery: &Delivery, body: &[u8]) -> Result<String>;
}

/// Why a delivery failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// A transient failure; `after` is the delay that the receiver asked for.
    #[error("webhook delivery failed")]
    Retry {
        /// The delay that the receiver asked for.
        after: Option<Duration>,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A permanent failure.
    #[error("the webhook rejected the delivery")]
    Refused {
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

a2a_core::debug_as_chain!(PushError);
