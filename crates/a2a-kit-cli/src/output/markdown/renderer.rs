//! Rendering of Markdown with the styles of a terminal: headings, emphasis, lists, quotes, code,
//! links and tables. Lines are not wrapped, as terminals do that.

use a2a_core::escape::escape;
use anstyle::Style;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::table::Table;
use crate::output::style::{CODE, EMPHASIS, HEADING, LINK, NOTE, STRONG, STRUCK, paint};

/// Longer texts are shown as they are, in bytes. The time for deeply nested quotes is quadratic.
const MAX_TEXT: usize = 64 << 10;
/// Levels of quotes and lists that are indented. Deeper ones would multiply the output.
const MAX_INDENTS: usize = 8;
const RULE: &str = "────────────────────────────────────────";

/// Renders Markdown. Control characters are escaped, also those of character references. Without
/// colors there are no escape sequences either.
pub(crate) fn render(text: &str, has_colors: bool) -> String {
    if text.len() > MAX_TEXT {
        return format!("{}\n", escape(text).trim_end_matches('\n'));
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer { has_colors, at_line_start: true, ..Renderer::default() };
    for event in Parser::new_ext(text, options) {
        renderer.event(event);
    }
    renderer.end_line();
    renderer.rendered
}

#[derive(Default)]
struct Renderer {
    rendered: String,
    has_colors: bool,
    at_line_start: bool,
    /// Whether an empty line precedes the next block.
    needs_gap: bool,
    styles: Vec<Style>,
    /// What each line of the enclosing quotes and list items starts with.
    indents: Vec<&'static str>,
    /// The next number of each enclosing list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The marker of a list item whose first line has not started.
    marker: Option<String>,
    is_code_block: bool,
    links: Vec<Link>,
    table: Option<Table>,
}

/// A link whose text is being written.
struct Link {
    url: String,
    text: String,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::Code(code) if self.has_colors => self.styled(CODE, &code),
            Event::Code(code) => self.text(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.start_block();
                self.styled(NOTE, RULE);
                self.end_block();
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            // Not enabled.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.start_block(),
            Tag::Heading { level, .. } => {
                self.start_block();
                self.push_style(HEADING);
                if !self.has_colors {
                    self.text(&format!("{} ", "#".repeat(level as usize)));
                }
            }
            Tag::BlockQuote(_) => {
                self.start_block();
                self.indents.push("│ ");
            }
            Tag::CodeBlock(_) => {
                self.start_block();
                self.indents.push("  ");
                self.push_style(CODE);
                self.is_code_block = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.start_block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.push_style(EMPHASIS),
            Tag::Strong => self.push_style(STRONG),
            Tag::Strikethrough => self.push_style(STRUCK),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.text("[image: ");
                self.start_link(&dest_url);
            }
            Tag::Table(_) => {
                self.start_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(Table::start_row);
            }
            Tag::TableCell => self.table.iter_mut().for_each(Table::start_cell),
            // Not enabled.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.indents.pop();
                self.end_block();
            }
            TagEnd::CodeBlock => {
                self.end_line();
                self.indents.pop();
                self.styles.pop();
                self.is_code_block = false;
                self.end_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_line();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                // An item without content still has a marker.
                self.text("");
                self.end_line();
                self.indents.pop();
                self.needs_gap = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                self.text("]");
                self.end_link();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.lines().iter().for_each(|line| {
                        self.text(line);
                        self.end_line();
                    });
                }
                self.end_block();
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_line();
        self.needs_gap = false;
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "• ".to_owned(),
        };
        self.indents.push(if marker.len() > 4 { "    " } else { "  " });
        self.marker = Some(marker);
    }

    fn start_link(&mut self, url: &str) {
        self.push_style(LINK);
        self.links.push(Link { url: url.to_owned(), text: String::new() });
    }

    /// Writes the URL behind the text of a link, unless that is the text.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(Link { url, text }) = self.links.pop() else { return };
        if url != text && url.strip_prefix("mailto:") != Some(&text) {
            self.text(&format!(" ({url})"));
        }
    }

    fn push_style(&mut self, style: Style) {
        let outer = self.styles.last().copied().unwrap_or_default();
        let color = style.get_fg_color().or(outer.get_fg_color());
        let effects = outer.get_effects() | style.get_effects();
        self.styles.push(Style::new().fg_color(color).effects(effects));
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.push_style(style);
        self.text(text);
        self.styles.pop();
    }

    fn start_block(&mut self) {
        self.end_line();
        if self.needs_gap && self.marker.is_none() {
            self.write_indent();
            let end = self.rendered.trim_end_matches(' ').len();
            self.rendered.truncate(end);
            // One space: a truly empty line would end the block.
            self.rendered.push_str(" \n");
            self.at_line_start = true;
        }
        self.needs_gap = false;
    }

    fn end_block(&mut self) {
        self.end_line();
        self.needs_gap = true;
    }

    fn end_line(&mut self) {
        if !self.at_line_start {
            self.rendered.push('\n');
            self.at_line_start = true;
        }
    }

    fn write_indent(&mut self) {
        let shown = self.indents.len().min(MAX_INDENTS);
        let marker = self.marker.take();
        // The marker takes the place of the innermost indent.
        let own = if marker.is_some() { 1 } else { 0 };
        let outer = self.indents.get(..shown.saturating_sub(own)).unwrap_or_default();
        self.rendered.extend(outer.iter().copied());
        self.rendered.push_str(&marker.unwrap_or_default());
        self.at_line_start = false;
    }

    /// Writes text in the current style, escaped, with the indent of each line.
    fn text(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        let text = escape(text);
        if let Some(table) = &mut self.table {
            table.push(&text);
            return;
        }
        let style = self.styles.last().copied().unwrap_or_default();
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                // The text of a code block ends with a newline.
                if self.at_line_start && self.is_code_block {
                    self.rendered.push(' ');
                    self.at_line_start = false;
                }
                self.end_line();
            }
            if !line.is_empty() || self.marker.is_some() {
                if self.at_line_start {
                    self.write_indent();
                }
                paint(&mut self.rendered, style, line, self.has_colors && style != Style::new());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use a2a_core::escape::is_terminal_control;

    fn plain(text: &str) -> String {
        render(text, false)
    }

    #[test]
    fn structure_is_readable_without_escape_sequences() {
        assert_eq!(
            plain(
                "# Title\n\nA *b* **c** `d`\ne\n\n- one\n- two\n  1. in\n  2. side\n\n> quoted\n> \
                 more\n\n```rust\nlet x;\n\n  y\n```\n\n[text](https://a.b) <https://c.d>\n\n---\n"
            ),
            format!(
                "# Title\n \nA b c `d`\ne\n \n• one\n• two\n  1. in\n  2. side\n \n│ quoted\n│ \
                 more\n \n  let x;\n \n    y\n \ntext (https://a.b) https://c.d\n \n{RULE}\n"
            )
        );
    }

    #[test]
    fn styles_are_nested_and_reset() {
        assert_eq!(render("**a *b***", true), "\u{1b}[1ma \u{1b}[0m\u{1b}[1m\u{1b}[3mb\u{1b}[0m\n");
    }

    #[test]
    fn control_characters_are_escaped_everywhere() {
        for text in [
            "a\u{1b}[2Jb",
            "&#27;[2J",
            "`\u{1b}[2J`",
            "```\n\u{1b}[2J\n```",
            "[a](https://x/\u{1b}[2J)",
            "[a](https://x/&#27;%1b)",
            "| a\u{1b} |\n|---|\n| &#155; |",
            "<b \u{1b}>",
            "![\u{1b}](\u{7}u)",
            "a\rb\u{9b}",
        ] {
            let rendered = plain(text);
            let escaped = |c: char| is_terminal_control(c) && c != '\n';
            assert!(!rendered.contains(escaped), "{text:?}: {rendered:?}");
        }
        assert_eq!(plain("&#27;[2J"), "\\x1b[2J\n");
    }

    #[test]
    fn table_has_columns() {
        assert_eq!(
            plain("| City | Degrees |\n|---|---:|\n| Oslo | **-3** |\n| 東京 | 12 |"),
            "City │ Degrees\n─────┼────────\nOslo │ -3\n東京 │ 12\n"
        );
    }

    #[test]
    fn output_is_bounded_by_the_input() {
        let deep = format!("{}x{}", ">".repeat(5_000), "\na".repeat(5_000));
        assert!(plain(&deep).len() < 60 * deep.len());
        let long = "x".repeat(MAX_TEXT + 1);
        assert_eq!(plain(&long).len(), long.len() + 1);
        let wide = format!("|{}|\n|-|\n{}", "y".repeat(10_000), "|z|\n".repeat(1_000));
        assert!(plain(&wide).len() < 60 * wide.len());
    }

    #[test]
    fn items_without_text_and_tasks_have_markers() {
        assert_eq!(plain("- \n- [x] done\n- [ ] open"), "• \n• [x] done\n• [ ] open\n");
        assert_eq!(plain("3. a\n\n   b\n4. c"), "3. a\n \n  b\n4. c\n");
    }
}
