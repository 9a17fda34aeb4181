//! `a2a chat`: a conversation with an agent, on a terminal or over pipes.

mod conversation;
mod input;
mod line;
mod line_editor;
mod piped_turn;
mod slash_command;
mod terminal_mode;
mod transcript;
mod turn;

pub(crate) use conversation::Conversation;
pub(crate) use input::Input;
