//! Connector for HTTP/2 clients other than [`HttpClient`](super::HttpClient).

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Uri, uri::Scheme};
use tower_service::Service;

use super::{ClientSettings, Connected, dialer::Dialer};
use crate::{
    WebhookPolicy,
    tls::TlsError,
    uri,
    webhook::resolver::{BoxError, Resolver, system},
};

/// Opens connections for a client with its own HTTP/2 implementation, such as gRPC: over TLS with
/// [`ClientSettings::tls`] for the scheme `https`, in plaintext for `http`.
///
/// The scheme of the URI that it is called with is ignored.
#[derive(Clone)]
pub struct Connector {
    dialer: Dialer,
    scheme: Scheme,
    policy: Option<Arc<WebhookPolicy>>,
}

impl Connector {
    /// Creates a connector.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if the certificates in the settings are invalid.
    pub fn new(settings: &ClientSettings, scheme: Scheme) -> Result<Self, TlsError> {
        let policy = settings.policy.clone().map(Arc::new);
        let resolver = Resolver::new(policy.clone(), system());
        let mut tls = settings.tls.config()?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let dialer = Dialer::new(tls, resolver, settings.connect_timeout, None);
        Ok(Self { dialer, scheme, policy })
    }

    /// Sets the scheme of the URI, and checks it against the policy.
    fn check(&self, address: Uri) -> Result<Uri, BoxError> {
        let mut parts = address.into_parts();
        parts.scheme = Some(self.scheme.clone());
        let address = Uri::from_parts(parts)?;
        if let Some(policy) = &self.policy {
            policy.check_url(&uri::parse(&address.to_string())?)?;
        }
        Ok(address)
    }
}

impl Service<Uri> for Connector {
    type Response = Connected;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Connected, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.dialer.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        match self.check(address) {
            Ok(address) => self.dialer.call(address),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }
}

a2a_core::debug_fields!(Connector { scheme, .. });
