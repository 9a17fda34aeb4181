//! How each block is checked. A block that nothing checks is a fault.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use saphyr::LoadableYamlNode as _;

use super::page::{Block, Directive, Page};
use crate::{Result, workspace};

/// The crate that has the chapters as documentation, so that rustdoc tests them.
const DOCTESTS: &str = "tests/book/src/lib.rs";

/// The number of blocks by how they are checked.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Rust, compiled and (without `no_run`) run by `cargo test --doc -p a2a-book`.
    pub(super) compiled: usize,
    /// Commands, run against real servers.
    pub(super) run: usize,
    /// Output, compared with that of the command before it.
    pub(super) compared: usize,
    /// TOML, JSON and YAML, parsed.
    pub(super) parsed: usize,
    /// Checked by other tests.
    pub(super) elsewhere: usize,
    /// Blocks that can't be run here, with their places and reasons.
    pub(super) not_run: Vec<String>,
}

/// Checks the blocks of a page that need no server, and counts all of them.
pub(super) fn check(page: &Page, tally: &mut Tally) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let doctests = workspace::read(&workspace::root().join(DOCTESTS))?;
    let chapter = page.name.strip_prefix("docs/").unwrap_or(&page.name);
    let is_doctested = doctests.contains(&format!("\"{chapter}\""));
    if let Some(file) = &page.tested_by {
        tally.elsewhere += page.blocks().count();
        return Ok(names(file, page).err().into_iter().collect());
    }
    let mut has_output = false;
    for block in page.blocks() {
        let at = format!("{}:{}", page.name, block.line);
        let done = match (&block.directive, block.language.as_str()) {
            (Some(Directive::NotRun(reason)), _) => {
                tally.not_run.push(format!("{at}: {reason}"));
                has_output = false;
                not_run(block)
            }
            (Some(Directive::TestedBy(file)), _) => {
                tally.elsewhere += 1;
                names(file, page)
            }
            (_, "rust") if block.attributes.iter().any(|word| word == "ignore") => {
                Err("rust that is ignored needs `<!-- not run: reason -->`".to_owned())
            }
            (_, "rust") if !is_doctested => Err(format!("{DOCTESTS} does not have {chapter}")),
            (_, "rust") => {
                tally.compiled += 1;
                Ok(())
            }
            (_, "sh") => {
                tally.run += 1;
                has_output = true;
                syntax(&block.text)
            }
            (_, "text") if has_output => {
                tally.compared += 1;
                Ok(())
            }
            (_, "toml" | "json" | "yaml") => {
                tally.parsed += 1;
                parse(&block.language, &block.text)
            }
            (Some(Directive::File(_)), _) => {
                tally.run += 1;
                Ok(())
            }
            (_, language) => Err(format!("nothing checks this block of {language:?}")),
        };
        faults.extend(done.err().map(|error| format!("{at}: {error}")));
    }
    Ok(faults)
}

/// Whether commands of the page have to be run.
pub(super) fn has_commands(page: &Page) -> bool {
    let is_settings = |block: &Block| block.directive == Some(Directive::Settings);
    page.tested_by.is_none() && page.blocks().any(|block| is_run(block) || is_settings(block))
}

/// Whether a block is commands that are run.
pub(super) fn is_run(block: &Block) -> bool {
    block.language == "sh" && !matches!(block.directive, Some(Directive::NotRun(_)))
}

/// The other test has to name the page, so that a change of either finds the other.
fn names(file: &str, page: &Page) -> Result<(), String> {
    let path = workspace::root().join(file);
    let own = page.name.rsplit('/').next().unwrap_or_default();
    let text = fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    if text.contains(own) { Ok(()) } else { Err(format!("{file} does not name {own}")) }
}

/// What is not run is still read by a parser, if there is one.
fn not_run(block: &Block) -> Result<(), String> {
    match block.language.as_str() {
        "sh" => syntax(&block.text),
        language @ ("toml" | "json" | "yaml") => parse(language, &block.text),
        _ => Ok(()),
    }
}

fn syntax(script: &str) -> Result<(), String> {
    let output = Command::new("bash")
        .args(["-n", "-c", script])
        .output()
        .map_err(|error| format!("bash: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn parse(language: &str, text: &str) -> Result<(), String> {
    match language {
        "toml" => toml::from_str::<toml::Table>(text).map(drop).map_err(|e| e.to_string()),
        "json" => serde_json::Deserializer::from_str(text)
            .into_iter::<serde_json::Value>()
            .try_for_each(|value| value.map(drop))
            .map_err(|error| error.to_string()),
        _ => saphyr::Yaml::load_from_str(text).map(drop).map_err(|error| error.to_string()),
    }
}

/// Checks the settings of a page with the program that reads them.
pub(super) fn check_settings(page: &Page, programs: &Path) -> Result {
    let settings = page.blocks().filter(|block| block.directive == Some(Directive::Settings));
    for block in settings {
        let file = tempfile(&block.text)?;
        let output = Command::new(programs.join("a2a"))
            .args(["serve", "--print-settings", "--settings"])
            .arg(&file)
            .output();
        fs::remove_file(&file)?;
        let output = output?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("{}:{}: {error}", page.name, block.line).into());
        }
    }
    Ok(())
}

fn tempfile(text: &str) -> Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(format!("a2a-book-{}.toml", std::process::id()));
    fs::write(&path, text)?;
    Ok(path)
}

/// Every file that the doctests include and that is no chapter.
pub(super) fn unknown_doctests(chapters: &BTreeSet<String>) -> Result<Vec<String>> {
    let doctests = workspace::read(&workspace::root().join(DOCTESTS))?;
    let included = doctests.split('"').skip(1).step_by(2).filter(|text| text.ends_with(".md"));
    let unknown = included.filter(|page| !chapters.contains(&format!("docs/{page}")));
    Ok(unknown.map(|page| format!("{DOCTESTS}: {page} is no chapter")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_parsed_by_its_language() {
        assert!(parse("json", "{\"a\":1}\n{\"b\":2}\n").is_ok());
        assert!(parse("json", "{a: 1}").is_err());
        assert!(parse("toml", "a = 1").is_ok());
        assert!(parse("yaml", "a: [1, 2]\n---\nb: 1\n").is_ok());
        assert!(parse("yaml", "a: [1, 2").is_err());
        assert!(syntax("for x in a; do").is_err());
    }
}
