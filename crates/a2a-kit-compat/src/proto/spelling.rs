//! ProtoJSON of single members. Enums: written by name, read by name of any revision or by number.

use serde::{Deserialize, Deserializer};

/// A name, or a number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "the name or the number of an enum value")]
enum Form {
    Name(String),
    Number(i32),
    Unset(()),
}

/// The number of an unknown name, which validation rejects.
const UNRECOGNIZED: i32 = -1;

fn number<'de, D: Deserializer<'de>>(
    from: D,
    known: impl FnOnce(&str) -> Option<i32>,
) -> Result<i32, D::Error> {
    Ok(match Form::deserialize(from)? {
        Form::Name(name) => known(&name).unwrap_or(UNRECOGNIZED),
        Form::Number(number) => number,
        Form::Unset(()) => 0,
    })
}

/// States of a task.
pub(crate) mod state {
    use std::fmt::Display;

    use a2a_core::TaskState;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::Form;

    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match TaskState::try_from(*number).unwrap_or_default() {
            TaskState::Canceled => "TASK_STATE_CANCELLED",
            other => other.as_str_name(),
        })
    }

    /// An unknown state is an error that quotes it.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        let unknown =
            |shown: &dyn Display| D::Error::custom(format_args!("unknown task state {shown}"));
        let state = match Form::deserialize(from)? {
            Form::Name(name) => {
                TaskState::from_any_name(&name).ok_or_else(|| unknown(&format_args!("{name:?}")))?
            }
            Form::Number(number) => {
                TaskState::try_from(number).ok().ok_or_else(|| unknown(&number))?
            }
            Form::Unset(()) => TaskState::Unspecified,
        };
        Ok(state.into())
    }
}

/// Roles.
pub(crate) mod role {
    use a2a_core::Role;
    use serde::{Deserializer, Serializer};

    use crate::common::spelling;

    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(Role::try_from(*number).unwrap_or_default().as_str_name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        super::number(from, |name| spelling::role(name).map(i32::from))
    }
}

/// Returns whether a member has its default value and is omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
