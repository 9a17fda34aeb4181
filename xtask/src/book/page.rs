//! A Markdown page: its code blocks with their directives, links and anchors.

use std::{collections::BTreeSet, ops::Range};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::Result;

/// A page, by what is checked in it.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The path below the root of the workspace.
    pub(super) name: String,
    /// Code blocks and free-standing directives, in their order.
    pub(super) steps: Vec<Step>,
    pub(super) links: Vec<Link>,
    /// The ids of the headings.
    pub(super) anchors: BTreeSet<String>,
    /// What checks all blocks of the page, if it is not this program.
    pub(super) tested_by: Option<String>,
}

#[derive(Debug)]
pub(super) enum Step {
    Block(Block),
    /// Stop the server on this port.
    Stop(u16),
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) line: usize,
    pub(super) language: String,
    /// What follows the language: `no_run`, `ignore`.
    pub(super) attributes: Vec<String>,
    pub(super) directive: Option<Directive>,
    pub(super) text: String,
}

/// A link or an image.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) line: usize,
    pub(super) target: String,
    /// The place of the link in the text of the page.
    pub(super) range: Range<usize>,
}

/// How a block is checked: a comment such as `<!-- file: src/main.rs -->` in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    /// The content of this file.
    File(String),
    /// A table of this TOML file, in place of the one with the same header.
    Section(String),
    /// Commands of a server, which is ready when it accepts connections on this port, and runs
    /// until the next server on the port or the end of the page.
    Server(u16),
    /// Commands that fail.
    Fails,
    /// Settings of `a2a serve`.
    Settings,
    /// Neither run nor compared, for this reason.
    NotRun(String),
    /// Checked by this file of the repository, which names the page.
    TestedBy(String),
}

/// A comment of the page, by its name.
enum Comment {
    Block(Directive),
    Stop(u16),
    PageTestedBy(String),
    Other,
}

impl Page {
    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        let mut page = Self { name: name.to_owned(), ..Self::default() };
        let mut directive = None;
        let mut heading: Option<String> = None;
        let mut block: Option<Block> = None;
        let mut comment: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = 1 + text[..range.start].matches('\n').count();
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let id = anchor(&heading.take().unwrap_or_default());
                    page.anchors.insert(unique(id, &page.anchors));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.into_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    let mut words = info.split(',').map(|word| word.trim().to_owned());
                    block = Some(Block {
                        line,
                        language: words.next().unwrap_or_default(),
                        attributes: words.collect(),
                        directive: directive.take(),
                        text: String::new(),
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.steps.extend(block.take().map(Step::Block)),
                Event::Start(Tag::HtmlBlock) => comment = Some(String::new()),
                Event::Html(html) => comment.get_or_insert_default().push_str(&html),
                Event::End(TagEnd::HtmlBlock) => {
                    let found = comment.take().unwrap_or_default();
                    match read(&found).map_err(|error| format!("{name}:{line}: {error}"))? {
                        Comment::Block(found) => directive = Some(found),
                        Comment::Stop(port) => page.steps.push(Step::Stop(port)),
                        Comment::PageTestedBy(file) => page.tested_by = Some(file),
                        Comment::Other => {}
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(Link { line, target: dest_url.into_string(), range });
                }
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&piece);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&piece);
                    }
                }
                Event::Start(Tag::Paragraph) if directive.is_some() => {
                    return Err(format!("{name}:{line}: a directive has no block").into());
                }
                _ => {}
            }
        }
        Ok(page)
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.steps.iter().filter_map(|step| match step {
            Step::Block(block) => Some(block),
            Step::Stop(_) => None,
        })
    }
}

/// Reads a comment. Comments without a colon are for people.
fn read(html: &str) -> Result<Comment> {
    let text = html.trim();
    let Some(text) = text.strip_prefix("<!--").and_then(|text| text.strip_suffix("-->")) else {
        return Ok(Comment::Other);
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (name, value) = text.split_once(": ").unwrap_or((&text, ""));
    let port = || value.parse().map_err(|error| format!("{text:?}: {error}"));
    Ok(match name {
        "file" => Comment::Block(Directive::File(value.to_owned())),
        "section" => Comment::Block(Directive::Section(value.to_owned())),
        "server" => Comment::Block(Directive::Server(port()?)),
        "fails" => Comment::Block(Directive::Fails),
        "settings" => Comment::Block(Directive::Settings),
        "not run" => Comment::Block(Directive::NotRun(value.to_owned())),
        "tested by" => Comment::Block(Directive::TestedBy(value.to_owned())),
        "stop" => Comment::Stop(port()?),
        "page tested by" => Comment::PageTestedBy(value.to_owned()),
        // A table that a test writes.
        "generated" | "end" => Comment::Other,
        _ => return Err(format!("unknown directive {text:?}").into()),
    })
}

/// The id of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn unique(id: String, taken: &BTreeSet<String>) -> String {
    if !taken.contains(&id) {
        return id;
    }
    (1..).map(|n| format!("{id}-{n}")).find(|id| !taken.contains(id)).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Page {
        Page::parse("page.md", text).expect("a page")
    }

    #[test]
    fn a_directive_belongs_to_the_block_behind_it() {
        let page = parse(
            "<!-- file: src/main.rs -->\n```rust,no_run\nfn main() {}\n```\n\n```sh\nls\n```\n",
        );
        let blocks: Vec<_> = page.blocks().collect();
        assert_eq!(blocks[0].directive, Some(Directive::File("src/main.rs".into())));
        assert_eq!((blocks[0].language.as_str(), blocks[0].line), ("rust", 2));
        assert_eq!(blocks[0].attributes, ["no_run"]);
        assert_eq!((blocks[1].directive.as_ref(), blocks[1].text.as_str()), (None, "ls\n"));
    }

    #[test]
    fn a_directive_without_a_block_and_an_unknown_one_are_rejected() {
        assert!(Page::parse("page.md", "<!-- server: 8080 -->\n\ntext\n").is_err());
        assert!(Page::parse("page.md", "<!-- sever: 8080 -->\n```sh\nls\n```\n").is_err());
    }

    #[test]
    fn headings_have_the_ids_of_github() {
        let page = parse("# The `a2a` command\n## Old & new\n## Old & new\n");
        let ids: Vec<_> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(ids, ["old--new", "old--new-1", "the-a2a-command"]);
    }

    #[test]
    fn links_and_images_are_found_and_code_is_not() {
        let page = parse("[one](a.md#b) ![two](c.svg) `[no](d.md)`\n\n```text\n[no](e.md)\n```\n");
        let targets: Vec<_> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["a.md#b", "c.svg"]);
    }
}
