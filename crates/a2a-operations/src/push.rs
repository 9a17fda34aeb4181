//! How events reach webhooks.

use std::{fmt, time::Duration};

use a2a_core::{Result, v1::TaskPushNotificationConfig};
use async_trait::async_trait;

use crate::Event;

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

    /// Makes one try to deliver an event.
    async fn deliver(
        &self,
        config: &TaskPushNotificationConfig,
        event: &Event,
    ) -> Result<(), PushError>;
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
