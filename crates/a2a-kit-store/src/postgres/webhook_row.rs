//! The row of a webhook config.

use a2a_kit_operations::{Webhook, store::StoreError};

use super::row::{key, printable};
use crate::{SecretKeys, codec::encode_webhook};

/// An encoded webhook.
pub(super) struct HookRow {
    /// The id as a key.
    pub(super) config_id: String,
    /// The original id.
    pub(super) name: String,
    pub(super) url: String,
    pub(super) body: Vec<u8>,
}

impl HookRow {
    pub(super) fn new(webhook: &Webhook, keys: &SecretKeys) -> Result<Self, StoreError> {
        let config = &webhook.config;
        Ok(Self {
            config_id: key(&config.id).into_owned(),
            name: config.id.clone(),
            url: printable(&config.url).into_owned(),
            body: encode_webhook(webhook, keys).map_err(StoreError::failed)?,
        })
    }
}
