//! The endpoints of an authorization server.

use a2a_core::v1::{OAuth2SecurityScheme, o_auth_flows::Flow, security_scheme::Scheme};
use a2a_kit_http::uri;
use http::Uri;

use crate::{client::CredentialError, fetch};

/// The endpoints of an authorization server. All URLs are https, or http with a loopback host
/// (spec §4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    pub(super) token: Uri,
    pub(super) authorization: Option<Uri>,
    pub(super) device_authorization: Option<Uri>,
    pub(super) refresh: Option<Uri>,
    /// The issuer, if known, to compare with the one in redirects (RFC 9207).
    pub(super) issuer: Option<String>,
    /// Whether every redirect names the issuer.
    pub(super) announces_issuer: bool,
}

impl Endpoints {
    /// Creates endpoints with a token URL.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`], as for all methods of this type.
    pub fn new(token_url: &str) -> Result<Self, CredentialError> {
        Ok(Self {
            token: secure("token URL", token_url)?,
            authorization: None,
            device_authorization: None,
            refresh: None,
            issuer: None,
            announces_issuer: false,
        })
    }

    /// Replaces the token URL.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_token(mut self, url: &str) -> Result<Self, CredentialError> {
        self.token = secure("token URL", url)?;
        Ok(self)
    }

    /// Sets the authorization URL.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_authorization(mut self, url: &str) -> Result<Self, CredentialError> {
        self.authorization = Some(secure("authorization URL", url)?);
        Ok(self)
    }

    /// Sets the device authorization URL.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_device_authorization(mut self, url: &str) -> Result<Self, CredentialError> {
        self.device_authorization = Some(secure("device authorization URL", url)?);
        Ok(self)
    }

    /// Sets the refresh URL, if it differs from the token URL.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_refresh(mut self, url: &str) -> Result<Self, CredentialError> {
        self.refresh = Some(secure("refresh URL", url)?);
        Ok(self)
    }

    /// The token URL.
    pub fn token(&self) -> &Uri {
        &self.token
    }

    /// The authorization URL, if there is one.
    pub fn authorization(&self) -> Option<&Uri> {
        self.authorization.as_ref()
    }

    /// The device authorization URL, if there is one.
    pub fn device_authorization(&self) -> Option<&Uri> {
        self.device_authorization.as_ref()
    }

    /// The refresh URL, if it differs from the token URL.
    pub fn refresh(&self) -> Option<&Uri> {
        self.refresh.as_ref()
    }

    /// Returns the endpoints of a scheme's flow.
    pub(super) fn of_scheme(scheme: &OAuth2SecurityScheme) -> Result<Self, CredentialError> {
        let flow = scheme.flows.as_ref().and_then(|flows| flows.flow.as_ref());
        let (endpoints, refresh) = match flow {
            Some(Flow::AuthorizationCode(flow)) => {
                let endpoints = Self::new(&flow.token_url)?;
                (endpoints.with_authorization(&flow.authorization_url)?, &flow.refresh_url)
            }
            Some(Flow::ClientCredentials(flow)) => (Self::new(&flow.token_url)?, &flow.refresh_url),
            Some(Flow::DeviceCode(flow)) => {
                let (endpoints, device) =
                    (Self::new(&flow.token_url)?, &flow.device_authorization_url);
                (endpoints.with_device_authorization(device)?, &flow.refresh_url)
            }
            #[expect(deprecated, reason = "nothing here uses these, but cards may have them")]
            Some(Flow::Implicit(_) | Flow::Password(_)) | None => {
                return Err(CredentialError::Missing("token URL"));
            }
        };
        if refresh.is_empty() { Ok(endpoints) } else { endpoints.with_refresh(refresh) }
    }

    /// All URLs with their names.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Uri)> {
        let optional = [
            ("authorization URL", self.authorization.as_ref()),
            ("device authorization URL", self.device_authorization.as_ref()),
            ("refresh URL", self.refresh.as_ref()),
        ];
        let optional = optional.into_iter().filter_map(|(what, url)| Some((what, url?)));
        std::iter::once(("token URL", &self.token)).chain(optional)
    }
}

/// Parses a URL that secrets are sent to, or that users open.
pub(super) fn secure(what: &'static str, text: &str) -> Result<Uri, CredentialError> {
    let insecure = || CredentialError::Insecure { what, url: text.chars().take(200).collect() };
    let url = uri::parse(text).ok().ok_or_else(insecure)?;
    if fetch::is_secure(&url) && !uri::has_credentials(&url) && !text.contains('#') {
        return Ok(url);
    }
    Err(insecure())
}

/// Returns the OAuth flow of a scheme.
pub(super) fn flow(scheme: &Scheme) -> Option<&Flow> {
    match scheme {
        Scheme::Oauth2SecurityScheme(scheme) => scheme.flows.as_ref()?.flow.as_ref(),
        Scheme::ApiKeySecurityScheme(_)
        | Scheme::HttpAuthSecurityScheme(_)
        | Scheme::OpenIdConnectSecurityScheme(_)
        | Scheme::MtlsSecurityScheme(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn endpoints_must_be_https_or_loopback() {
        for url in ["https://a.example/token", "http://127.0.0.1:1/t", "http://localhost/t?a=b"] {
            assert_eq!(secure("token URL", url).unwrap().to_string(), url);
        }
        for url in [
            "http://a.example/token",
            "ftp://a.example/token",
            "grpcs://a.example/token",
            "https://user@a.example/token",
            "https://user:password@a.example/token",
            "https://a.example/token#x",
            "https://a.example/token#",
            "http://127.0.0.1\\@a.example/token",
            "http://localhost#@a.example/token",
            "/token",
            "",
        ] {
            let error = secure("token URL", url).unwrap_err();
            assert!(matches!(error, CredentialError::Insecure { .. }), "{url}");
        }
        let endpoints = Endpoints::new("https://a.example/token").unwrap();
        for rejected in [
            endpoints.clone().with_authorization("http://a.example"),
            endpoints.clone().with_device_authorization("http://a.example"),
            endpoints.clone().with_token("http://a.example"),
            endpoints.with_refresh("http://a.example"),
        ] {
            assert!(matches!(rejected, Err(CredentialError::Insecure { .. })), "{rejected:?}");
        }
    }
}
