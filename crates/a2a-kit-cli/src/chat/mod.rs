//! `a2a chat`: a conversation with an agent, on a terminal or over pipes.

mod conversation;
mod input;
mod line_editor;
mod slash_command;
mod transcript;
mod turn;

pub(crate) use conversation::Conversation;
pub(crate) use input::Input;
