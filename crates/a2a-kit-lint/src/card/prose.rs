//! What people read: the provider, links, and the length and hidden markup of texts.

use std::borrow::Cow;

use crate::{
    Edit, Findings, Rule, Subject,
    address::parse_url,
    strings::{self, Text, quote},
};

rules! {
    info PROVIDER = "missing-provider":
        "the card names no provider, so users can't tell who runs the agent",
        "add provider.organization and provider.url";
    warning LINK = "invalid-link":
        "a link for people (provider, documentation, icon) is not an http or https URL",
        "write the complete URL";
    warning LONG = "long-text":
        "a name has more than 100, an example more than 1000 or a description more than 2000 \
     characters; callers pass them to their models",
        "shorten the text, and link to the documentation";
    warning(fixable) COMMENT = "hidden-markup":
        "a text has an HTML comment or hidden element, which people don't see and models read",
        "remove the markup";
    warning EMPTY = "empty-description":
        "the card has no description, by which callers choose the agent",
        "describe what the agent does";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    links(subject, findings);
    if subject.card.description.trim().is_empty() {
        findings.add(&EMPTY, "/description", "the card has no description");
    }
    strings::each(&subject.json, &mut |text| {
        length(text, findings);
        markup(text, findings);
    });
}

fn links(subject: &Subject<'_>, findings: &mut Findings) {
    let card = &*subject.card;
    let provider = card.provider.as_ref();
    if provider.is_none() {
        findings.add(&PROVIDER, "/provider", "the card names no provider");
    }
    for (pointer, link) in [
        ("/provider/url", provider.map_or("", |provider| &provider.url)),
        ("/documentationUrl", card.documentation_url()),
        ("/iconUrl", card.icon_url()),
    ] {
        let is_url = |text: &str| {
            parse_url(text).is_ok_and(|url| matches!(url.scheme_str(), Some("http" | "https")))
        };
        let is_icon = pointer == "/iconUrl" && link.starts_with("data:image/");
        if !link.is_empty() && !is_icon && !is_url(link) {
            findings.add(&LINK, pointer, format!("{} is not a URL", quote(link)));
        }
    }
}

fn length(text: Text<'_>, findings: &mut Findings) {
    let limit = match text.member {
        "name" => 100,
        "examples" => 1_000,
        "description" => 2_000,
        _ => return,
    };
    let length = text.text.chars().count();
    if length > limit {
        let message = format!("{} has {length} characters (limit {limit})", text.member);
        findings.add(&LONG, text.pointer, message);
    }
}

fn markup(Text { pointer, text, .. }: Text<'_>, findings: &mut Findings) {
    if let Cow::Owned(visible) = without_comments(text) {
        let message = format!("HTML comment in {}", quote(text));
        findings.add_with_edit(&COMMENT, pointer, message, Edit::Replace(visible));
    } else if let Some(what) = hidden_element(text) {
        findings.add(&COMMENT, pointer, format!("{what} in {}", quote(text)));
    }
}

/// Removes HTML comments; an unclosed one ends with the text.
fn without_comments(text: &str) -> Cow<'_, str> {
    let Some((before, mut rest)) = text.split_once("<!--") else { return Cow::Borrowed(text) };
    let mut visible = before.to_owned();
    loop {
        let after = rest.split_once("-->").map_or("", |(_, after)| after);
        let Some((between, next)) = after.split_once("<!--") else {
            visible.push_str(after);
            return Cow::Owned(visible);
        };
        visible.push_str(between);
        rest = next;
    }
}

/// Ways to hide an element of HTML or Markdown.
fn hidden_element(text: &str) -> Option<&'static str> {
    let is_line = |line: &str| line.trim_start().to_ascii_lowercase().starts_with("[//]:");
    if text.lines().any(is_line) {
        return Some("Markdown comment");
    }
    if !text.contains('<') {
        return None;
    }
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = plain.to_ascii_lowercase();
    [
        ("display:none", "element with display:none"),
        ("visibility:hidden", "element with visibility:hidden"),
        ("font-size:0", "element with font-size:0"),
        ("opacity:0;", "element with opacity:0"),
        ("<script", "script"),
        ("<template", "template element"),
        ("hidden>", "hidden element"),
    ]
    .into_iter()
    .find_map(|(mark, name)| plain.contains(mark).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_removed_and_other_text_is_kept() {
        for (text, expected) in [
            ("a<!-- b -->c", "ac"),
            ("a<!-- b --><!-- c -->d<!-- e", "ad"),
            ("<!--a-->", ""),
            ("a -> b <- c", "a -> b <- c"),
        ] {
            assert_eq!(without_comments(text), expected, "{text}");
        }
    }

    #[test]
    fn hidden_elements_are_found_with_any_spacing() {
        for text in [
            "<span style=\"display : none\">x</span>",
            "<p hidden>x</p>",
            "[//]: # (x)",
            "<SCRIPT>x</SCRIPT>",
        ] {
            assert!(hidden_element(text).is_some(), "{text}");
        }
        assert_eq!(
            hidden_element("use <b>bold</b>, and display: none in CSS <"),
            Some("element with display:none")
        );
        assert_eq!(hidden_element("1 < 2 and display: block"), None);
    }
}
