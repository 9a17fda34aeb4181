//! Finds `// covers: R-018, R-019` above tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::requirement::is_id;
use crate::{Result, workspace};

/// The folders with tests.
const FOLDERS: [&str; 2] = ["crates", "tests"];

/// The tags in the sources.
#[derive(Default)]
pub(super) struct Found {
    /// The tests of each id: `path::name`.
    pub(super) tests: BTreeMap<String, BTreeSet<String>>,
    /// Invalid tags, and tags that are not above a test.
    pub(super) mistakes: Vec<String>,
}

/// The comment forms of a language, and how its tests are recognized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    /// A driver of the interop matrix.
    Script,
}

/// Reads every test source below `root`.
pub(super) fn find(root: &Path) -> Result<Found> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        for path in workspace::files(&root.join(folder))? {
            let language = match path.extension().and_then(|extension| extension.to_str()) {
                Some("rs") => Language::Rust,
                Some("py" | "mjs" | "js" | "ts") => Language::Script,
                _ => continue,
            };
            sources.push((workspace::relative(&path), language, workspace::read(&path)?));
        }
    }
    let all: String = sources.iter().map(|(_, _, text)| text.as_str()).collect();
    let mut found = Found::default();
    for (path, language, text) in &sources {
        // A test of a suite has no attribute: its name is passed to a macro.
        let is_in_suite = path.starts_with("tests/") || path.contains("-testing/");
        let is_named_elsewhere = |name: &str| is_in_suite && mentions(&all, name) > 1;
        found.scan(path, *language, text, &is_named_elsewhere);
    }
    Ok(found)
}

impl Found {
    fn scan(
        &mut self,
        path: &str,
        language: Language,
        text: &str,
        is_named_elsewhere: &dyn Fn(&str) -> bool,
    ) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            let comment = line.strip_prefix("//").or_else(|| line.strip_prefix('#'));
            let Some(ids) = comment.and_then(|text| text.trim().strip_prefix("covers:")) else {
                continue;
            };
            let place = format!("{path}:{}", index + 1);
            let name = match language {
                Language::Rust => rust_test(&lines, index, is_named_elsewhere),
                Language::Script => Some(script_test(&lines[index..])),
            };
            let Some(name) = name else {
                self.mistakes.push(format!("{place}: the tag is not above a test"));
                continue;
            };
            for id in ids.split(',').map(|id| id.trim().trim_end_matches('.')) {
                if is_id(id) {
                    let test =
                        if name.is_empty() { path.to_owned() } else { format!("{path}::{name}") };
                    self.tests.entry(id.to_owned()).or_default().insert(test);
                } else {
                    self.mistakes.push(format!("{place}: invalid id {id:?}"));
                }
            }
        }
    }
}

/// The function below the tag in line `index`, if it is a test.
fn rust_test(
    lines: &[&str],
    index: usize,
    is_named_elsewhere: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let is_between = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
    let above = lines[..index].iter().rev().take_while(is_between);
    let below = lines[index..].iter().take_while(is_between);
    let attributes: Vec<_> = above.chain(below).filter(|line| line.starts_with("#[")).collect();
    let is_test = attributes.iter().any(|attribute| {
        let path = attribute.trim_start_matches("#[");
        let path = path.split([']', '(']).next().unwrap_or_default();
        path == "test" || path.ends_with("::test") || path.ends_with("rstest")
    });
    let declaration = lines[index..].iter().find(|line| !is_between(line))?;
    let (_, after) = declaration.split_once("fn ")?;
    let name = identifier(after);
    (is_test || is_named_elsewhere(&name)).then_some(name)
}

/// The function below the tag, or an empty name if the tag applies to the whole file.
fn script_test(lines: &[&str]) -> String {
    let is_comment = |line: &&&str| line.starts_with("//") || line.starts_with('#');
    let below = lines.iter().find(|line| !is_comment(line)).copied().unwrap_or_default();
    ["def ", "function ", "const "]
        .iter()
        .find_map(|keyword| below.split_once(keyword).map(|(_, after)| identifier(after)))
        .unwrap_or_default()
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// The number of occurrences of the name as a word.
fn mentions(text: &str, name: &str) -> usize {
    let is_word = |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name)
        .filter(|(start, _)| {
            !is_word(text[..*start].chars().next_back())
                && !is_word(text[start + name.len()..].chars().next())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(language: Language, text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let mut found = Found::default();
        found.scan("f", language, text, &|name| mentions(text, name) > 1);
        let pairs = found.tests.into_iter().flat_map(|(id, tests)| {
            tests.into_iter().map(move |test| (id.clone(), test)).collect::<Vec<_>>()
        });
        (pairs.collect(), found.mistakes)
    }

    fn pair(id: &str, test: &str) -> (String, String) {
        (id.to_owned(), test.to_owned())
    }

    #[test]
    fn a_tag_counts_above_a_test_with_other_attributes_and_comments_between() {
        for text in [
            "// covers: R-018, R-019\n#[test]\nfn a_test() {}",
            "#[tokio::test(start_paused = true)]\n// covers: R-018, R-019\nasync fn a_test() {}",
            "/// Why.\n// covers: R-018\n// covers: R-019\n#[tokio::test]\nasync fn a_test() {}",
            "// covers: R-018, R-019\npub async fn a_test(topology: &Topology) {}\ntopologies!(a_test);",
        ] {
            let (tests, mistakes) = scan(Language::Rust, text);
            assert_eq!(tests, [pair("R-018", "f::a_test"), pair("R-019", "f::a_test")], "{text}");
            assert!(mistakes.is_empty(), "{text}: {mistakes:?}");
        }
    }

    #[test]
    fn a_tag_elsewhere_is_a_mistake() {
        for text in [
            "// covers: R-018\nfn helper() {}",
            "// covers: R-018\nstruct Test;",
            "// covers: R-18\n#[test]\nfn a_test() {}",
        ] {
            let (tests, mistakes) = scan(Language::Rust, text);
            assert!(tests.is_empty() && mistakes.len() == 1, "{text}: {tests:?} {mistakes:?}");
        }
    }

    #[test]
    fn a_driver_may_tag_a_function_or_the_whole_file() {
        let (tests, _) = scan(Language::Script, "# covers: R-018\nasync def send(x):");
        assert_eq!(tests, [pair("R-018", "f::send")]);
        let (tests, _) = scan(Language::Script, "// covers: R-018\n\nimport x");
        assert_eq!(tests, [pair("R-018", "f")]);
    }
}
