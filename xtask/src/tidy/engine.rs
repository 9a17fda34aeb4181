//! The engine stays such that it can be read: its live task is pure, its structs are small.

use std::fs;

use crate::{Result, workspace};

/// Where the engine is, and where the part of it that waits for nothing.
const ENGINE: &str = "crates/a2a-kit-operations/src/engine";
const PURE: &str = "crates/a2a-kit-operations/src/engine/task/";

/// What a transition of a task can't need: a runtime, a store, a clock, chance.
const IMPURE: [&str; 9] = [
    "tokio",
    "async",
    ".await",
    "Store>",
    "dyn Store",
    "Instant::now",
    "SystemTime",
    "Timestamp::now",
    "fresh_id",
];

/// Most fields of a struct that has a state.
const MAX_FIELDS: usize = 12;

/// Values that users set one by one; they have no state.
const SETTINGS: [&str; 1] = ["EngineConfig"];

/// Every impure line, and every struct that is too large.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut pure = 0;
    for path in workspace::files(&workspace::root())? {
        let name = workspace::relative(&path);
        if !name.starts_with(ENGINE) || !name.ends_with(".rs") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        if name.starts_with(PURE) && !name.ends_with("/tests.rs") {
            pure += 1;
            faults.extend(impure(&name, &text));
        }
        faults.extend(large(&name, &text));
    }
    if pure == 0 {
        faults.push(format!("{PURE} has no files: xtask/src/tidy/engine.rs looks elsewhere"));
    }
    Ok(faults)
}

fn impure(name: &str, text: &str) -> Vec<String> {
    let tested = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..tested].lines().enumerate();
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(index, line)| {
        IMPURE.iter().filter(|word| line.contains(**word)).map(move |word| {
            format!("{name}:{}: a transition of a task does without {word}", index + 1)
        })
    })
    .collect()
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
    fn clocks_and_waits_are_found_outside_of_comments_and_tests() {
        let text = "// tokio\nlet now = Instant::now();\nasync fn f() {}\n\
                    #[cfg(test)]\nmod tests {\nuse tokio;\n}\n";
        assert_eq!(impure("f", text).len(), 2);
    }

    #[test]
    fn fields_are_counted_whoever_sees_them() {
        let fields = |count: usize| {
            let field = "    /// Text: of it.\n    pub(in crate::x) a: u8,\n";
            format!("pub struct Large {{\n{}}}\n", field.repeat(count))
        };
        assert!(large("f", &fields(MAX_FIELDS)).is_empty());
        assert_eq!(large("f", &fields(MAX_FIELDS + 1)).len(), 1);
    }
}
