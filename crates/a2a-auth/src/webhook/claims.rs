//! What is signed with a delivery.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use ring::digest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The claims of a delivery's token, as they are written. Receivers of other implementations
/// know the hash of the body by the name that it has here.
#[derive(Debug, Serialize)]
pub(super) struct Signed<'a> {
    pub(super) iss: &'a str,
    pub(super) aud: &'a str,
    /// Seconds since 1970, as are the other times.
    pub(super) iat: u64,
    pub(super) exp: u64,
    pub(super) jti: Uuid,
    #[serde(rename = "taskId", skip_serializing_if = "str::is_empty")]
    pub(super) task_id: &'a str,
    pub(super) request_body_sha256: String,
}

/// The claims of a delivery's token, as they are read.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    pub(super) aud: Audience,
    /// Others may write fractions.
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

/// The SHA-256 of a body, in hexadecimal.
pub(super) fn hash(body: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, body);
    digest.as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Seconds since 1970. Before then, it was 1970.
pub(super) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_hashed_as_everywhere() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(b""), empty);
    }

    #[test]
    fn an_audience_is_compared_as_a_whole() {
        let one: Audience = serde_json::from_str(r#""https://a""#).unwrap();
        let many: Audience = serde_json::from_str(r#"["https://b", "https://a"]"#).unwrap();
        for audience in [one, many] {
            assert!(audience.has("https://a") && !audience.has("https://a/"));
        }
    }
}
