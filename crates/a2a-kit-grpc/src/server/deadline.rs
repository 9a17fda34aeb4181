//! `grpc-timeout`: the deadline of the caller.

use std::time::Duration;

use a2a_core::{Error, ErrorKind, Result};
use http::HeaderMap;
use tokio::time::Instant;

const TIMEOUT: &str = "grpc-timeout";

/// Reads the deadline of the caller.
///
/// tonic only does this in its own server, not in a mounted service.
///
/// # Errors
///
/// [`InvalidParams`](ErrorKind::InvalidParams) unless it is up to eight digits and a unit.
pub fn read(headers: &HeaderMap) -> Result<Option<Instant>> {
    let Some(value) = headers.get(TIMEOUT) else {
        return Ok(None);
    };
    let timeout = value.to_str().ok().and_then(parse).ok_or_else(|| {
        Error::invalid_params(TIMEOUT, "must be up to eight digits and one of H, M, S, m, u, n")
    })?;
    // A deadline that the clock can't represent is ignored.
    Ok(Instant::now().checked_add(timeout))
}

/// The error after the deadline of the caller.
pub(crate) fn exceeded() -> Error {
    Error::new(ErrorKind::DeadlineExceeded, "deadline exceeded")
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount = digits.parse::<u64>().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 60 * 60)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_is_digits_and_a_unit() {
        for (text, timeout) in [
            ("2H", Some(Duration::from_secs(7_200))),
            ("3M", Some(Duration::from_secs(180))),
            ("5S", Some(Duration::from_secs(5))),
            ("250m", Some(Duration::from_millis(250))),
            ("1u", Some(Duration::from_micros(1))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3_600))),
            ("", None),
            ("S", None),
            ("5", None),
            ("+5S", None),
            ("5s", None),
            ("123456789S", None),
            ("5é", None),
        ] {
            assert_eq!(parse(text), timeout, "{text:?}");
        }
    }
}
