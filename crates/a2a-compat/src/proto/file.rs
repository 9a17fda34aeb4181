//! File bytes, which most SDKs of 0.2 and 0.3 encode as base64 text.
//!
//! The proto has a `bytes` field. The SDKs of Python, Go and Java write the base64 text of the JSON
//! format into it and decode it when reading, so raw bytes break them; the SDK of Node.js writes
//! raw bytes. So base64 is written, except for clients of Node.js, and both are read.

use std::sync::Arc;

use a2a_core::v1::{
    Artifact, Message, Part, SendMessageRequest, StreamResponse, Task, part::Content,
    send_message_response, stream_response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, header::USER_AGENT};

use crate::{AnyRequest, AnyResponse};

/// Returns whether the peer of a request expects files as base64 text.
pub(crate) fn expects_text(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = agent.split(['/', ' ']).next().unwrap_or_default();
    !matches!(name, "node" | "grpc-node-js")
}

/// A value with files, whose bytes are raw in 1.0.
pub(crate) trait Files {
    /// Applies a function to the bytes of each file.
    fn each_file(&mut self, change: fn(&mut Bytes));

    /// Encodes the bytes as base64 text.
    fn write_text(&mut self) {
        self.each_file(|bytes| *bytes = STANDARD.encode(&bytes).into());
    }

    /// Decodes bytes that are canonical base64 text; leaves others unchanged.
    fn read_text(&mut self) {
        self.each_file(|bytes| {
            if let Ok(decoded) = STANDARD.decode(&bytes) {
                *bytes = decoded.into();
            }
        });
    }
}

impl Files for Part {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        if let Some(Content::Raw(bytes)) = &mut self.content {
            change(bytes);
        }
    }
}

impl Files for Message {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        self.parts.each_file(change);
    }
}

impl Files for Artifact {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        self.parts.each_file(change);
    }
}

impl Files for Task {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        if let Some(status) = &mut self.status {
            status.message.each_file(change);
        }
        self.artifacts.each_file(change);
        self.history.each_file(change);
    }
}

impl Files for StreamResponse {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        use stream_response::Payload;
        match &mut self.payload {
            Some(Payload::Task(task)) => task.each_file(change),
            Some(Payload::Message(message)) => message.each_file(change),
            Some(Payload::StatusUpdate(update)) => {
                if let Some(status) = &mut update.status {
                    status.message.each_file(change);
                }
            }
            Some(Payload::ArtifactUpdate(update)) => update.artifact.each_file(change),
            None => {}
        }
    }
}

impl Files for SendMessageRequest {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        self.message.each_file(change);
    }
}

impl Files for AnyRequest {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        if let Self::SendMessage(request) | Self::SendStreamingMessage(request) = self {
            request.each_file(change);
        }
    }
}

impl Files for AnyResponse {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        use send_message_response::Payload;
        match self {
            Self::Sent(sent) => match &mut sent.payload {
                Some(Payload::Task(task)) => task.each_file(change),
                Some(Payload::Message(message)) => message.each_file(change),
                None => {}
            },
            Self::Task(task) => Arc::make_mut(task).each_file(change),
            Self::Tasks(page) => page.tasks.each_file(change),
            Self::Config(_) | Self::Configs(_) | Self::Deleted | Self::Card(_) => {}
        }
    }
}

impl<T: Files> Files for Vec<T> {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        self.iter_mut().for_each(|one| one.each_file(change));
    }
}

impl<T: Files> Files for Option<T> {
    fn each_file(&mut self, change: fn(&mut Bytes)) {
        self.iter_mut().for_each(|one| one.each_file(change));
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
