//! Protection against a card that mixes authorization servers (RFC 9700 §4.4).

use a2a_kit_http::uri;
use http::Uri;

use super::{Endpoints, OAuthClient};
use crate::client::{CredentialError, Origin, Secret};

impl OAuthClient {
    /// Checks that what a user authorizes at the server of `sign_in` reaches no other server only
    /// because a card says so. Each endpoint that receives a secret needs the origin of `sign_in`:
    ///
    /// | Flow | `sign_in` | Receives a secret | Otherwise |
    /// |---|---|---|---|
    /// | authorization code | authorization URL | token and refresh URL | the receiver is [trusted](Self::with_trusted) |
    /// | device code | device authorization URL | all three | all that differ are trusted |
    /// | client credentials | token URL | both | all that differ are trusted |
    ///
    /// The metadata of an issuer with the origin of `sign_in` may name any endpoint: the server where
    /// the user signs in vouches for it. Endpoints that the application has configured or trusts by
    /// their origin are not restricted.
    pub(super) fn check_mix_up(
        &self,
        endpoints: &Endpoints,
        sign_in: &Uri,
        receives_secrets: bool,
    ) -> Result<(), CredentialError> {
        let Some(shown) = Origin::of(sign_in).filter(|_| self.trusts_cards) else { return Ok(()) };
        let issuer = endpoints.issuer.as_deref().and_then(|issuer| issuer.parse().ok());
        if issuer.is_some_and(|issuer: Origin| issuer.is_equivalent(&shown)) {
            return Ok(());
        }
        let receivers =
            [("token URL", Some(&endpoints.token)), ("refresh URL", endpoints.refresh())];
        for (what, url) in receivers {
            let Some(receiver) = url.and_then(Origin::of) else { continue };
            let is_named =
                self.is_trusted(&receiver) && (!receives_secrets || self.is_trusted(&shown));
            if !receiver.is_equivalent(&shown) && !is_named {
                return Err(CredentialError::MixedServers { sign_in: shown, what, receiver });
            }
        }
        Ok(())
    }

    /// Checks that a refresh token goes back to the server that issued it: the card may have changed
    /// since.
    pub(super) fn check_issued_by(
        &self,
        secret: &Secret,
        url: &Uri,
    ) -> Result<(), CredentialError> {
        let (Some(issuer), Some(receiver)) = (&secret.issuer, Origin::of(url)) else {
            return Ok(());
        };
        if !self.trusts_cards || issuer.is_equivalent(&receiver) || self.is_trusted(&receiver) {
            return Ok(());
        }
        let what = "refresh URL";
        Err(CredentialError::MixedServers { sign_in: issuer.clone(), what, receiver })
    }

    /// Checks the issuer in a redirect (RFC 9207): it is that of the metadata or, without metadata,
    /// has the origin of the token URL. The application may have configured a token URL of another
    /// origin than the authorization URL, to which the issuer belongs then.
    pub(super) fn check_issuer(
        &self,
        endpoints: &Endpoints,
        issuer: Option<&str>,
    ) -> Result<(), CredentialError> {
        let is_known = match (&endpoints.issuer, issuer) {
            (Some(_), None) if endpoints.announces_issuer => {
                return Err(CredentialError::Redirect("issuer is missing"));
            }
            (_, None) => true,
            (Some(expected), Some(issuer)) => issuer == expected,
            (None, Some(issuer)) => {
                let issuer = uri::parse(issuer).ok().as_ref().and_then(Origin::of);
                let shown = endpoints.authorization.as_ref().filter(|_| self.is_configured());
                let mut known = [Some(&endpoints.token), shown].into_iter().flatten();
                issuer.is_some_and(|issuer| {
                    known.any(|url| Origin::of(url).is_some_and(|one| one.is_equivalent(&issuer)))
                })
            }
        };
        if is_known { Ok(()) } else { Err(CredentialError::Redirect("issuer does not match")) }
    }
}
