//! Server TLS configuration with certificate reload.

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

/// The TLS configuration of a server: created by [`TlsSettings::load`], passed to
/// [`HttpServer::with_tls`](crate::HttpServer::with_tls). Clones share it.
///
/// While the server runs, changed files are reloaded. New connections use the new certificate;
/// existing ones are not affected. If the new files are invalid, a warning is logged and the
/// previous certificate stays in use.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    settings: TlsSettings,
    config: RwLock<Arc<ServerConfig>>,
    /// Fingerprint of the last read, whether or not it was valid.
    last_read: Mutex<Fingerprint>,
    handshakes: Arc<Semaphore>,
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
        let config = material.config(&self)?;
        Ok(Tls::new(self, material.fingerprint(), config))
    }
}

impl Tls {
    fn new(settings: TlsSettings, last_read: Fingerprint, config: ServerConfig) -> Self {
        let hsts = settings.hsts.map(|age| format!("max-age={}", age.as_secs()));
        Self(Arc::new(Shared {
            config: RwLock::new(Arc::new(config)),
            last_read: Mutex::new(last_read),
            handshakes: Arc::new(Semaphore::new(
                settings.max_handshakes.clamp(1, Semaphore::MAX_PERMITS),
            )),
            hsts: hsts.and_then(|line| HeaderValue::try_from(line).ok()),
            settings,
        }))
    }

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
        let fingerprint = material.fingerprint();
        let config = material.config(self.settings());
        *self.0.last_read.lock().unwrap_or_else(PoisonError::into_inner) = fingerprint;
        let config = Arc::new(config?);
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        material.warn_of_dates();
        Ok(())
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
        let tls = self.clone();
        let checked = spawn_blocking(move || {
            Material::read(tls.settings()).map(|material| material.warn_of_dates())
        });
        if let Err(error) = checked.await {
            tracing::error!(%error, "certificate check failed");
        }
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
