//! The live task of the engine decides, and one function performs: what follows from a transition
//! is not started at each call, and what follows from its state is not decided elsewhere.

use std::{collections::BTreeSet, fs};

use crate::{Result, workspace};

const ENGINE: &str = "crates/a2a-kit-operations/src/engine";
const TASK: &str = "crates/a2a-kit-operations/src/engine/task/";

/// Where no task is served: benchmarks of the state machine.
const BENCHMARKS: &str = "crates/a2a-kit-operations/src/engine/testing.rs";

/// The file of the one function that performs the effects of a transition.
const PERFORMER: &str = "crates/a2a-kit-operations/src/engine/runtime/effects.rs";

/// Calls that start what follows from a transition.
const FOLLOW_UPS: [&str; 6] = [
    "begin_writing",
    "start_cancel",
    "start_reconciling",
    "start_refresh",
    "start_run",
    "start_writer",
];

/// Most of these calls outside the function that performs the effects of a transition.
const MAX_FOLLOW_UPS: usize = 0;

/// Most fields and predicates of a live task that are read outside the folder of its transitions.
const MAX_READS: usize = 20;

/// Names of a value that is a live task, or its lock.
const LIVE: [&str; 3] = ["live", "state", "lock()"];

/// Every count above its limit, with the places.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut task = String::new();
    let mut others = Vec::new();
    for path in workspace::files(&workspace::root())? {
        let name = workspace::relative(&path);
        if !name.starts_with(ENGINE) || !name.ends_with(".rs") || name.ends_with("/tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        if name.starts_with(TASK) {
            task.push_str(&text);
        } else if ![BENCHMARKS, PERFORMER].contains(&name.as_str()) {
            others.push((name, text));
        }
    }
    let readable = readable(&task);
    if readable.is_empty() {
        return Ok(vec![format!("{TASK} has no live task: see xtask/src/tidy/live_task.rs")]);
    }
    let mut faults = Vec::new();
    let mut check = |max, what, found: Vec<String>| {
        if found.len() > max {
            let (count, places) = (found.len(), found.join("\n    "));
            faults.push(format!("{count} {what}, more than {max}:\n    {places}"));
        }
    };
    let found = |calls: &dyn Fn(&str) -> Vec<String>| {
        let in_file = |(name, text): &(String, String)| {
            calls(text).into_iter().map(|call| format!("{name}: {call}")).collect::<Vec<_>>()
        };
        others.iter().flat_map(in_file).collect()
    };
    check(MAX_FOLLOW_UPS, "effects of a transition are started by hand", found(&follow_ups));
    check(
        MAX_READS,
        "fields and predicates of a live task are read outside its transitions",
        found(&|text| reads(text, &readable)),
    );
    Ok(faults)
}

/// The fields of a live task, and its predicates, with a parenthesis.
fn readable(task: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut block = "";
    for line in task.lines() {
        if line.starts_with("impl ") || line.contains("struct ") {
            block = line;
        }
        let item = line.trim_start().trim_start_matches("pub(in crate::engine) ");
        let item = item.trim_start_matches("pub(super) ");
        let is_indented = line.starts_with("    ") && !line.starts_with("     ");
        let name = if block.ends_with("struct LiveTask {") && is_indented {
            item.split_once(": ").map(|(name, _)| name)
        } else if block == "impl LiveTask {" && is_indented && is_predicate(item, task) {
            let name = item.strip_prefix("fn ").and_then(|item| item.split(['(', '<']).next());
            names.extend(name.map(|name| format!("{name}(")));
            None
        } else {
            None
        };
        names.extend(name.filter(|name| is_name(name)).map(str::to_owned));
    }
    names
}

/// Returns whether a line begins a predicate: a method that returns a `bool` and changes nothing.
fn is_predicate(item: &str, task: &str) -> bool {
    let Some((_, rest)) = task.split_once(item).filter(|_| item.starts_with("fn ")) else {
        return false;
    };
    let signature = format!("{item}{rest}");
    let signature = signature.split('{').next().unwrap_or_default();
    signature.contains("&self") && signature.trim_end().ends_with("-> bool")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// The code of a file without its comments and unit tests, each chain of calls on one line.
fn code(text: &str) -> String {
    let text = &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())];
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n").replace("\n.", ".")
}

fn follow_ups(text: &str) -> Vec<String> {
    members(&code(text)).filter(|(_, name)| FOLLOW_UPS.contains(name)).map(described).collect()
}

fn reads(text: &str, readable: &BTreeSet<String>) -> Vec<String> {
    let code = code(text);
    let is_live = |value: &str| {
        LIVE.iter().any(|live| {
            let rest = value.strip_suffix(live);
            rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let is_read = |value: &str, name: &str| {
        let is_call = code[value.len() + 1 + name.len()..].starts_with('(');
        readable.contains(&format!("{name}{}", if is_call { "(" } else { "" }))
    };
    let members = members(&code).filter(|(value, name)| is_live(value) && is_read(value, name));
    members.map(described).collect()
}

fn described((value, name): (&str, &str)) -> String {
    let line = value.rsplit('\n').next().unwrap_or_default();
    format!("{}.{name}", line.trim())
}

/// Each member that is named in the code, with the code before it.
fn members(code: &str) -> impl Iterator<Item = (&str, &str)> {
    code.match_indices('.').map(|(at, _)| {
        let rest = &code[at + 1..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (&code[..at], &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_found_in_chains_and_not_in_transitions() {
        let task = "pub(in crate::engine) struct LiveTask {\n    pub(in crate::engine) log: Log,\n}\n\
                    impl LiveTask {\n    fn is_here(&self) -> bool {\n    fn take(&mut self) {\n}\n\
                    impl Log {\n    fn last(&self) {\n}\n";
        let readable = readable(task);
        assert_eq!(readable.iter().map(String::as_str).collect::<Vec<_>>(), ["is_here(", "log"]);
        let text =
            "live.take();\nhandle\n    .lock()\n    .log.last();\nlive.is_here();\n// live.log\n";
        assert_eq!(reads(text, &readable).len(), 2);
        assert!(reads("alive.log", &readable).is_empty());
    }

    #[test]
    fn effects_that_are_started_by_hand_are_found() {
        assert_eq!(follow_ups("handle.start_writer();\nself.start_run(start);\nx.run();").len(), 2);
    }
}
