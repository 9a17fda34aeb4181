//! Page sizes and page tokens.

use a2a_core::{Error, Result, v1::Task};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::bounds::is_possible_id;
use crate::store::{PageKey, framed_len};

/// Default page size of a list of tasks (spec §3.1.4).
const DEFAULT_SIZE: usize = 50;
const MAX_SIZE: usize = 100;

/// Parses `pageSize`.
pub(crate) fn size(asked: Option<i32>) -> Result<usize> {
    match asked {
        None => Ok(DEFAULT_SIZE),
        Some(asked) => usize::try_from(asked)
            .ok()
            .filter(|size| (1..=MAX_SIZE).contains(size))
            .ok_or_else(|| Error::invalid_params("pageSize", "must be from 1 to 100")),
    }
}

/// Parses the `pageSize` of a list of webhooks; 0 selects the default.
pub(crate) fn config_size(asked: i32) -> Result<usize> {
    if asked == 0 { Ok(MAX_SIZE) } else { size(Some(asked)) }
}

/// Cuts a page to a size, in bytes as protobuf, but leaves at least one task; returns whether tasks
/// were cut. A store may count the bytes of tasks differently.
pub(crate) fn within(mut tasks: Vec<Task>, max: Option<usize>) -> (Vec<Task>, bool) {
    let Some(max) = max else { return (tasks, false) };
    let mut bytes = 0;
    let fits = tasks.iter().take_while(|&task| {
        bytes += framed_len(task);
        bytes <= max
    });
    let fits = fits.count().max(1);
    let is_cut = fits < tasks.len();
    tasks.truncate(fits);
    (tasks, is_cut)
}

/// Encodes the token for the page after a task.
pub(crate) fn token(key: &PageKey) -> String {
    let mut bytes = Vec::with_capacity(12 + key.task_id.len());
    bytes.extend(key.millis.to_be_bytes());
    bytes.extend(key.task_id.as_bytes());
    bytes.extend(checksum(&bytes).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes a token; an empty one is the first page.
pub(crate) fn key(token: &str) -> Result<Option<PageKey>> {
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
        is_possible_id(&task_id).then(|| PageKey { millis: i64::from_be_bytes(*millis), task_id })
    };
    let invalid = || Error::invalid_params("pageToken", "is not a valid page token");
    read().map(Some).ok_or_else(invalid)
}

/// FNV-1a, to detect truncated or mistyped tokens. Not a protection, and none is needed: a token is
/// only a position in the caller's own tasks.
fn checksum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_token_round_trips_and_a_damaged_one_is_rejected() {
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
