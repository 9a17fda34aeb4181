//! The certificate of a running server, which can change.

use std::{
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

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

/// What a server encrypts with: made by [`TlsSettings::load`], given to
/// [`Server::with_tls`](crate::Server::with_tls). Clones are the same one.
///
/// While a server runs, files that have changed are read again; what is in them serves the
/// connections that come then, and nothing happens to those that are there. Files that can't be
/// used are warned of, and what was there before stays.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    settings: TlsSettings,
    config: RwLock<Arc<ServerConfig>>,
    /// What was read last, whether or not it could be used.
    seen: Mutex<Fingerprint>,
    handshakes: Arc<Semaphore>,
    hsts: Option<HeaderValue>,
}

impl Tls {
    pub(super) fn new(settings: TlsSettings, seen: Fingerprint, config: ServerConfig) -> Self {
        let hsts = settings.hsts.map(|age| format!("max-age={}", age.as_secs()));
        Self(Arc::new(Shared {
            config: RwLock::new(Arc::new(config)),
            seen: Mutex::new(seen),
            handshakes: Arc::new(Semaphore::new(
                settings.max_handshakes.clamp(1, Semaphore::MAX_PERMITS),
            )),
            hsts: hsts.and_then(|line| HeaderValue::try_from(line).ok()),
            settings,
        }))
    }

    /// The settings that this was loaded by.
    pub fn settings(&self) -> &TlsSettings {
        &self.0.settings
    }

    /// Reads certificates and keys again, whether or not they have changed. Reads files: call it
    /// where blocking is allowed.
    ///
    /// # Errors
    ///
    /// [`TlsError`]; what was there before stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let material = Material::read(self.settings())?;
        let fingerprint = material.fingerprint();
        let config = material.config(self.settings());
        *self.0.seen.lock().unwrap_or_else(PoisonError::into_inner) = fingerprint;
        let config = Arc::new(config?);
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Reads again what has changed. Returns whether anything has.
    fn refresh(&self) -> Result<bool, TlsError> {
        let found = Material::read(self.settings())?.fingerprint();
        let seen = *self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if found == seen {
            return Ok(false);
        }
        self.reload().map(|()| true)
    }

    /// Looks for changes until dropped.
    pub(crate) async fn watch(self) -> Infallible {
        let Some(pause) = self.settings().reload_interval.filter(|_| self.settings().has_files())
        else {
            return std::future::pending().await;
        };
        // An interval of nothing panics.
        let mut looks = interval(pause.max(std::time::Duration::from_millis(10)));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.tick().await;
        let mut unreadable = false;
        loop {
            looks.tick().await;
            let tls = self.clone();
            match spawn_blocking(move || tls.refresh()).await {
                Ok(Ok(false)) => unreadable = false,
                Ok(Ok(true)) => {
                    unreadable = false;
                    tracing::info!("a new certificate is in use");
                }
                // A file that is missing is missing at every look, and is told of once.
                Ok(Err(error @ TlsError::Read { .. })) if unreadable => {
                    tracing::debug!(%error, "the certificate can't be read still");
                }
                Ok(Err(error)) => {
                    unreadable = matches!(error, TlsError::Read { .. });
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(
                        %error,
                        cause,
                        "the certificate has changed and can't be used: the one before stays"
                    );
                }
                Err(error) => tracing::error!(%error, "looking for a new certificate failed"),
            }
        }
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn handshakes(&self) -> &Arc<Semaphore> {
        &self.0.handshakes
    }

    pub(crate) fn hsts(&self) -> Option<&HeaderValue> {
        self.0.hsts.as_ref()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(self.settings()).finish()
    }
}
