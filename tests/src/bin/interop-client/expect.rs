//! Assertions that return errors.

use std::fmt::{Debug, Display};

use a2a_core::{Error, ErrorKind, Task, TaskState};

/// The result of a check.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Fails with `text` unless `condition` holds.
pub(crate) fn expect(condition: bool, text: impl Display) -> Result {
    if condition { Ok(()) } else { Err(text.to_string().into()) }
}

/// Fails unless the two are equal.
pub(crate) fn same<T, U>(actual: T, expected: U, what: &str) -> Result
where
    T: Debug + PartialEq<U>,
    U: Debug,
{
    let text = format!("{what}: expected {expected:?}, got {actual:?}");
    expect(actual == expected, text)
}

/// Fails unless the task is in `state`.
pub(crate) fn state_is(task: &Task, state: TaskState) -> Result {
    same(task.state(), state, "state")
}

/// Fails unless the call failed with an error of `kind`.
pub(crate) fn fails_with<T>(kind: ErrorKind, called: a2a_core::Result<T>) -> Result<Error> {
    match called {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => Err(format!("expected {kind:?}, got {:?}: {error}", error.kind()).into()),
        Ok(_) => Err(format!("expected {kind:?}, got an answer").into()),
    }
}
