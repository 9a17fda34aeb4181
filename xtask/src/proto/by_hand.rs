//! What has to be written by hand after a change, and where.

use std::{collections::BTreeSet, path::Path};

use serde::Serialize;

use super::change::{Action, Change, Subject};
use crate::{Result, workspace};

#[path = "../../../crates/a2a-core/build/descriptor.rs"]
#[allow(dead_code, reason = "used by the generators")]
mod descriptor;

/// A file, and what to write there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) what: String,
}

/// What every change needs.
const ALWAYS: [(&str, &str); 6] = [
    ("CHANGELOG.md", "the change, and how to move"),
    ("crates/a2a-kit-rest/schema", "run `cargo xtask schema`"),
    ("docs/api", "run `cargo xtask api`"),
    ("docs/development/requirements.md", "rows for new rules; then `cargo xtask coverage`"),
    ("docs/wire-format.md", "what differs on the wire"),
    ("tests/wire/descriptor.txt", "the table of fields and values, from the specification"),
];

/// The table of rpcs and the number of REQUIRED members.
const METHODS: &str = "tests/tests/wire/descriptor.rs";
const MAY_BE_EMPTY: &str = "crates/a2a-core/build/may_be_empty.rs";
const PART: [&str; 2] = ["crates/a2a-core/src/part.rs", "crates/a2a-core/build/json.rs"];
const TYPES: &str = "crates/a2a-core/";
const REST: &str = "crates/a2a-kit-rest/";
/// Speaks the older revisions only, whose operations don't change.
const OLDER: &str = "crates/a2a-kit-compat/";
/// An operation to find the files that have code for each one.
const WITNESS: &str = "GetExtendedAgentCard";

/// The source files of the crates.
struct Sources(Vec<(String, String)>);

impl Sources {
    fn read(root: &Path) -> Result<Self> {
        let mut sources = Vec::new();
        for path in workspace::files(&root.join("crates"))? {
            let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            if name.ends_with(".rs") && name.contains("/src/") && !name.contains("/tests") {
                sources.push((name, workspace::read(&path)?));
            }
        }
        Ok(Self(sources))
    }

    /// The files with one of the texts.
    fn with<'a>(&'a self, texts: &'a [String]) -> impl Iterator<Item = &'a str> {
        let has = |source: &str| texts.iter().any(|text| source.contains(text.as_str()));
        self.0.iter().filter(move |(_, source)| has(source)).map(|(name, _)| name.as_str())
    }
}

/// The places to edit below `root`, sorted.
pub(super) fn places(changes: &[Change], root: &Path) -> Result<Vec<Place>> {
    let mut places = BTreeSet::new();
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let sources = Sources::read(root)?;
    let mut add = |file: &str, what: String| {
        places.insert(Place { file: file.to_owned(), what });
    };
    for (file, what) in ALWAYS {
        add(file, what.to_owned());
    }
    for change in changes {
        let owner = change.name.split('.').next().unwrap_or(&change.name);
        let rust = descriptor::rust_type(owner);
        match change.subject {
            Subject::Message | Subject::Enum => {}
            Subject::Field => {
                if owner == "Part" {
                    for file in PART {
                        add(file, "the handwritten JSON form of Part".to_owned());
                    }
                }
                if change.what.contains("REQUIRED") {
                    add(MAY_BE_EMPTY, "REQUIRED members that may be empty".to_owned());
                    add(METHODS, "the number of REQUIRED members".to_owned());
                }
                for file in sources.with(&[format!("impl {rust} {{")]) {
                    add(file, format!("constructors, setters and accessors of {rust}"));
                }
                for file in sources.with(&[format!("{rust} {{")]) {
                    if file.starts_with(OLDER) {
                        add(file, format!("the conversion of {rust} from and to older revisions"));
                    }
                }
            }
            Subject::EnumValue => {
                // The compiler names every `match` that lacks a value.
                for file in sources.with(&[format!("{rust}::")]) {
                    if file.starts_with(TYPES) || file.starts_with(OLDER) {
                        add(file, format!("the decisions about values of {rust}"));
                    }
                }
            }
            Subject::Rpc => {
                add(METHODS, format!("the rpc {}", change.name));
                let is_new = change.action == Action::Added;
                let known = if is_new { WITNESS } else { &*change.name };
                let is_route = change.what.starts_with("route ");
                let names = [format!("Operation::{known}"), format!("{}(", snake(known))];
                for file in sources.with(&names) {
                    let concerned = match is_route {
                        true => file.starts_with(REST),
                        false => !is_new || !file.starts_with(OLDER),
                    };
                    if concerned {
                        add(file, format!("the operation {}", change.name));
                    }
                }
            }
        }
    }
    Ok(places.into_iter().collect())
}

/// The name of the method for an rpc.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(subject: Subject, action: Action, name: &str) -> Change {
        Change {
            subject,
            action,
            name: name.to_owned(),
            what: "became REQUIRED".to_owned(),
            breaks_peers: false,
            breaks_rust: false,
        }
    }

    fn files(change: Change) -> Vec<String> {
        let places = places(&[change], &workspace::root()).unwrap();
        let files: Vec<_> = places.into_iter().map(|place| place.file).collect();
        for file in &files {
            assert!(workspace::root().join(file).exists(), "{file}");
        }
        files
    }

    #[test]
    fn places_of_a_field_are_those_of_its_message() {
        let found = files(change(Subject::Field, Action::Added, "Part.alt_text"));
        for file in [PART[0], PART[1], MAY_BE_EMPTY, METHODS, "docs/development/requirements.md"] {
            assert!(found.iter().any(|found| found == file), "{file}");
        }
        assert!(found.iter().any(|file| file.starts_with(OLDER)), "{found:?}");
        let found = files(change(Subject::Field, Action::Added, "APIKeySecurityScheme.hint"));
        assert!(!found.iter().any(|found| found == PART[0]));
    }

    #[test]
    fn new_rpc_is_added_wherever_other_ones_are() {
        let found = files(change(Subject::Rpc, Action::Added, "PauseTask"));
        for file in [
            "crates/a2a-kit-operations/src/agent.rs",
            "crates/a2a-kit-operations/src/engine/operations/mod.rs",
            "crates/a2a-kit-grpc/src/server/service.rs",
        ] {
            assert!(found.iter().any(|found| found == file), "{file}");
        }
        assert!(!found.iter().any(|file| file.starts_with(OLDER)));
    }
}
