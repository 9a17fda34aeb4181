//! Text that arrives in chunks, such as the tokens of a model.

use a2a_core::escape::escape;

use super::{MarkdownStream, terminal::Terminal};

/// Formats a text chunk by chunk: escaped or, on a terminal that renders it, as Markdown.
#[derive(Debug)]
pub(crate) struct TextFlow {
    terminal: Terminal,
    markdown: Option<MarkdownStream>,
    at_line_start: bool,
}

impl TextFlow {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { terminal, markdown: None, at_line_start: true }
    }

    /// Whether the cursor is at the start of a line, where a progress line has room.
    pub(crate) fn at_line_start(&self) -> bool {
        self.at_line_start
    }

    /// Adds a chunk, and returns what of it is printed now.
    pub(crate) fn push(&mut self, chunk: &str, is_markdown: bool) -> String {
        let mut shown = String::new();
        if is_markdown && self.terminal.renders_markdown() {
            let markdown = self.markdown.get_or_insert_default();
            shown = markdown.push(chunk, self.terminal.has_colors());
            self.at_line_start |= !shown.is_empty();
        } else {
            push_lines(&mut shown, chunk, &mut self.at_line_start);
        }
        shown
    }

    /// Ends the text and its line, and returns what is printed for that.
    pub(crate) fn end(&mut self) -> String {
        let markdown = self.markdown.take();
        let mut shown = markdown
            .map_or_else(String::new, |mut markdown| markdown.finish(self.terminal.has_colors()));
        if shown.is_empty() && !self.at_line_start {
            shown.push('\n');
        }
        self.at_line_start = true;
        shown
    }
}

/// Writes the content of a block and the empty line that ends it.
pub(super) fn push_block(to: &mut String, content: &str) {
    let mut at_line_start = true;
    push_lines(to, content, &mut at_line_start);
    to.push_str(if at_line_start { "\n" } else { "\n\n" });
}

/// Writes escaped lines. An empty one is written as one space, as the first truly empty line ends a
/// block.
fn push_lines(to: &mut String, text: &str, at_line_start: &mut bool) {
    for line in escape(text).split_inclusive('\n') {
        if *at_line_start && line == "\n" {
            to.push(' ');
        }
        to.push_str(line);
        *at_line_start = line.ends_with('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_printed_as_the_block_of_their_whole_text() {
        for text in ["", "a", "a\n", "\na\n\n\nb", "\n", "\u{1b}[2J\né"] {
            let mut block = String::new();
            push_block(&mut block, text);
            let mut flow = TextFlow::new(Terminal::default());
            let mut shown: String =
                text.chars().map(|c| flow.push(c.encode_utf8(&mut [0; 4]), false)).collect();
            shown.push_str(&flow.end());
            assert_eq!(format!("{shown}\n"), block, "{text:?}");
        }
    }

    #[test]
    fn only_an_empty_line_ends_a_block() {
        let mut block = String::new();
        push_block(&mut block, "a\n\nb\n");
        assert_eq!(block, "a\n \nb\n\n");
    }
}
