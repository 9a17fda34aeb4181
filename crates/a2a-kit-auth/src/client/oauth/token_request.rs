//! Token requests and responses (RFC 6749 §4 and §5).

use std::time::Duration;

use a2a_kit_http::redaction::{basic_forms, forms};
use bytes::Bytes;
use http::{Request, StatusCode, Uri, header::AUTHORIZATION};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::OAuthClient;
use crate::{
    client::{CredentialError, Origin, Secret},
    fetch,
};

/// Form fields whose values are not secret.
const NOT_SECRET: [&str; 12] = [
    "audience",
    "client_id",
    "actor_token_type",
    "grant_type",
    "redirect_uri",
    "requested_token_type",
    "resource",
    "scope",
    "subject_token_type",
    "code_challenge",
    "code_challenge_method",
    "state",
];
/// Error codes that decide what happens next (RFC 6749 §5.2, RFC 8628 §3.5). They are known words, so
/// they are kept even if a secret is a part of them.
const ERROR_CODES: [&str; 10] = [
    "access_denied",
    "authorization_pending",
    "expired_token",
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "slow_down",
    "unauthorized_client",
    "unsupported_grant_type",
];
/// Maximum length of an error description, in characters.
const MAX_DESCRIPTION: usize = 200;

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<u64>,
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
    error_description: Option<String>,
}

/// Parses a number that some servers send as a string.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = match Option::deserialize(deserializer)? {
        None => return Ok(None),
        Some(Value::String(text)) => text.parse().map_err(serde::de::Error::custom)?,
        Some(value) => value.as_f64().ok_or_else(|| serde::de::Error::custom("not a number"))?,
    };
    // A negative number or NaN becomes 0, which means expired.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and no lifetime is that long"
    )]
    Ok(Some(number as u64))
}

impl OAuthClient {
    /// Requests a token.
    pub(super) async fn token(
        &self,
        url: &Uri,
        form: &[(&str, &str)],
    ) -> Result<Secret, CredentialError> {
        let response: TokenResponse = self.post(url, form).await?;
        if response.access_token.is_empty() {
            return Err(CredentialError::InvalidResponse("empty access token".to_owned()));
        }
        if let Some(kind) = response.token_type
            && !kind.eq_ignore_ascii_case("bearer")
        {
            let kind: String = kind.chars().take(40).collect();
            return Err(CredentialError::InvalidResponse(format!(
                "unsupported token type {kind:?}"
            )));
        }
        let mut secret = Secret::new(response.access_token);
        secret.issuer = Origin::of(url);
        if let Some(seconds) = response.expires_in {
            secret = secret.valid_for(Duration::from_secs(seconds));
        }
        if let Some(token) = response.refresh_token {
            secret = secret.with_refresh_token(token);
        }
        Ok(secret)
    }

    /// Posts a form, and parses the response.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: &Uri,
        form: &[(&str, &str)],
    ) -> Result<T, CredentialError> {
        let response = self.http.send(self.request(url, form)?).await;
        let (head, body) = response.map_err(CredentialError::unavailable)?.into_parts();
        let status = head.status;
        if !status.is_success() {
            return Err(self.error(status, &body, form));
        }
        // The text of the parse error could contain the token.
        serde_json::from_slice(&body).map_err(|error| {
            CredentialError::InvalidResponse(format!("JSON {:?} error", error.classify()))
        })
    }

    /// Builds the request with the form and the client's authentication.
    fn request(&self, url: &Uri, form: &[(&str, &str)]) -> Result<Request<Bytes>, CredentialError> {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form.iter().filter(|(_, value)| !value.is_empty()));
        body.extend_pairs(&self.parameters);
        let mut request = fetch::post_form(url);
        match &self.secret {
            Some(secret) if !self.secret_in_body => {
                let invalid = CredentialError::InvalidCharacters("client secret");
                let basic = fetch::basic(&self.id, secret).ok_or(invalid)?;
                request = request.header(AUTHORIZATION, basic);
            }
            Some(secret) => {
                body.append_pair("client_id", &self.id).append_pair("client_secret", secret);
            }
            None => drop(body.append_pair("client_id", &self.id)),
        }
        request.body(body.finish().into()).map_err(CredentialError::unavailable)
    }

    fn error(&self, status: StatusCode, body: &Bytes, form: &[(&str, &str)]) -> CredentialError {
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return CredentialError::unavailable(format!("status {status}"));
        }
        let Ok(response) = serde_json::from_slice::<ErrorResponse>(body) else {
            return CredentialError::InvalidResponse(format!("status {status}"));
        };
        let secrets = form.iter().filter(|(name, _)| !NOT_SECRET.contains(name));
        let secrets = secrets.map(|(_, value)| *value).chain(self.secret.as_deref());
        let mut secrets: Vec<_> = secrets.flat_map(forms).collect();
        secrets.extend(self.secret.iter().flat_map(|secret| basic_forms(&self.id, secret)));
        let is_known = ERROR_CODES.contains(&response.error.as_str());
        let error = if is_known { response.error } else { redact(&response.error, &secrets) };
        CredentialError::Denied {
            error,
            description: response.error_description.map(|text| redact(&text, &secrets)),
        }
    }
}

/// Redacts secrets, which servers may repeat in error descriptions, and truncates the text.
fn redact(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "…");
    }
    text.chars().filter(|char| !char.is_control()).take(MAX_DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    #[test]
    fn error_descriptions_are_redacted() {
        let client = OAuthClient::confidential("app", "planted").unwrap();
        let body = r#"{"error": "invalid_grant",
            "error_description": "planted and token-1 are\nwrong for app"}"#;
        let form = [("grant_type", "refresh_token"), ("refresh_token", "token-1"), ("scope", "")];
        let error = client.error(StatusCode::BAD_REQUEST, &Bytes::from(body), &form);
        let text = format!("{error} {error:?} {client:?}");
        assert!(text.contains("invalid_grant") && text.contains("for app"), "{text}");
        assert!(!text.contains("planted") && !text.contains("token-1"), "{text}");
        let long = format!(r#"{{"error": "e", "error_description": "{}"}}"#, "x".repeat(1000));
        let error = client.error(StatusCode::BAD_REQUEST, &Bytes::from(long), &form);
        assert!(error.to_string().len() < 300, "{error}");
    }

    #[test]
    fn encoded_secrets_in_error_descriptions_are_redacted() {
        let client = OAuthClient::confidential("app", "a secret/~*").unwrap();
        for shown in [
            "a secret/~*",
            "a+secret%2F%7E*",
            "a%20secret%2F~%2A",
            "YXBwOmErc2VjcmV0JTJGJTdFKg==",
            "YXBwOmEgc2VjcmV0L34q",
        ] {
            let body = format!(r#"{{"error": "e", "error_description": "got {shown}."}}"#);
            let error = client.error(StatusCode::BAD_REQUEST, &Bytes::from(body), &[]);
            let CredentialError::Denied { description, .. } = error else { panic!("{error}") };
            assert_eq!(description.as_deref(), Some("got …."), "{shown}");
        }
    }

    #[test]
    fn error_code_is_classified_before_secrets_are_redacted() {
        let client = OAuthClient::public("app").unwrap();
        let form = [("grant_type", "x"), ("device_code", "d")];
        for (code, expected) in [
            ("slow_down", "slow_down"),
            ("authorization_pending", "authorization_pending"),
            ("access_denied", "access_denied"),
            ("made_up_d", "ma…e_up_…"),
        ] {
            let body = format!(r#"{{"error": "{code}", "error_description": "d"}}"#);
            let error = client.error(StatusCode::BAD_REQUEST, &Bytes::from(body), &form);
            let CredentialError::Denied { error, description } = error else { panic!("{error}") };
            assert_eq!((error.as_str(), description.as_deref()), (expected, Some("…")), "{code}");
        }
    }

    #[test]
    fn expires_in_accepts_numbers_and_strings() {
        for (json, seconds) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("3599.5", Some(3599)),
            ("null", None),
            ("-1", Some(0)),
            ("1e300", Some(u64::MAX)),
        ] {
            let json = format!(r#"{{"access_token": "t", "expires_in": {json}}}"#);
            let response: TokenResponse = serde_json::from_str(&json).unwrap();
            assert_eq!(response.expires_in, seconds, "{json}");
        }
        let never: TokenResponse = serde_json::from_str(r#"{"access_token": "t"}"#).unwrap();
        assert_eq!(never.expires_in, None);
    }

    #[test]
    fn id_and_secret_are_form_encoded_first() {
        let value = fetch::basic("a:b", "c d%").unwrap();
        let expected = BASE64_STANDARD.encode("a%3Ab:c+d%25");
        assert_eq!(value.to_str().unwrap(), format!("Basic {expected}"));
    }
}
