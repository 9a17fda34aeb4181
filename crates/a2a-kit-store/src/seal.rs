//! Encryption of secrets at rest.

use std::{
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use a2a_core::ParseError;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest,
    rand::{SecureRandom, SystemRandom},
};

const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 4;
/// Formats, in the first byte of stored secrets.
const PLAIN: u8 = 0;
const SEALED: u8 = 1;

/// A key for the secrets of webhooks: 32 bytes.
///
/// Its text form is base64, as printed by `openssl rand -base64 32`, or hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; KEY_BYTES]);

/// The keys to encrypt secrets with, if any.
///
/// The first key encrypts, and all keys decrypt. To rotate, put the new key first, and remove the
/// old one when nothing encrypted with it is left. Without a key, secrets are stored in plaintext,
/// and one warning is logged.
#[derive(Clone, Default)]
pub struct SecretKeys(Arc<Inner>);

#[derive(Default)]
struct Inner {
    keys: Vec<(KeyId, LessSafeKey)>,
    has_warned: AtomicBool,
}

type KeyId = [u8; KEY_ID_BYTES];

/// Why a secret could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    #[error("the system random number generator failed")]
    NoRandom,
    #[error("no configured key matches the encryption key {0}")]
    NoKey(String),
    #[error("encrypted data was modified")]
    Changed,
    #[error("unknown encryption format")]
    Form,
}

impl SecretKey {
    /// Creates a key from 32 secret random bytes.
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    fn id(&self) -> KeyId {
        let mut id = KeyId::default();
        let hash = digest::digest(&digest::SHA256, &self.0);
        for (to, from) in id.iter_mut().zip(hash.as_ref()) {
            *to = *from;
        }
        id
    }
}

/// The text is not included.
fn invalid_key() -> ParseError {
    ParseError::new("a secret key must be 32 bytes in base64 or hexadecimal")
}

impl FromStr for SecretKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let bytes = from_hex(text).or_else(|| BASE64_STANDARD.decode(text).ok());
        let bytes = bytes.ok_or_else(invalid_key)?;
        <[u8; KEY_BYTES]>::try_from(bytes).map(Self).map_err(|_bytes| invalid_key())
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

a2a_core::debug_fields!(SecretKey(..));

impl SecretKeys {
    /// Creates a key set; the first key encrypts.
    pub fn new(keys: impl IntoIterator<Item = SecretKey>) -> Self {
        let unbound = |key: &SecretKey| UnboundKey::new(&AES_256_GCM, &key.0).ok();
        let keys = keys.into_iter();
        let keys = keys.filter_map(|key| Some((key.id(), LessSafeKey::new(unbound(&key)?))));
        Self(Arc::new(Inner { keys: keys.collect(), has_warned: AtomicBool::new(false) }))
    }

    /// Encrypts bytes with `place` as associated data, so that they cannot be moved elsewhere.
    pub(crate) fn seal(&self, place: &[u8], bytes: &[u8]) -> Result<Vec<u8>, SealError> {
        match self.0.keys.first() {
            Some(key) => seal(key, place, bytes).ok_or(SealError::NoRandom),
            None => Ok([&[PLAIN], bytes].concat()),
        }
    }

    /// Logs one warning if secrets are stored in plaintext.
    pub(crate) fn warn_if_plain(&self) {
        if self.0.keys.is_empty() && !self.0.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("webhook secrets are stored unencrypted: no secret key is set");
        }
    }

    pub(crate) fn open(&self, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        match sealed.split_first() {
            Some((&PLAIN, bytes)) => Ok(bytes.to_vec()),
            Some((&SEALED, sealed)) => self.unseal(place, sealed),
            _ => Err(SealError::Form),
        }
    }

    fn unseal(&self, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (id, sealed) = sealed.split_first_chunk::<KEY_ID_BYTES>().ok_or(SealError::Form)?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Form)?;
        let same = self.0.keys.iter().filter(|(known, _)| known == id);
        let mut error = SealError::NoKey(u32::from_be_bytes(*id).to_string());
        for (_, key) in same {
            let mut bytes = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            match key.open_in_place(nonce, Aad::from(place), &mut bytes) {
                Ok(opened) => return Ok(opened.to_vec()),
                Err(ring::error::Unspecified) => error = SealError::Changed,
            }
        }
        Err(error)
    }
}

/// Encrypts with a random 96-bit nonce, so one key is safe for billions of encryptions.
fn seal((id, key): &(KeyId, LessSafeKey), place: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).ok()?;
    let mut sealed = bytes.to_vec();
    let unique = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(unique, Aad::from(place), &mut sealed).ok()?;
    Some([&[SEALED], &id[..], &nonce[..], &sealed[..]].concat())
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKeys").field("keys", &self.0.keys.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::from_bytes([byte; KEY_BYTES])
    }

    #[test]
    fn sealed_bytes_open_only_in_the_same_context() {
        let keys = SecretKeys::new([key(1)]);
        let sealed = keys.seal(b"here", b"hush").unwrap();
        assert!(!sealed.windows(4).any(|bytes| bytes == b"hush"));
        assert_eq!(keys.open(b"here", &sealed).unwrap(), b"hush");
        assert!(matches!(keys.open(b"there", &sealed), Err(SealError::Changed)));
        assert_ne!(keys.seal(b"here", b"hush").unwrap(), sealed, "nonces differ");
    }

    #[test]
    fn rotated_key_needs_the_old_one_to_open() {
        let sealed = SecretKeys::new([key(1)]).seal(b"", b"hush").unwrap();
        assert!(matches!(SecretKeys::new([key(2)]).open(b"", &sealed), Err(SealError::NoKey(_))));
        let both = SecretKeys::new([key(2), key(1)]);
        assert_eq!(both.open(b"", &sealed).unwrap(), b"hush");
        let resealed = both.seal(b"", b"hush").unwrap();
        assert_eq!(SecretKeys::new([key(2)]).open(b"", &resealed).unwrap(), b"hush");
    }

    #[test]
    fn unencrypted_bytes_open_with_any_key() {
        let plain = SecretKeys::default().seal(b"", b"hush").unwrap();
        assert_eq!(plain, b"\0hush");
        assert_eq!(SecretKeys::new([key(1)]).open(b"", &plain).unwrap(), b"hush");
    }

    #[test]
    fn unknown_formats_do_not_open() {
        let keys = SecretKeys::new([key(1)]);
        for bytes in [&b""[..], b"\x01", b"\x01abcd", b"\x02rest"] {
            assert!(matches!(keys.open(b"", bytes), Err(SealError::Form)), "{bytes:?}");
        }
    }

    #[test]
    fn key_parses_from_base64_and_hexadecimal() {
        let hex = "07".repeat(KEY_BYTES);
        let base64 = BASE64_STANDARD.encode([7; KEY_BYTES]);
        for text in [&hex, &base64, &format!(" {base64}\n")] {
            assert_eq!(text.parse(), Ok(key(7)), "{text}");
        }
        for text in ["", "secret", &hex[1..], &base64[4..], &"0g".repeat(KEY_BYTES)] {
            assert_eq!(text.parse::<SecretKey>(), Err(invalid_key()), "{text}");
        }
    }

    #[test]
    fn key_is_redacted_in_debug_output() {
        assert_eq!(format!("{:?}", key(7)), "SecretKey(..)");
        assert!(!format!("{:?}", SecretKeys::new([key(7)])).contains('7'));
    }
}
