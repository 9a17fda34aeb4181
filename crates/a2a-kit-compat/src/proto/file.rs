//! File bytes, which most SDKs of 0.2 and 0.3 encode as base64 text.
//!
//! The proto has a `bytes` field. The SDKs of Python, Go and Java write the base64 text of the JSON
//! format into it and decode it when reading, so raw bytes break them; the SDK of Node.js writes
//! raw bytes. So base64 is written, except for clients of Node.js, and both are read.

use a2a_core::v1::{Part, part::Content};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, header::USER_AGENT};

use crate::common::parts::Parts;

/// Returns whether the peer of a request expects files as base64 text.
pub(crate) fn expects_text(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = agent.split(['/', ' ']).next().unwrap_or_default();
    !matches!(name, "node" | "grpc-node-js")
}

/// A value with files, whose bytes are raw in 1.0.
pub(crate) trait Files: Parts {
    /// Encodes the bytes as base64 text.
    fn write_text(&mut self) {
        self.each_part(|part| {
            if let Some(bytes) = bytes_of(part) {
                *bytes = STANDARD.encode(&bytes).into();
            }
        });
    }

    /// Decodes bytes that are canonical base64 text; leaves others unchanged.
    fn read_text(&mut self) {
        self.each_part(|part| {
            if let Some(bytes) = bytes_of(part)
                && let Ok(decoded) = STANDARD.decode(&bytes)
            {
                *bytes = decoded.into();
            }
        });
    }
}

impl<T: Parts> Files for T {}

fn bytes_of(part: &mut Part) -> Option<&mut Bytes> {
    match &mut part.content {
        Some(Content::Raw(bytes)) => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn base64_is_decoded_and_raw_bytes_are_unchanged() {
        for (written, read) in [
            // As written by the SDKs of Python, Go and Java.
            (&b"AAECA/8="[..], &b"\0\x01\x02\x03\xff"[..]),
            (b"aGVsbG8=", b"hello"),
            (b"", b""),
            // As written by the SDK of Node.js.
            (b"\0\x01\x02\x03\xff", b"\0\x01\x02\x03\xff"),
            (b"hello", b"hello"),
            (b"hello world, hello you!!", b"hello world, hello you!!"),
            (b"{\"a\": 1}", b"{\"a\": 1}"),
            // Non-canonical: trailing bits, another alphabet, or missing padding.
            (b"aGVsbG9=", b"aGVsbG9="),
            (b"-_-_", b"-_-_"),
            (b"aGVsbG8", b"aGVsbG8"),
            (b"aGVs\nbG8=", b"aGVs\nbG8="),
        ] {
            let mut part = Part::raw(written);
            part.read_text();
            assert_eq!(part, Part::raw(read), "{:?}", String::from_utf8_lossy(written));
            part.write_text();
            part.read_text();
            assert_eq!(part, Part::raw(read), "{:?}", String::from_utf8_lossy(written));
        }
    }

    #[test]
    fn only_node_expects_bytes() {
        for (agent, text) in [
            ("grpc-python/1.76.0 grpc-c/51.0.0 (linux; chttp2)", true),
            ("python-httpx/0.28.1", true),
            ("grpc-go/1.77.0", true),
            ("grpc-node-js/1.14.1", false),
            ("node", false),
            ("nodejs-like", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
            assert_eq!(expects_text(&headers), text, "{agent}");
        }
        assert!(expects_text(&HeaderMap::new()));
    }
}
