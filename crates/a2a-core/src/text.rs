//! Values as people write them in flags and files.

use std::time::Duration;

use crate::TaskState;

/// Reads `500ms`, `2s`, `5m`, `1h`, or plain seconds.
///
/// # Errors
///
/// The expected form.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration such as 500ms, 2s, 5m, 1h, or plain seconds".to_owned();
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_error| expected())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(expected()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_error| expected())
}

/// Reads a state: `working`, `WORKING`, `input-required`, `TASK_STATE_WORKING`.
///
/// # Errors
///
/// The expected form.
pub fn state(text: &str) -> Result<TaskState, String> {
    match TaskState::from_any_name(text) {
        Some(TaskState::Unspecified) | None => Err("expected a state such as working, \
            completed, failed, canceled, rejected, submitted, input-required or auth-required"
            .into()),
        Some(state) => Ok(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_plain_numbers_are_seconds() {
        for (text, millis) in
            [("500ms", 500), ("2s", 2_000), ("5m", 300_000), ("1h", 3_600_000), ("1.5", 1_500)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "5 m", "1d", "-1s", "1e400"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_state_is_read_in_every_spelling() {
        for text in ["working", "WORKING", "TASK_STATE_WORKING", "task-state-working"] {
            assert_eq!(state(text), Ok(TaskState::Working), "{text}");
        }
        assert_eq!(state("input-required"), Ok(TaskState::InputRequired));
        assert!(state("unspecified").is_err());
    }
}
