//! `docs/commands.md` is the help of every command.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path};

use crate::common::{Run, command};

/// The heading of the first group of global options.
const GLOBAL: &str = "Agent:";

/// The heading of the first group of settings of `a2a serve`, which have a page of their own.
const SETTINGS: &str = "Address and protocol:";

const INTRODUCTION: &str = "# Command reference

<!-- page tested by: crates/a2a-kit-cli/tests/client/command_reference.rs -->

What `a2a <command> --help` prints, without the [global options](command-line.md#global-options).
";

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

#[test]
fn command_reference_is_the_help_of_every_command() {
    let commands = commands();
    assert!(commands.contains_key("send"), "{:?}", commands.keys());
    let mut reference = INTRODUCTION.to_owned();
    for (name, help) in commands {
        let own = help.lines().take_while(|line| ![GLOBAL, SETTINGS].contains(line));
        let own = own.map(str::trim_end).collect::<Vec<_>>().join("\n");
        let _ = write!(reference, "\n## a2a {name}\n\n```text\n{}\n```\n", own.trim_end());
        if help.lines().any(|line| line == SETTINGS) {
            reference += "\nThe other flags are in [settings](settings.md).\n";
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    if env::var_os("BLESS").is_some() {
        fs::write(page, reference).unwrap();
        return;
    }
    let current = fs::read_to_string(page).unwrap();
    let differ = current.lines().zip(reference.lines()).find(|(old, new)| old != new);
    assert!(
        current == reference,
        "docs/commands.md differs at {differ:?}: run `BLESS=1 cargo test -p a2a-kit-cli --test \
         client command_reference`"
    );
}
