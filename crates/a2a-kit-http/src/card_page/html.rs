//! Templates that escape what they are filled with.

/// Fills the places of a template: `{{name}}` with the escaped value of `name`, `{{&name}}` with the
/// markup of `&name`.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        out.push_str(before);
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        if name.starts_with('&') {
            out.push_str(value);
        } else {
            escape(&mut out, value);
        }
        rest = after;
    }
    out + rest
}

/// Fills `{{.}}` with each text in turn.
pub(super) fn fill_each(template: &str, texts: &[String]) -> String {
    texts.iter().map(|text| fill(template, &[(".", text)])).collect()
}

/// A section of the page; nothing without items.
pub(super) fn section(title: &str, template: &str, items: &str) -> String {
    if items.is_empty() {
        return String::new();
    }
    let body = fill(template, &[("&items", items)]);
    let values = [("title", title), ("&body", &*body)];
    fill("<section><h2>{{title}}</h2>\n{{&body}}</section>\n", &values)
}

/// A link with this text, or the text alone if the address is no URL of the web.
pub(super) fn link(url: &str, text: &str) -> String {
    let template = match is_web(url) {
        true => "<a href=\"{{url}}\" rel=\"noopener noreferrer nofollow\">{{text}}</a>",
        false => "{{text}}",
    };
    fill(template, &[("url", url), ("text", text)])
}

/// Returns whether a text is a URL of the web that no shell and no language reads as more than a
/// text.
pub(super) fn is_web(url: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!&()*+,;=%".contains(&byte);
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_plain))
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Would stand for something else, or change what stands around it.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}
