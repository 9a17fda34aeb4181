//! Pages of lists: their size, and the tokens that go on behind them.

use a2a_core::{Error, Result};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::store::PageKey;

/// Tasks on a page where the caller names no size (spec §3.1.4).
const DEFAULT_SIZE: usize = 50;
const MAX_SIZE: usize = 100;

/// Reads a `pageSize`.
pub(in crate::engine) fn size(asked: Option<i32>) -> Result<usize> {
    match asked {
        None => Ok(DEFAULT_SIZE),
        Some(asked) => usize::try_from(asked)
            .ok()
            .filter(|size| (1..=MAX_SIZE).contains(size))
            .ok_or_else(|| Error::invalid_params("pageSize", "must be from 1 to 100")),
    }
}

/// Reads the `pageSize` of a list of webhooks; 0 leaves it to the agent.
pub(in crate::engine) fn config_size(asked: i32) -> Result<usize> {
    if asked == 0 { Ok(MAX_SIZE) } else { size(Some(asked)) }
}

/// Writes the token for what comes behind a task.
pub(in crate::engine) fn token(key: &PageKey) -> String {
    let mut bytes = Vec::with_capacity(12 + key.task_id.len());
    bytes.extend(key.millis.to_be_bytes());
    bytes.extend(key.task_id.as_bytes());
    bytes.extend(checksum(&bytes).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a token; an empty one is the first page.
pub(in crate::engine) fn key(token: &str) -> Result<Option<PageKey>> {
    if token.is_empty() {
        return Ok(None);
    }
    let read = || {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if checksum(body).to_be_bytes() != *sum {
            return None;
        }
        let (millis, task_id) = body.split_first_chunk::<8>()?;
        let task_id = std::str::from_utf8(task_id).ok()?.to_owned();
        Some(PageKey { millis: i64::from_be_bytes(*millis), task_id })
    };
    let invalid = || Error::invalid_params("pageToken", "is not a token of this agent");
    read().map(Some).ok_or_else(invalid)
}

/// FNV-1a: tells a token that was cut or mistyped. It is no protection, and need not be: a token
/// only says where to go on in the caller's own tasks.
fn checksum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_place_and_a_damaged_one_is_refused() {
        let place = PageKey { millis: 1_700_000_000_123, task_id: "task-ü".into() };
        let good = token(&place);
        assert_eq!(key(&good).unwrap(), Some(place));
        assert_eq!(key("").unwrap(), None);
        let cut = &good[..good.len() - 2];
        for bad in ["x", "not a token", cut, "AAAA"] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }
}
