//! A new proto with the comments of another one, by name.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use crate::{Result, schema::proto::Proto};

/// A merged proto.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) text: String,
    pub(super) comments: Comments,
}

/// What is left to do about comments.
#[derive(Debug, Serialize)]
pub(super) struct Comments {
    /// New items, with the comment of the new proto.
    pub(super) to_write: Vec<String>,
    /// Items that are gone, with their comment.
    pub(super) dropped: Vec<String>,
}

/// An item of a proto.
struct Item {
    /// The line that it begins in, from 0.
    line: usize,
    comment: Option<String>,
}

/// Returns the declarations of `new` with the comments of `old`.
///
/// Comments before `syntax` are those of `old`. New items keep their own comment; other comments of
/// `new` are dropped.
pub(super) fn merge(old: &str, new: &str, include: &Path) -> Result<Merged> {
    let before = items(&Proto::parse(old.to_owned(), include)?)?;
    let after = items(&Proto::parse(new.to_owned(), include)?)?;
    let mut to_write = Vec::new();
    let mut comments = BTreeMap::<usize, Vec<&str>>::new();
    for (name, item) in &after {
        let comment = match before.get(name) {
            Some(before) => before.comment.as_deref(),
            None => {
                to_write.push(name.clone());
                item.comment.as_deref()
            }
        };
        comments.entry(item.line).or_default().extend(comment);
    }
    let gone =
        before.iter().filter(|(name, item)| item.comment.is_some() && !after.contains_key(*name));
    let dropped = gone.map(|(name, _)| name.clone()).collect();

    let begin = |text: &str| {
        let lines: Vec<_> = without_comments(text);
        let syntax = lines.iter().position(|line| line.starts_with("syntax"));
        syntax.ok_or("a proto without `syntax`").map(|syntax| (syntax, lines))
    };
    let (header, _) = begin(old)?;
    let mut text: Vec<String> = old.lines().take(header).map(str::to_owned).collect();
    let (syntax, lines) = begin(new)?;
    let commented: Vec<bool> =
        lines.iter().zip(new.lines()).map(|(code, line)| code.trim() != line.trim()).collect();
    for (index, code) in lines.iter().enumerate().skip(syntax) {
        let indent = &code[..code.len() - code.trim_start().len()];
        for comment in comments.get(&index).into_iter().flatten() {
            if text.last().is_some_and(|last| !last.is_empty() && !last.ends_with('{')) {
                text.push(String::new());
            }
            let lines = comment.lines().map(|line| format!("{indent}//{line}"));
            text.extend(lines.map(|line| line.trim_end().to_owned()));
        }
        let is_blank = code.trim().is_empty();
        let after_blank = text.last().is_some_and(|last| last.is_empty() || last.ends_with('{'));
        // Of a line with a comment alone, nothing is left.
        if !is_blank || !(commented[index] || after_blank) {
            text.push(code.trim_end().to_owned());
        }
    }
    let text = text.join("\n").trim_end().to_owned() + "\n";
    Ok(Merged { text, comments: Comments { to_write, dropped } })
}

/// The items of a proto by their full names.
fn items(proto: &Proto) -> Result<BTreeMap<String, Item>> {
    let mut names = BTreeMap::<Vec<i32>, String>::new();
    let mut add = |path: &[i32], name: &str| {
        names.insert(path.to_vec(), name.to_owned());
    };
    for message in proto.messages() {
        add(message.path(), message.full_name());
        message.fields().for_each(|field| add(field.path(), field.full_name()));
        message.oneofs().for_each(|oneof| add(oneof.path(), oneof.full_name()));
    }
    for item in proto.enums() {
        add(item.path(), item.full_name());
        // The full name of a value is in the scope around its enum.
        let scope = item.full_name();
        item.values().for_each(|value| add(value.path(), &format!("{scope}.{}", value.name())));
    }
    let service = proto.service()?;
    add(service.path(), service.full_name());
    service.methods().for_each(|method| add(method.path(), method.full_name()));

    let file = proto.file()?;
    let locations = file.file_descriptor_proto().source_code_info.iter();
    let items = locations.flat_map(|info| &info.location).filter_map(|location| {
        let line = usize::try_from(*location.span.first()?).ok()?;
        let comment = location.leading_comments.clone();
        names.get(&location.path).map(|name| (name.clone(), Item { line, comment }))
    });
    Ok(items.collect())
}

/// The lines of a proto without comments.
fn without_comments(text: &str) -> Vec<String> {
    let mut code = String::new();
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter, letters.peek()) {
            (None, '/', Some('/')) => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                continue;
            }
            (None, '/', Some('*')) => {
                let mut last = ' ';
                letters.next();
                for letter in letters.by_ref() {
                    if letter == '\n' {
                        code.push('\n');
                    }
                    if last == '*' && letter == '/' {
                        break;
                    }
                    last = letter;
                }
                continue;
            }
            (None, '"' | '\'', _) => quote = Some(letter),
            (Some(open), _, _) if open == letter => quote = None,
            (Some(_), '\\', _) => {
                code.push(letter);
                code.extend(letters.next());
                continue;
            }
            _ => {}
        }
        code.push(letter);
    }
    code.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schema::proto::FILE, workspace};

    #[test]
    fn proto_of_the_repository_stays_as_it_is() {
        let include = workspace::root().join("proto");
        let text = workspace::read(&include.join(FILE)).unwrap();
        let merged = merge(&text, &text, &include).unwrap();
        assert_eq!(merged.text, text);
        let released = without_comments(&text).join("\n").replace("\n\n", "\n");
        let merged = merge(&text, &released, &include).unwrap();
        let comments = |text: &str| text.matches("//").count();
        assert_eq!(comments(&merged.text), comments(&text));
        assert!(merged.comments.to_write.is_empty() && merged.comments.dropped.is_empty());
    }

    #[test]
    fn comments_are_kept_by_name() {
        let include = workspace::root().join("proto");
        let proto = |items: &str| {
            format!(
                "syntax = \"proto3\";\n\npackage lf.a2a.v1;\n\n\
                 import \"google/api/annotations.proto\";\n\
                 import \"google/api/field_behavior.proto\";\n\n\
                 service S {{}}\n\n{items}"
            )
        };
        let old = format!(
            "// Our file.\n\n{}",
            proto(
                "// Our thing.\nmessage Thing {\n  // Our a.\n  //\n  // More.\n  string a = 1;\n\n\
                 \x20 // Our b.\n  string b = 2;\n}\n"
            )
        );
        let new = format!(
            "/* Their\n   license. */\n{}",
            proto(
                "// Their thing.\nmessage Thing {\n  // Their c, the \"new\" one.\n  string c = 3; // c\n\
                 \x20 /* Their a. */\n  string a = 1 [json_name = \"//a\"];\n}\n\n\
                 // Their color.\nenum Color {\n  NONE = 0;\n}\n"
            )
        );
        let merged = merge(&old, &new, &include).unwrap();
        let expected = format!(
            "// Our file.\n\n{}",
            proto(
                "// Our thing.\nmessage Thing {\n  // Their c, the \"new\" one.\n  string c = 3;\n\n\
                 \x20 // Our a.\n  //\n  // More.\n  string a = 1 [json_name = \"//a\"];\n}\n\n\
                 // Their color.\nenum Color {\n  NONE = 0;\n}\n"
            )
        );
        assert_eq!(merged.text, expected);
        let names = ["Color", "Color.NONE", "Thing.c"].map(|name| format!("lf.a2a.v1.{name}"));
        assert_eq!(merged.comments.to_write, names);
        assert_eq!(merged.comments.dropped, ["lf.a2a.v1.Thing.b"]);
    }
}
