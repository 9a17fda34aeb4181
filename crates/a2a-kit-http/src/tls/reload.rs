//! Server TLS configuration with certificate reload.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::SystemTime,
};

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::metrics;
use http::HeaderValue;
use rustls::ServerConfig;
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use super::{
    TlsError, TlsSettings,
    settings::{Fingerprint, Material},
};

/// The TLS configuration of a server: created by [`TlsSettings::load`], passed to
/// [`HttpServer::with_tls`](crate::HttpServer::with_tls). Clones share it.
///
/// While the server runs, changed files are reloaded. New connections use the new certificate;
/// existing ones are not affected. If the new files are invalid, a warning is logged and the
/// previous certificate stays in use.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Shared>);

struct Shared {
    settings: TlsSettings,
    config: RwLock<Arc<ServerConfig>>,
    not_after: Mutex<Option<SystemTime>>,
    /// Fingerprint of the last read, whether or not it was valid.
    last_read: Mutex<Fingerprint>,
    handshakes: Semaphore,
    hsts: Option<HeaderValue>,
}

impl TlsSettings {
    /// Reads and validates certificates and keys.
    ///
    /// # Errors
    ///
    /// [`TlsError`], which names the invalid setting.
    pub fn load(self) -> Result<Tls, TlsError> {
        let material = Material::read(&self)?;
        let config = RwLock::new(Arc::new(material.config(&self)?));
        let hsts = self.hsts.map(|age| format!("max-age={}", age.as_secs()));
        Ok(Tls(Arc::new(Shared {
            config,
            not_after: Mutex::new(material.not_after()),
            last_read: Mutex::new(material.fingerprint()),
            handshakes: Semaphore::new(self.max_handshakes.clamp(1, Semaphore::MAX_PERMITS)),
            hsts: hsts.and_then(|line| HeaderValue::try_from(line).ok()),
            settings: self,
        })))
    }
}

impl Tls {
    /// Returns the settings that it was loaded from.
    pub fn settings(&self) -> &TlsSettings {
        &self.0.settings
    }

    /// Reloads certificates and keys, whether or not they have changed. Does blocking file I/O.
    ///
    /// # Errors
    ///
    /// [`TlsError`]; the previous certificate then stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let material = Material::read(self.settings())?;
        let (fingerprint, not_after) = (material.fingerprint(), material.not_after());
        let config = material.config(self.settings());
        *self.0.last_read.lock().unwrap_or_else(PoisonError::into_inner) = fingerprint;
        let config = Arc::new(config?);
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        *self.0.not_after.lock().unwrap_or_else(PoisonError::into_inner) = not_after;
        Ok(())
    }

    /// Shows when the certificate expires in the metrics, warns when it newly has, and returns whether
    /// it has.
    fn check_expiry(&self, had_expired: bool) -> bool {
        let not_after = *self.0.not_after.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(not_after) = not_after else { return false };
        metrics::certificate_expiry(not_after);
        let has_expired = not_after <= SystemTime::now();
        if has_expired && !had_expired {
            let not_after = Timestamp::from(not_after).to_string();
            tracing::warn!(not_after, "the certificate has expired");
        }
        has_expired
    }

    /// Reloads changed files. Returns whether any have changed.
    fn refresh(&self) -> Result<bool, TlsError> {
        let found = Material::read(self.settings())?.fingerprint();
        let last_read = *self.0.last_read.lock().unwrap_or_else(PoisonError::into_inner);
        if found == last_read {
            return Ok(false);
        }
        self.reload().map(|()| true)
    }

    /// Watches for changes until dropped.
    pub(crate) async fn watch(self) -> Infallible {
        let mut has_expired = self.check_expiry(false);
        let Some(period) = self.settings().reload_interval.filter(|_| self.settings().has_files())
        else {
            return std::future::pending().await;
        };
        // A period of zero panics.
        let mut ticks = interval(period.max(std::time::Duration::from_millis(10)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut unreadable = false;
        loop {
            ticks.tick().await;
            has_expired = self.check_expiry(has_expired);
            let tls = self.clone();
            match spawn_blocking(move || tls.refresh()).await {
                Ok(Ok(false)) => unreadable = false,
                Ok(Ok(true)) => {
                    unreadable = false;
                    tracing::info!("certificate reloaded");
                }
                // A missing file is missing at every check: warns only once.
                Ok(Err(error @ TlsError::Read { .. })) if unreadable => {
                    tracing::debug!(%error, "certificate still unreadable");
                }
                Ok(Err(error)) => {
                    unreadable = matches!(error, TlsError::Read { .. });
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(
                        %error,
                        cause,
                        "certificate reload failed, keeping the previous one"
                    );
                }
                Err(error) => tracing::error!(%error, "certificate check failed"),
            }
        }
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn handshakes(&self) -> &Semaphore {
        &self.0.handshakes
    }

    pub(crate) fn hsts(&self) -> Option<&HeaderValue> {
        self.0.hsts.as_ref()
    }
}

a2a_core::debug_fields!(Shared { settings, .. });
