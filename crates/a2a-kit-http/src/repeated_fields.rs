//! Repeated header fields and gRPC metadata (RFC 9110 §5.3).
//!
//! Repeated list fields, such as `A2A-Extensions`, are one list. A single-valued field that is
//! repeated with different values is ambiguous: one layer might use the first, another the last.

use a2a_core::{Error, Result};
use axum::Router;
use http::HeaderMap;

use crate::head_check::check_heads;

/// The single-valued fields.
const SINGLE: [&str; 5] =
    ["A2A-Version", "Idempotency-Key", "Last-Event-ID", "Authorization", "Content-Type"];

/// Checks that a single-valued field that is repeated has the same value each time.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the name of the field.
pub fn check(headers: &HeaderMap) -> Result<()> {
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    for name in SINGLE {
        let mut values = headers.get_all(name).iter();
        if let Some(first) = values.next()
            && values.any(|other| other != first)
        {
            return Err(Error::invalid_params(name, "must not be repeated with different values"));
        }
    }
    Ok(())
}

/// Rejects requests that [`check`] refuses with HTTP status 400, in the format of the binding. In
/// front of authentication, which reads one of the fields.
pub fn layer(router: Router) -> Router {
    check_heads(router, |parts| check(&parts.headers))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_different_values_of_single_valued_fields_are_rejected() {
        for (name, one, other, is_accepted) in [
            ("a2a-version", "1.0", "1.0", true),
            ("a2a-version", "1.0", "0.3", false),
            ("a2a-version", "1.0", "", false),
            ("idempotency-key", "a", "b", false),
            ("last-event-id", "1", "2", false),
            ("authorization", "Bearer a", "Bearer b", false),
            ("content-type", "application/json", "text/plain", false),
            ("a2a-extensions", "urn:a", "urn:b", true),
            ("accept", "a/b", "c/d", true),
        ] {
            let mut headers = HeaderMap::new();
            for value in [one, other] {
                headers.append(name, HeaderValue::from_static(value));
            }
            let checked = check(&headers);
            assert_eq!(checked.is_ok(), is_accepted, "{name}: {one}, {other}");
            if let Err(error) = checked {
                assert!(error.violations()[0].field.eq_ignore_ascii_case(name), "{error}");
            }
        }
    }
}
