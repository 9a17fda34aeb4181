//! A completed call of a model.

use serde::{Deserialize, Serialize};

use crate::model::{Answer, StopReason, ToolCall, Usage};

/// A completed call, as it is journaled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completed {
    pub(crate) answer: Vec<Answer>,
    pub(crate) stop: StopReason,
    /// `None` if the provider reported nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    /// Whether attempts that failed may have used more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_incomplete: bool,
    /// The provider of the model.
    pub(crate) provider: String,
    /// The model.
    pub(crate) model: String,
    /// The number of attempts.
    pub(crate) attempts: u32,
}

impl Completed {
    pub(crate) fn text(&self) -> String {
        let text = self.answer.iter().filter_map(|piece| match piece {
            Answer::Text(text) => Some(text.as_str()),
            Answer::ToolCall(_) | Answer::Opaque(_) => None,
        });
        text.collect()
    }

    pub(crate) fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.answer.iter().filter_map(|piece| match piece {
            Answer::ToolCall(call) => Some(call),
            Answer::Text(_) | Answer::Opaque(_) => None,
        })
    }

    /// Whether a model that ended regularly has said nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let is_regular =
            matches!(self.stop, StopReason::End | StopReason::ToolCalls | StopReason::Other(_));
        let is_silent = !self.answer.iter().any(|piece| !matches!(piece, Answer::Opaque(_)));
        is_regular && is_silent
    }
}
