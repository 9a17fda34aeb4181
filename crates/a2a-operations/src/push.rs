//! How events reach webhooks.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{
    ProtocolVersion, Result,
    v1::{Task, TaskPushNotificationConfig},
};
use async_trait::async_trait;

use crate::{Event, trace::TraceContext};

/// A webhook of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Webhook {
    /// Where it is, and what to show there.
    pub config: TaskPushNotificationConfig,
    /// The revision in which it was registered, and which its deliveries speak.
    pub revision: ProtocolVersion,
    /// The request that registered it, whose trace its deliveries belong to.
    pub trace: Option<TraceContext>,
}

impl From<TaskPushNotificationConfig> for Webhook {
    fn from(config: TaskPushNotificationConfig) -> Self {
        Self { config, revision: ProtocolVersion::LATEST, trace: None }
    }
}

/// An event on its way to a webhook.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The event.
    pub event: Event,
    /// The task, at the event or later: older revisions send it in place of the event.
    pub task: Arc<Task>,
}

/// Delivers events to webhooks (spec §4.3.3). `a2a-http` has the one that speaks HTTP.
#[async_trait]
pub trait PushSender: fmt::Debug + Send + Sync + 'static {
    /// Checks a webhook before it is stored.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an address that may not be
    /// called, with the field `url`.
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<()>;

    /// Names the host that is called for a webhook. Webhooks with the same name share what one
    /// host may get: see
    /// [`push_concurrency_per_host`](crate::EngineConfig::push_concurrency_per_host).
    fn destination(&self, config: &TaskPushNotificationConfig) -> String;

    /// Makes one try to deliver an event.
    async fn deliver(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError>;
}

/// Signs what is delivered to webhooks, so that a receiver can tell who calls (spec §13.2).
/// `a2a-auth` has the one that writes JSON Web Tokens.
pub trait PushSigner: fmt::Debug + Send + Sync + 'static {
    /// Returns a token that proves who sends this body to this webhook, and when: visible ASCII,
    /// as it fits a header. Each try is signed anew.
    fn sign(&self, webhook: &Webhook, delivery: &Delivery, body: &[u8]) -> Result<String>;
}

/// Why an event did not reach a webhook.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// It may work later; `after` is when the receiver asked to be called again.
    #[error("the webhook could not be reached")]
    Retry {
        /// How long the receiver wants to be left alone.
        after: Option<Duration>,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It will not work later.
    #[error("the webhook refuses")]
    Refused {
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
