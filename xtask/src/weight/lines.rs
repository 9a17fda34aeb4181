//! Counts the lines of Rust of each crate.
//!
//! Production is `src` and the build script, without the modules behind `#[cfg(test)]`; tests are these
//! modules and the other folders of the crate. Comments and empty lines count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::table::Lines;
use crate::{Result, workspace};

/// Files of this many lines or fewer are counted apart: many of them hide what belongs together.
const SMALL: usize = 50;
/// The crate whose library is a test suite.
const TEST_CRATE: &str = "a2a-kit-store-testing";

/// Counts the lines of the crates of the product.
pub(super) fn count() -> Result<Vec<Lines>> {
    let crates = workspace::root().join("crates");
    let mut texts: BTreeMap<String, BTreeMap<PathBuf, String>> = BTreeMap::new();
    for path in workspace::files(&crates)? {
        let mut below = path.strip_prefix(&crates)?.iter();
        if let (Some(name), Some("rs")) = (below.next(), path.extension().and_then(|e| e.to_str()))
        {
            let files = texts.entry(name.to_string_lossy().into_owned()).or_default();
            files.insert(below.collect(), workspace::read(&path)?);
        }
    }
    Ok(texts.into_iter().map(|(name, files)| of_crate(name, &files)).collect())
}

/// Counts the files of a crate, by their paths in it.
fn of_crate(name: String, files: &BTreeMap<PathBuf, String>) -> Lines {
    let test_modules: BTreeSet<PathBuf> =
        files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let mut lines = Lines { name, production: 0, tests: 0, small_files: 0 };
    for (path, text) in files {
        let is_built = path.starts_with("src") || path.starts_with("build");
        let is_built = is_built || path.as_os_str() == "build.rs";
        let is_test = path.ancestors().any(|part| test_modules.contains(&part.with_extension("")));
        let total = text.lines().count();
        let production = match is_built && !is_test && lines.name != TEST_CRATE {
            true => total - lines_of_tests(text),
            false => 0,
        };
        lines.production += production;
        lines.tests += total - production;
        lines.small_files += usize::from(production > 0 && total <= SMALL);
    }
    lines
}

/// The modules that a file declares for tests only, as paths without an extension.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => path.parent().map(Path::to_path_buf).unwrap_or_default(),
        _ => path.with_extension(""),
    };
    let pairs = text.lines().zip(text.lines().skip(1));
    let declared = pairs.filter(|(attribute, _)| *attribute == "#[cfg(test)]");
    let names = declared.filter_map(|(_, line)| line.split_once("mod ")?.1.strip_suffix(';'));
    names.map(|name| folder.join(name)).collect()
}

/// The number of lines in modules that only tests compile: from `#[cfg(test)]` before a module to the
/// brace that closes it, at the left margin as rustfmt writes it.
fn lines_of_tests(text: &str) -> usize {
    let mut counted = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" && !line.starts_with("#[cfg(all(test,") {
            continue;
        }
        let mut item = 1;
        while lines.peek().is_some_and(|next| next.starts_with("#[")) {
            item += 1;
            lines.next();
        }
        if !lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
            continue;
        }
        for line in lines.by_ref() {
            item += 1;
            if line == "}" {
                break;
            }
        }
        counted += item;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_are_cut_off() {
        let text = "fn a() {}\n\n#[cfg(test)]\nfn b() {}\n\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    \
                    fn c() {}\n}\n\nfn d() {}\n";
        assert_eq!(lines_of_tests(text), 5);
        assert_eq!(lines_of_tests("#[cfg(test)]\nmod tests;\n"), 0);
    }

    #[test]
    fn test_files_are_recognized_by_their_declarations() {
        let files = [
            ("src/lib.rs", "mod a;\n#[cfg(test)]\nmod b;\n"),
            ("src/a.rs", "fn a() {}\n#[cfg(test)]\nmod model;\n"),
            ("src/a/model.rs", "fn b() {}\n"),
            ("src/b/mod.rs", "mod model;\n"),
            ("src/b/model.rs", "fn c() {}\n"),
            ("src/model.rs", "fn d() {}\n"),
            ("build/json.rs", "fn e() {}\n"),
            ("tests/f.rs", "fn f() {}\n"),
        ];
        let files = files.map(|(path, text)| (path.into(), text.to_owned()));
        let Lines { production, tests, small_files, .. } =
            of_crate("a".to_owned(), &BTreeMap::from(files));
        assert_eq!((production, tests, small_files), (8, 4, 4));
    }
}
