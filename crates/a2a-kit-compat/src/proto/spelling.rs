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
    use a2a_core::TaskState;
    use serde::{Deserializer, Serializer};

    use crate::common::spelling;

    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match TaskState::try_from(*number).unwrap_or_default() {
            TaskState::Canceled => "TASK_STATE_CANCELLED",
            other => other.as_str_name(),
        })
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        super::number(from, |name| spelling::state(name).map(i32::from))
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
