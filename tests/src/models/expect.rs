//! Assertions that return errors.

use std::fmt::{Debug, Display};

/// The result of a check.
pub(super) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Fails with `text` unless `condition` holds.
pub(super) fn expect(condition: bool, text: impl Display) -> Result {
    if condition { Ok(()) } else { Err(text.to_string().into()) }
}

/// Fails unless the two are equal.
pub(super) fn same<T: Debug + PartialEq<U>, U: Debug>(
    actual: T,
    expected: U,
    what: &str,
) -> Result {
    let text = format!("{what}: expected {expected:?}, got {actual:?}");
    expect(actual == expected, text)
}
