//! Links between pages, and from pages to files.

use std::{collections::BTreeMap, path::Path};

use super::page::Page;

/// Every link of `pages` that leads nowhere below `root`.
pub(super) fn faults(root: &Path, pages: &BTreeMap<String, Page>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, page) in pages {
        for link in &page.links {
            if let Err(reason) = check(root, pages, name, &link.target) {
                faults.push(format!("{name}:{}: {}: {reason}", link.line, link.target));
            }
        }
    }
    faults
}

fn check(
    root: &Path,
    pages: &BTreeMap<String, Page>,
    page: &str,
    target: &str,
) -> Result<(), &'static str> {
    if is_external(target) {
        let host = target.split("//").nth(1).unwrap_or_default();
        let is_address = host.contains('.') || host.starts_with("localhost");
        return if is_address && !target.contains(' ') { Ok(()) } else { Err("not an address") };
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let name = if path.is_empty() { page.to_owned() } else { resolve(page, path) };
    if !root.join(&name).exists() {
        return Err("no such file");
    }
    match pages.get(&name) {
        Some(page) if !anchor.is_empty() && !page.anchors.contains(anchor) => {
            Err("no such heading")
        }
        None if !anchor.is_empty() => Err("only pages have headings"),
        _ => Ok(()),
    }
}

/// Whether a link leads out of the repository.
pub(super) fn is_external(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// The path of a link below the root, for a link on `page`.
pub(super) fn resolve(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The path that leads from the page `from` to the file `to`, both below the same folder.
pub(super) fn relative(from: &str, to: &str) -> String {
    let mut base: Vec<&str> = from.split('/').collect();
    base.pop();
    let to: Vec<&str> = to.split('/').collect();
    let same = base.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", base.len() - same);
    up.chain(to[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_and_made_relative() {
        assert_eq!(resolve("docs/guide/a.md", "../b.md"), "docs/b.md");
        assert_eq!(resolve("README.md", "docs/"), "docs");
        assert_eq!(relative("guide/a.md", "b.md"), "../b.md");
        assert_eq!(relative("guide/a.md", "guide/b.md"), "b.md");
    }

    #[test]
    fn dead_links_are_found() {
        let text =
            "# Top\n[a](#top) [b](#gone) [c](gone.md) [d](https://) [e](https://a.example)\n";
        let page = Page::parse("page.md", text).expect("a page");
        let root = tempfile::tempdir().expect("a folder");
        std::fs::write(root.path().join("page.md"), text).expect("a file");
        let pages = BTreeMap::from([("page.md".to_owned(), page)]);
        let expected = [
            "page.md:2: #gone: no such heading",
            "page.md:2: gone.md: no such file",
            "page.md:2: https://: not an address",
        ];
        assert_eq!(faults(root.path(), &pages), expected);
    }
}
