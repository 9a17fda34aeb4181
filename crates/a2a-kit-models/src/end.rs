//! How the task of a model ends: its state, and the text for its caller.

use a2a_core::{TaskState, fresh_id};

use crate::{
    ModelError,
    model::{ModelErrorKind, StopReason, Usage},
};

/// The end of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) state: TaskState,
    /// The text for the caller, without text of the provider.
    pub(crate) text: Option<String>,
}

impl End {
    /// The end after a cancel, in the words of the engine.
    pub(crate) fn canceled() -> Self {
        let text = "canceled at the client's request".to_owned();
        Self { state: TaskState::Canceled, text: Some(text) }
    }

    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { state: TaskState::Failed, text: Some(text.into()) }
    }

    pub(crate) fn rejected(text: impl Into<String>) -> Self {
        Self { state: TaskState::Rejected, text: Some(text.into()) }
    }

    fn completed(text: Option<String>) -> Self {
        Self { state: TaskState::Completed, text }
    }

    /// The end after tools were stopped, which an answer that is otherwise complete says.
    pub(crate) fn after_stopped_tools(mut self, steps: u32) -> Self {
        if self.state == TaskState::Completed && self.text.is_none() {
            let plural = if steps == 1 { "" } else { "s" };
            self.text = Some(format!("Tools were stopped after {steps} step{plural}"));
        }
        self
    }

    /// The end after a call that was completed, without calls of tools.
    pub(crate) fn of_stop(
        stop: &StopReason,
        has_text: bool,
        max_tokens: Option<u32>,
        usage: Option<&Usage>,
    ) -> Self {
        match stop {
            StopReason::Filter if has_text => Self::failed("The model declined to answer"),
            StopReason::Filter => Self::rejected("The model declined to answer"),
            StopReason::ContextWindow if !has_text => Self::failed(TOO_LONG),
            StopReason::Length | StopReason::ContextWindow => {
                let used = usage.map(|usage| usage.output).filter(|tokens| *tokens > 0);
                let limit = match (stop, max_tokens) {
                    (StopReason::Length, Some(tokens)) => Some(u64::from(tokens)),
                    _ => used,
                };
                let limit = limit.map_or_else(String::new, |tokens| format!(" of {tokens} tokens"));
                let text = format!("The answer reached its limit{limit} and is incomplete");
                Self::completed(Some(text))
            }
            StopReason::End | StopReason::ToolCalls | StopReason::Other(_) if has_text => {
                Self::completed(None)
            }
            StopReason::End | StopReason::ToolCalls | StopReason::Other(_) => {
                Self::failed("The model gave an empty answer")
            }
        }
    }

    /// The end after the last attempt of a call has failed, with the id under which the log has it.
    pub(crate) fn of_error(error: &ModelError, attempts: u32) -> (Self, String) {
        let id = fresh_id();
        let text = match error.kind {
            ModelErrorKind::Credentials => {
                "The model provider refused the credentials of this agent".to_owned()
            }
            ModelErrorKind::UnknownModel => "The model of this agent is not available".to_owned(),
            ModelErrorKind::Quota => {
                "The quota of this agent at its model provider is used up".to_owned()
            }
            ModelErrorKind::TooLong => TOO_LONG.to_owned(),
            ModelErrorKind::Rejected => {
                format!("The model provider rejected the request (error {id})")
            }
            ModelErrorKind::File => {
                let text = error.message.as_deref().unwrap_or("A file can't be used");
                return (Self::rejected(text), id);
            }
            ModelErrorKind::RateLimit
            | ModelErrorKind::Unavailable
            | ModelErrorKind::Timeout
            | ModelErrorKind::Cut => {
                let plural = if attempts == 1 { "" } else { "s" };
                format!("The model provider is unavailable ({attempts} attempt{plural})")
            }
        };
        (Self::failed(text), id)
    }
}

const TOO_LONG: &str = "The conversation is too long for the model";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_reason_has_a_state_and_a_text() {
        use StopReason::{ContextWindow, End as Regular, Filter, Length, Other};
        use TaskState::{Completed, Failed, Rejected};
        let declined = Some("The model declined to answer");
        let empty = Some("The model gave an empty answer");
        let limited = Some("The answer reached its limit of 9 tokens and is incomplete");
        let cases = [
            (Regular, true, Completed, None),
            (Regular, false, Failed, empty),
            (Other("new".to_owned()), true, Completed, None),
            (Other("new".to_owned()), false, Failed, empty),
            (Length, true, Completed, limited),
            (Length, false, Completed, limited),
            (Filter, true, Failed, declined),
            (Filter, false, Rejected, declined),
            (
                ContextWindow,
                true,
                Completed,
                Some("The answer reached its limit of 7 tokens and is incomplete"),
            ),
            (ContextWindow, false, Failed, Some(TOO_LONG)),
        ];
        let usage = Usage { output: 7, ..Usage::default() };
        for (stop, has_text, state, text) in cases {
            let end = End::of_stop(&stop, has_text, Some(9), Some(&usage));
            assert_eq!((end.state, end.text.as_deref()), (state, text), "{stop:?}, {has_text}");
        }
        let end = End::of_stop(&Length, true, None, None);
        assert_eq!(end.text.as_deref(), Some("The answer reached its limit and is incomplete"));
    }

    #[test]
    fn each_error_has_a_state_and_a_text() {
        use ModelErrorKind::{
            Credentials, Cut, File, Quota, RateLimit, Rejected, Timeout, TooLong, Unavailable,
            UnknownModel,
        };
        let unavailable = "The model provider is unavailable (4 attempts)";
        let cases = [
            (Credentials, "The model provider refused the credentials of this agent"),
            (UnknownModel, "The model of this agent is not available"),
            (Quota, "The quota of this agent at its model provider is used up"),
            (TooLong, "The conversation is too long for the model"),
            (Rejected, "The model provider rejected the request (error ID)"),
            (RateLimit, unavailable),
            (Unavailable, unavailable),
            (Timeout, unavailable),
            (Cut, unavailable),
            (File, "The file a.zip can't be used"),
        ];
        for (kind, expected) in cases {
            let mut error = ModelError::new(kind);
            error.message = (kind == File).then(|| "The file a.zip can't be used".to_owned());
            let (end, id) = End::of_error(&error, 4);
            let state = if kind == File { TaskState::Rejected } else { TaskState::Failed };
            let text = end.text.unwrap_or_default().replace(&id, "ID");
            assert_eq!((end.state, text.as_str()), (state, expected), "{kind:?}");
        }
        let (end, _) = End::of_error(&ModelError::new(Cut), 1);
        assert_eq!(end.text.as_deref(), Some("The model provider is unavailable (1 attempt)"));
    }
}
