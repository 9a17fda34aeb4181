//! The engine stays such that it can be read: its live task is pure, its structs are small.

use std::{collections::BTreeSet, fs};

use super::cycles::{
    self,
    module::{self, Module},
};
use crate::{Result, workspace};

/// Where the engine is, and where the part of it that waits for nothing.
const CRATE: &str = "crates/a2a-kit-operations/src";
const ENGINE: &str = "crates/a2a-kit-operations/src/engine";
const PURE: &str = "crates/a2a-kit-operations/src/engine/task/";

/// The files of the crate that the transitions of a task may import besides each other: values.
const VALUES: [&str; 10] = [
    "call.rs",
    "engine/limits.rs",
    "event.rs",
    "push.rs",
    "store/error.rs",
    "store/lease.rs",
    "store/outbox.rs",
    "store/page.rs",
    "store/task.rs",
    "update_error.rs",
];

/// What they may use from elsewhere: nothing that waits, locks or reads.
const LIBRARIES: [&str; 17] = [
    "a2a_core",
    "bytes",
    "hashbrown",
    "prost",
    "serde",
    "serde_json",
    "std::collections",
    "std::fmt",
    "std::mem",
    "std::num",
    "std::slice",
    "std::sync::Arc",
    "std::time",
    "str",
    "u64",
    "usize",
    "uuid::Uuid",
];

/// Functions of these that read a clock or make a random id.
const IMPURE: [&str; 10] = [
    "Instant::now",
    "Message::agent",
    "Message::new",
    "Message::user",
    "SystemTime::now",
    "TaskStatus::now",
    "Timestamp::now",
    "Uuid::new_v4",
    "Uuid::now_v7",
    "fresh_id",
];

/// Most fields of a struct that has a state.
const MAX_FIELDS: usize = 12;

/// Values that users set one by one; they have no state.
const SETTINGS: [&str; 1] = ["EngineConfig"];

/// Every impure line, and every struct that is too large.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut modules = Vec::new();
    module::load(&workspace::root().join(CRATE).join("lib.rs"), &mut modules)?;
    let mut faults = impure(&modules);
    for path in workspace::files(&workspace::root())? {
        let name = workspace::relative(&path);
        if !name.starts_with(ENGINE) || !name.ends_with(".rs") {
            continue;
        }
        faults.extend(large(&name, &fs::read_to_string(&path)?));
    }
    Ok(faults)
}

/// Every dependency of a transition on anything but values.
fn impure(modules: &[Module]) -> Vec<String> {
    let mut faults = Vec::new();
    let imports = cycles::imports(modules);
    let mut pure = modules.iter().filter(|module| module.file.starts_with(PURE)).peekable();
    if pure.peek().is_none() {
        faults.push(format!("{PURE} has no files: xtask/src/tidy/engine.rs looks elsewhere"));
    }
    for module in pure {
        let is_value = |file: &str| file.starts_with(PURE) || VALUES.contains(&cycles::short(file));
        let files = imports[&module.file].iter().filter(|file| !is_value(file)).cloned();
        let paths = module.paths.iter().map(|path| module.expanded(path).join("::"));
        let unwanted: BTreeSet<_> = files.chain(paths.filter(|path| is_unwanted(path))).collect();
        let needless = "which a transition of a task does without";
        faults.extend(
            unwanted.iter().map(|used| format!("{}: uses {used}, {needless}", module.file)),
        );
    }
    faults
}

/// Returns whether a path leads to another crate, and there to anything but values.
fn is_unwanted(path: &str) -> bool {
    let leads_to = |library: &&str| {
        let rest = path.strip_prefix(*library);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let is_called = |function: &&str| {
        let start = path.strip_suffix(*function);
        start.is_some_and(|start| start.is_empty() || start.ends_with("::"))
    };
    let is_inside = ["crate", "self", "super"].iter().any(leads_to);
    let is_local = is_inside || path.starts_with(char::is_uppercase) || !path.contains("::");
    IMPURE.iter().any(is_called) || !is_local && !LIBRARIES.iter().any(leads_to)
}

fn large(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((_, rest)) = line.split_once("struct ") else { continue };
        if line.trim_start().starts_with("//") || !line.ends_with('{') {
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let fields = lines.by_ref().take_while(|line| line.trim_end() != "}");
        let fields = fields.filter(|line| is_field(line)).count();
        if fields > MAX_FIELDS && !SETTINGS.contains(&&rest[..end]) {
            let found = format!("{} has {fields} fields", &rest[..end]);
            faults.push(format!("{name}: {found}, more than {MAX_FIELDS} are no one thing"));
        }
    }
    faults
}

/// Returns whether a line declares a field.
fn is_field(line: &str) -> bool {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) => match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ").map_or("", |(_, rest)| rest),
            None => rest.trim_start(),
        },
        None => line,
    };
    let name = line.split_once(": ").map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_wanted_and_clocks_locks_and_runtimes_are_not() {
        for path in ["std::sync::Arc", "std::time::Instant", "a2a_core::v1::Task", "Self::new"] {
            assert!(!is_unwanted(path), "{path}");
        }
        for path in ["std::sync::Mutex", "std::time::Instant::now", "tokio::spawn", "tokio::time"] {
            assert!(is_unwanted(path), "{path}");
        }
        assert!(is_unwanted("a2a_core::v1::Message::agent"), "it has a new id");
    }

    #[test]
    fn fields_of_any_visibility_are_counted() {
        let fields = |count: usize| {
            let field = "    /// Text: of it.\n    pub(in crate::x) a: u8,\n";
            format!("pub struct Large {{\n{}}}\n", field.repeat(count))
        };
        assert!(large("f", &fields(MAX_FIELDS)).is_empty());
        assert_eq!(large("f", &fields(MAX_FIELDS + 1)).len(), 1);
    }
}
