//! The pages in `docs/commands` quote the help of every command.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{Run, command};

/// The heading of the first group of global options.
const GLOBAL: &str = "Agent:";

const BLESS: &str = "run `BLESS=1 cargo xtask book --check --only commands/`";

fn help(path: &[String]) -> String {
    let run = Run::of(command().args(path).arg("--help"));
    assert_eq!(run.code, 0, "{path:?}: {run:?}");
    run.stdout
}

/// Returns the subcommands in a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // Continued descriptions are indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// Returns the help of every command without subcommands, by the words of the command.
fn commands() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let help = help(&path);
        let children = subcommands(&help);
        if children.is_empty() {
            found.insert(path.join(" "), help);
        }
        paths.extend(children.into_iter().map(|child| [&path[..], &[child]].concat()));
    }
    found
}

/// Returns the quoted help in the pages, by the words of the command.
fn quoted() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    let mut quoted = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for piece in text.split("```sh\na2a ").skip(1) {
            let Some((name, rest)) = piece.split_once(" --help\n```\n\n```text\n") else {
                continue;
            };
            if !name.contains('\n') {
                let help = rest.split("\n```").next().unwrap_or_default();
                quoted.insert(name.to_owned(), help.to_owned());
            }
        }
    }
    quoted
}

#[test]
fn every_command_has_a_page_with_its_current_help() {
    let quoted = quoted();
    for (name, help) in commands() {
        let own = help.lines().take_while(|line| *line != GLOBAL).map(str::trim_end);
        let expected = own.chain([GLOBAL, "…"]);
        let page = quoted
            .get(&name)
            .unwrap_or_else(|| panic!("docs/commands has no page that quotes `a2a {name} --help`"));
        if let Some((old, new)) = page.lines().zip(expected.clone()).find(|(old, new)| old != new) {
            panic!("the help of `a2a {name}` has changed from {old:?} to {new:?}: {BLESS}");
        }
        assert_eq!(page.lines().count(), expected.count(), "the help of `a2a {name}`: {BLESS}");
    }
    assert!(quoted.contains_key("send"), "{:?}", quoted.keys());
}
