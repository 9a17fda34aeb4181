//! Certificates, keys and certificate revocation lists as PEM text.

use std::{borrow::Cow, fmt, fs::File, io, io::Read as _, path::PathBuf, sync::Arc};

use rustls::pki_types::{PrivateKeyDer, pem::PemObject};

use crate::TlsError;

/// Maximum file size, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// PEM text (RFC 7468), in a file or in memory. Sections of other types than the expected one are
/// ignored, so one file may contain certificate and key.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    File(PathBuf),
    Text(Arc<[u8]>),
}

impl Pem {
    /// Text in a file of at most 4 MiB. Servers reload it when it changes.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// Text in memory.
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        Self(Source::Text(text.as_ref().into()))
    }

    /// Returns whether the text is in a file, which may change.
    pub fn is_file(&self) -> bool {
        matches!(self.0, Source::File(_))
    }

    /// Reads the text; `what` is the expected content, for errors.
    ///
    /// # Errors
    ///
    /// [`TlsError::Read`] for a file that can't be read, or is larger than 4 MiB.
    pub fn read(&self, what: &'static str) -> Result<Cow<'_, [u8]>, TlsError> {
        let path = match &self.0 {
            Source::Text(text) => return Ok(Cow::Borrowed(text)),
            Source::File(path) => path,
        };
        let failed = |source| TlsError::Read { what, path: path.clone(), source };
        let mut text = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            let error = io::Error::new(io::ErrorKind::FileTooLarge, "larger than 4 MiB");
            return Err(failed(error));
        }
        Ok(Cow::Owned(text))
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::File(path) => f.debug_tuple("Pem").field(path).finish(),
            // It may be a key.
            Source::Text(_) => f.write_str("Pem(..)"),
        }
    }
}

/// Parses all certificates, or certificate revocation lists, of a text; at least one.
///
/// # Errors
///
/// [`TlsError::Pem`] and [`TlsError::Missing`].
pub fn all<T: PemObject>(text: &[u8], what: &'static str) -> Result<Vec<T>, TlsError> {
    let items: Result<Vec<T>, _> = T::pem_slice_iter(text).collect();
    let items = items.map_err(|error| TlsError::Pem { what, source: error.into() })?;
    if items.is_empty() { Err(TlsError::Missing(what)) } else { Ok(items) }
}

/// Parses the first private key of a text, in PKCS #8, SEC 1 or PKCS #1.
///
/// # Errors
///
/// [`TlsError::Pem`] and [`TlsError::Missing`].
pub fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::pem_slice_iter(text)
        .next()
        .ok_or(TlsError::Missing("private key"))?
        .map_err(|error| TlsError::Pem { what: "private key", source: error.into() })
}
