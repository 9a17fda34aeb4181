//! Metadata of calls: the content type, and the event id at which a stream starts.

use a2a_kit_operations::EventId;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};

/// Non-standard initial metadata of streaming methods: the event id of the first event. Each
/// further message has the next id. Other clients ignore it.
const EVENT_POSITION: HeaderName = HeaderName::from_static("event-position");

/// Writes the event id at which a stream starts.
pub fn write_position(position: EventId, headers: &mut HeaderMap) {
    headers.insert(EVENT_POSITION, HeaderValue::from(position.get()));
}

/// Reads the event id at which a stream starts, if the server sent it.
pub fn read_position(headers: &HeaderMap) -> Option<EventId> {
    headers.get(EVENT_POSITION)?.to_str().ok()?.parse().ok()
}

/// Returns whether a request or response is gRPC, according to its content type.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let rest = content_type.and_then(|value| value.strip_prefix(b"application/grpc"));
    // `application/grpc-web` is another protocol.
    matches!(rest, Some([] | [b'+' | b';' | b' ', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_position_is_none() {
        for (text, position) in [("7", EventId::new(7)), ("0", None), ("-1", None), ("x", None)] {
            let mut headers = HeaderMap::new();
            headers.insert(EVENT_POSITION, text.parse().unwrap());
            assert_eq!(read_position(&headers), position, "{text:?}");
        }
        assert_eq!(read_position(&HeaderMap::new()), None);
    }

    #[test]
    fn grpc_is_detected_by_content_type() {
        for (content_type, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
            assert_eq!(is_grpc(&headers), expected, "{content_type}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }
}
