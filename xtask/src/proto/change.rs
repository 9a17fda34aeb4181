//! The changes from one proto to another one, and whom they break.

use std::collections::BTreeMap;

use serde::Serialize;

use super::surface::{Field, Rpc, Surface};

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subject {
    Message,
    Field,
    Enum,
    EnumValue,
    Rpc,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Added,
    Removed,
    Renamed,
    Changed,
}

/// One change.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(super) subject: Subject,
    pub(super) action: Action,
    /// The name without the package, such as `Task.status`.
    pub(super) name: String,
    /// What changed, for people.
    pub(super) what: String,
    /// Whether agents and clients of the other proto fail to understand it.
    pub(super) breaks_peers: bool,
    /// Whether code that uses the types has to be changed, although it ends literals with
    /// `..Default::default()`.
    pub(super) breaks_rust: bool,
}

/// Whom a change breaks.
const NOBODY: (bool, bool) = (false, false);
const PEERS: (bool, bool) = (true, false);
const RUST: (bool, bool) = (false, true);
const ALL: (bool, bool) = (true, true);

/// Collects changes.
#[derive(Default)]
struct Changes {
    found: Vec<Change>,
}

impl Changes {
    fn add(
        &mut self,
        (subject, action): (Subject, Action),
        name: impl Into<String>,
        what: impl Into<String>,
        (breaks_peers, breaks_rust): (bool, bool),
    ) {
        let (name, what) = (name.into(), what.into());
        self.found.push(Change { subject, action, name, what, breaks_peers, breaks_rust });
    }
}

/// Every change, in the order messages, enums, rpcs.
pub(super) fn changes(old: &Surface, new: &Surface) -> Vec<Change> {
    let mut changes = Changes::default();
    for (name, pair) in pairs(&old.messages, &new.messages) {
        match pair {
            (None, Some(_)) => {
                changes.add((Subject::Message, Action::Added), name, "message added", NOBODY);
            }
            (Some(_), None) => {
                changes.add((Subject::Message, Action::Removed), name, "message removed", ALL);
            }
            (Some(old), Some(new)) => fields(&mut changes, name, old, new),
            (None, None) => {}
        }
    }
    for (name, pair) in pairs(&old.enums, &new.enums) {
        match pair {
            (None, Some(_)) => {
                changes.add((Subject::Enum, Action::Added), name, "enum added", NOBODY);
            }
            (Some(_), None) => {
                changes.add((Subject::Enum, Action::Removed), name, "enum removed", ALL);
            }
            (Some(old), Some(new)) => values(&mut changes, name, old, new),
            (None, None) => {}
        }
    }
    for (name, pair) in pairs(&old.rpcs, &new.rpcs) {
        match pair {
            (None, Some(rpc)) => {
                let what = format!("rpc added: {}, {}", rpc.signature, rpc.routes.join(", "));
                changes.add((Subject::Rpc, Action::Added), name, what, RUST);
            }
            (Some(_), None) => {
                changes.add((Subject::Rpc, Action::Removed), name, "rpc removed", ALL);
            }
            (Some(old), Some(new)) => rpc(&mut changes, name, old, new),
            (None, None) => {}
        }
    }
    changes.found
}

/// The values of two maps by key.
fn pairs<'a, T>(
    old: &'a BTreeMap<String, T>,
    new: &'a BTreeMap<String, T>,
) -> BTreeMap<&'a str, (Option<&'a T>, Option<&'a T>)> {
    let names = old.keys().chain(new.keys());
    names.map(|name| (name.as_str(), (old.get(name), new.get(name)))).collect()
}

fn fields(
    changes: &mut Changes,
    message: &str,
    old: &BTreeMap<String, Field>,
    new: &BTreeMap<String, Field>,
) {
    let gone = |number| old.iter().find(|(name, f)| f.number == number && !new.contains_key(*name));
    let came = |number| new.iter().find(|(name, f)| f.number == number && !old.contains_key(*name));
    for (name, pair) in pairs(old, new) {
        let full_name = format!("{message}.{name}");
        match pair {
            (None, Some(field)) => match gone(field.number) {
                Some((before, old)) => {
                    let what = format!("renamed from {before}");
                    changes.add((Subject::Field, Action::Renamed), &full_name, what, ALL);
                    field_changes(changes, &full_name, old, field);
                }
                None => added(changes, full_name, field),
            },
            (Some(field), None) if came(field.number).is_none() => {
                let what = format!("field {} removed", field.number);
                changes.add((Subject::Field, Action::Removed), full_name, what, ALL);
            }
            (Some(old), Some(new)) => {
                if old.json_name != new.json_name {
                    let what = format!("JSON name {} became {}", old.json_name, new.json_name);
                    changes.add((Subject::Field, Action::Renamed), &full_name, what, PEERS);
                }
                field_changes(changes, &full_name, old, new);
            }
            _ => {}
        }
    }
}

fn added(changes: &mut Changes, name: String, field: &Field) {
    let required = if field.required { " REQUIRED" } else { "" };
    let what = format!("field {} added: {} {}{required}", field.number, field.label, field.kind);
    // The enum of a union is exhaustive. Peers of the other proto don't send required members.
    let breaks = (field.required, field.label.starts_with("oneof "));
    changes.add((Subject::Field, Action::Added), name, what, breaks);
}

/// The changes of a field that keeps its name or its number.
fn field_changes(changes: &mut Changes, name: &str, old: &Field, new: &Field) {
    let mut add = |what, breaks| changes.add((Subject::Field, Action::Changed), name, what, breaks);
    if old.number != new.number {
        add(format!("number {} became {}", old.number, new.number), PEERS);
    }
    if old.kind != new.kind {
        add(format!("type {} became {}", old.kind, new.kind), ALL);
    }
    if old.label != new.label {
        let presence = ["singular", "optional"];
        let same_wire = presence.contains(&&*old.label) && presence.contains(&&*new.label);
        let breaks = if same_wire { RUST } else { ALL };
        add(format!("{} became {}", old.label, new.label), breaks);
    }
    match (old.required, new.required) {
        (false, true) => add("became REQUIRED".to_owned(), PEERS),
        (true, false) => add("is not REQUIRED any more".to_owned(), PEERS),
        _ => {}
    }
    if old.deprecated != new.deprecated {
        let what = if new.deprecated { "became deprecated" } else { "is not deprecated any more" };
        add(what.to_owned(), NOBODY);
    }
}

fn values(
    changes: &mut Changes,
    item: &str,
    old: &BTreeMap<String, i32>,
    new: &BTreeMap<String, i32>,
) {
    let missing_in = |values: &BTreeMap<String, i32>, number, others: &BTreeMap<String, i32>| {
        let found = others.iter().find(|(name, n)| **n == number && !values.contains_key(*name));
        found.map(|(name, _)| name.clone())
    };
    for (name, pair) in pairs(old, new) {
        let full_name = format!("{item}.{name}");
        match pair {
            (None, Some(number)) => match missing_in(new, *number, old) {
                Some(before) => {
                    let what = format!("renamed from {before}");
                    changes.add((Subject::EnumValue, Action::Renamed), full_name, what, ALL);
                }
                None => {
                    let what = format!("value {number} added");
                    changes.add((Subject::EnumValue, Action::Added), full_name, what, RUST);
                }
            },
            (Some(number), None) if missing_in(old, *number, new).is_none() => {
                let what = format!("value {number} removed");
                changes.add((Subject::EnumValue, Action::Removed), full_name, what, ALL);
            }
            (Some(old), Some(new)) if old != new => {
                let what = format!("number {old} became {new}");
                changes.add((Subject::EnumValue, Action::Changed), full_name, what, PEERS);
            }
            _ => {}
        }
    }
}

fn rpc(changes: &mut Changes, name: &str, old: &Rpc, new: &Rpc) {
    let mut add = |what, breaks| changes.add((Subject::Rpc, Action::Changed), name, what, breaks);
    if old.signature != new.signature {
        add(format!("{} became {}", old.signature, new.signature), ALL);
    }
    for route in new.routes.iter().filter(|route| !old.routes.contains(route)) {
        add(format!("route added: {route}"), NOBODY);
    }
    for route in old.routes.iter().filter(|route| !new.routes.contains(route)) {
        add(format!("route removed: {route}"), PEERS);
    }
}
