//! Markdown on a terminal.

mod renderer;
mod stream;
mod table;

pub(crate) use renderer::render;
pub(crate) use stream::MarkdownStream;
