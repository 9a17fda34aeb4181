//! The claims of a delivery's token.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use ring::digest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The claims of an outgoing token. `request_body_sha256` is the name that other implementations
/// use.
#[derive(Debug, Serialize)]
pub(super) struct Signed<'a> {
    pub(super) iss: &'a str,
    pub(super) aud: &'a str,
    /// Seconds since the Unix epoch, like the other times.
    pub(super) iat: u64,
    pub(super) exp: u64,
    pub(super) jti: Uuid,
    #[serde(rename = "taskId", skip_serializing_if = "str::is_empty")]
    pub(super) task_id: &'a str,
    pub(super) request_body_sha256: String,
}

/// The claims of a received token.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    pub(super) aud: Audience,
    /// Other implementations may send fractions.
    pub(super) iat: f64,
    pub(super) exp: f64,
    pub(super) nbf: Option<f64>,
    pub(super) jti: String,
    #[serde(rename = "taskId")]
    pub(super) task_id: Option<String>,
    pub(super) request_body_sha256: String,
}

/// One audience, or several (RFC 7519 §4.1.3).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    pub(super) fn has(&self, wanted: &str) -> bool {
        match self {
            Self::One(audience) => audience == wanted,
            Self::Many(audiences) => audiences.iter().any(|audience| audience == wanted),
        }
    }
}

/// Returns the SHA-256 digest of a body, in hexadecimal.
pub(super) fn hash(body: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, body);
    digest.as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the time since the Unix epoch; zero for earlier times.
pub(super) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_hash_is_sha256_in_hexadecimal() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(b""), empty);
    }

    #[test]
    fn audience_must_match_exactly() {
        let one: Audience = serde_json::from_str(r#""https://a""#).unwrap();
        let many: Audience = serde_json::from_str(r#"["https://b", "https://a"]"#).unwrap();
        for audience in [one, many] {
            assert!(audience.has("https://a") && !audience.has("https://a/"));
        }
    }
}
