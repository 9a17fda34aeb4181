//! Markdown that arrives in chunks.

use super::render;

/// A block that grows beyond this is rendered as far as it is known, in bytes.
const MAX_BLOCK: usize = 16 << 10;

/// Renders the chunks of a text, block by block: a block is complete at the empty line behind it.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    block: String,
    has_output: bool,
}

impl MarkdownStream {
    /// Adds a chunk, and returns the rendered form of the blocks that it completes.
    pub(crate) fn push(&mut self, chunk: &str, has_colors: bool) -> String {
        self.block.push_str(chunk);
        match complete(&self.block) {
            Some(end) => {
                let rest = self.block.split_off(end);
                let blocks = std::mem::replace(&mut self.block, rest);
                self.render(&blocks, has_colors)
            }
            None if self.block.len() > MAX_BLOCK => self.finish(has_colors),
            None => String::new(),
        }
    }

    /// Returns the rendered form of the rest.
    pub(crate) fn finish(&mut self, has_colors: bool) -> String {
        let rest = std::mem::take(&mut self.block);
        self.render(&rest, has_colors)
    }

    fn render(&mut self, blocks: &str, has_colors: bool) -> String {
        let rendered = render(blocks, has_colors);
        if rendered.is_empty() {
            return rendered;
        }
        let gap = if self.has_output { " \n" } else { "" };
        self.has_output = true;
        format!("{gap}{rendered}")
    }
}

/// The end of the last complete block: behind an empty line that is not in a code block.
fn complete(text: &str) -> Option<usize> {
    let mut fence: Option<&str> = None;
    let mut position = 0;
    let mut complete = None;
    for line in text.split_inclusive('\n') {
        position += line.len();
        let content = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if content.is_empty() && line.ends_with('\n') => complete = Some(position),
            _ => {}
        }
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_is_rendered_when_it_is_complete() {
        let mut stream = MarkdownStream::default();
        let mut push = |chunk: &str| stream.push(chunk, false);
        assert_eq!(push("# Ti"), "");
        assert_eq!(push("tle\n\nA"), "# Title\n");
        assert_eq!(push(" b\n\n```\nlet\n\n"), " \nA b\n");
        assert_eq!(push("x\n```\n"), "");
        assert_eq!(push("\nend"), " \n  let\n \n  x\n");
        assert_eq!(stream.finish(false), " \nend\n");
        assert_eq!(stream.finish(false), "");
    }

    #[test]
    fn chunks_without_an_end_are_bounded() {
        let mut stream = MarkdownStream::default();
        let mut length = 0;
        for _ in 0..100 {
            length += stream.push(&"x".repeat(10_000), false).len();
            assert!(stream.block.len() <= MAX_BLOCK + 10_000);
        }
        assert!(length > 900_000);
    }
}
