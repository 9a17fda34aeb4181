//! The book as HTML, by mdBook.
//!
//! mdBook renders the files below `docs/` that `SUMMARY.md` lists, and knows no others. A copy of
//! the folder is therefore built, in which files of the repository that chapters link to, such as
//! examples, are pages too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{links, page::Page};
use crate::{Result, workspace};

/// The version that is installed.
const VERSION: &str = "0.5.4";

/// The pages of files outside of `docs/`.
const OUTSIDE: &str = "repository";

/// The path of mdBook, if it is on the `PATH` or was installed here.
pub(super) fn find() -> Option<PathBuf> {
    let runs = |path: &Path| {
        let output = Command::new(path).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    ["mdbook".into(), tools().join("bin/mdbook")].into_iter().find(|path| runs(path))
}

/// Installs mdBook into `target/tools`, without optimizations: it runs for seconds.
pub(super) fn install() -> Result<PathBuf> {
    println!("=== MDBOOK IS MISSING: installing version {VERSION}, which takes some minutes");
    let mut install = workspace::cargo();
    install.args(["install", "--locked", "--debug", "mdbook", "--version", VERSION, "--root"]);
    install.arg(tools()).env("CARGO_PROFILE_DEV_DEBUG", "0");
    install.env("CARGO_TARGET_DIR", tools().join("build"));
    if install.status()?.success() {
        return Ok(tools().join("bin/mdbook"));
    }
    Err(format!("mdbook {VERSION} could not be installed").into())
}

fn tools() -> PathBuf {
    workspace::root().join("target/tools")
}

/// Copies the pages into a folder that mdBook can build, and returns it.
pub(super) fn copy(chapters: &BTreeSet<String>, pages: &BTreeMap<String, Page>) -> Result<PathBuf> {
    let root = workspace::root();
    let copy = root.join("target/book-source");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let outside = outside(chapters, pages);
    for path in workspace::files(&root.join("docs"))? {
        let name = workspace::relative(&path);
        if !name.ends_with(".md") {
            write(&copy.join(name.trim_start_matches("docs/")), fs::read(&path)?)?;
        }
    }
    for name in chapters.iter().chain(&outside) {
        let text = workspace::read(&root.join(name))?;
        let text = match pages.get(name) {
            Some(page) => rewrite(page, &text, chapters, &outside),
            None => listing(name, &text),
        };
        write(&copy.join(destination(name)), text)?;
    }
    let mut summary = workspace::read(&root.join("docs/SUMMARY.md"))?;
    let _ = writeln!(summary, "- [Files of the repository]({OUTSIDE}/README.md)");
    for name in &outside {
        let _ = writeln!(summary, "  - [{name}]({})", destination(name));
    }
    write(&copy.join("SUMMARY.md"), summary)?;
    let index = "# Files of the repository\n\nFiles outside of this book that it links to.\n";
    write(&copy.join(OUTSIDE).join("README.md"), index)?;
    Ok(copy)
}

/// The files outside of `docs/` that chapters link to.
fn outside(chapters: &BTreeSet<String>, pages: &BTreeMap<String, Page>) -> BTreeSet<String> {
    let root = workspace::root();
    let links = chapters.iter().filter_map(|name| pages.get(name)).flat_map(|page| {
        let internal = page.links.iter().filter(|link| !links::is_external(&link.target));
        internal.map(|link| links::resolve(&page.name, path(&link.target)))
    });
    links.filter(|name| !name.starts_with("docs/") && root.join(name).is_file()).collect()
}

fn path(target: &str) -> &str {
    target.split('#').next().unwrap_or_default()
}

/// Where a file is in the book.
fn destination(name: &str) -> String {
    match name.strip_prefix("docs/") {
        Some(inside) => inside.to_owned(),
        None if name == "README.md" => format!("{OUTSIDE}/root.md"),
        None if name.ends_with(".md") => format!("{OUTSIDE}/{name}"),
        None => format!("{OUTSIDE}/{name}.md"),
    }
}

/// The text of a page, with links to where the files are in the book. A link to a file that is
/// not in it becomes text.
fn rewrite(
    page: &Page,
    text: &str,
    chapters: &BTreeSet<String>,
    outside: &BTreeSet<String>,
) -> String {
    let mut rewritten = text.to_owned();
    // From the end, so that the ranges of the others stay valid.
    for link in page.links.iter().rev() {
        let (file, anchor) = link.target.split_at(path(&link.target).len());
        if links::is_external(&link.target) || file.is_empty() {
            continue;
        }
        let name = links::resolve(&page.name, file);
        let source = &text[link.range.clone()];
        let is_page = chapters.contains(&name) || outside.contains(&name);
        let replacement = if is_page || name.starts_with("docs/") {
            let to = links::relative(&destination(&page.name), &destination(&name));
            let at = source.rfind(&link.target).unwrap_or(source.len());
            format!("{}{to}{anchor}{}", &source[..at], &source[at + link.target.len()..])
        } else {
            let label = source.trim_start_matches('[').split("](").next().unwrap_or_default();
            label.to_owned()
        };
        rewritten.replace_range(link.range.clone(), &replacement);
    }
    rewritten
}

/// A page that shows a file.
fn listing(name: &str, text: &str) -> String {
    let language = match name.rsplit('.').next() {
        Some("rs") => "rust",
        Some("toml") => "toml",
        Some("proto") => "proto",
        _ => "text",
    };
    format!("# {name}\n\n````{language}\n{text}````\n")
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

/// Runs mdBook, and returns the folder with the HTML.
pub(super) fn build(mdbook: &Path, source: &Path) -> Result<PathBuf> {
    let output = workspace::root().join("target/book");
    let mut command = Command::new(mdbook);
    command.arg("build").arg(source).arg("--dest-dir").arg(&output);
    if command.status()?.success() { Ok(output) } else { Err("mdbook failed".into()) }
}

/// Every dead link in the HTML, and every script, style, font or image of another site.
pub(super) fn faults(folder: &Path) -> Result<Vec<String>> {
    let mut documents = BTreeMap::new();
    let mut faults = Vec::new();
    for path in workspace::files(folder)? {
        let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if name.ends_with(".css") && text.contains("url(http") {
            faults.push(format!("{name}: a resource of another site"));
        }
        // These two repeat other pages: for printing, and for addresses that don't exist.
        if name.ends_with(".html") && name != "print.html" && name != "404.html" {
            documents.insert(name, text);
        }
    }
    let ids: BTreeMap<&str, BTreeSet<&str>> = documents
        .iter()
        .map(|(name, text)| (name.as_str(), attributes(text, "id").map(|(_, id)| id).collect()))
        .collect();
    for (name, text) in &documents {
        let references = attributes(text, "href").chain(attributes(text, "src"));
        for (tag, target) in references {
            if links::is_external(target) {
                if tag != "a" {
                    faults.push(format!("{name}: {target}: a resource of another site"));
                }
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { name.clone() } else { links::resolve(name, file) };
            let has_anchor = ids.get(file.as_str()).is_none_or(|ids| ids.contains(anchor));
            if !folder.join(&file).exists() || !anchor.is_empty() && !has_anchor {
                faults.push(format!("{name}: {target}: dead link"));
            }
        }
    }
    Ok(faults)
}

/// The values of an attribute, each with the name of its tag.
fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pattern = format!(" {name}=\"");
    html.split('<').filter_map(move |tag| {
        let start = tag.find(&pattern)? + pattern.len();
        let is_inside = tag.find('>').is_none_or(|end| start < end);
        let value = tag[start..].split('"').next().filter(|_| is_inside)?;
        Some((tag.split_whitespace().next().unwrap_or_default(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_pages_of_the_book() {
        let text = "[a](../crates/x/e.rs) [b](b.md#c) [d](../crates/x) [e](https://a.example)";
        let page = Page::parse("docs/a.md", text).expect("a page");
        let chapters = BTreeSet::from(["docs/a.md".to_owned(), "docs/b.md".to_owned()]);
        let outside = BTreeSet::from(["crates/x/e.rs".to_owned()]);
        let expected = "[a](repository/crates/x/e.rs.md) [b](b.md#c) d [e](https://a.example)";
        assert_eq!(rewrite(&page, text, &chapters, &outside), expected);
    }

    #[test]
    fn dead_links_and_resources_of_other_sites_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let html = "<h1 id=\"top\"><a class=\"x\" href=\"#top\">ok</a><a href=\"#gone\">\
                    <script src=\"https://cdn.example/x.js\"></script><a href=\"b.html\">";
        fs::write(folder.path().join("a.html"), html).expect("a file");
        let expected = [
            "a.html: #gone: dead link",
            "a.html: b.html: dead link",
            "a.html: https://cdn.example/x.js: a resource of another site",
        ];
        assert_eq!(faults(folder.path()).expect("faults"), expected);
    }
}
