//! Compares two protos: what changes on the wire and for users of the types, and what has to be
//! written by hand.

mod by_hand;
mod change;
mod merge;
mod surface;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use serde::Serialize;

use self::{by_hand::Place, change::Change, surface::Surface};
use crate::{
    Result,
    schema::proto::{FILE, Proto},
    workspace,
};

/// The exit code if a change breaks peers.
const BREAKING: u8 = 3;

/// The arguments of `cargo xtask proto`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 no change that breaks peers, 1 error, 2 invalid arguments, \
                        3 at least one change breaks peers")]
pub(crate) struct Args {
    /// Proto to compare with the one in the repository [default: the working copy is compared with
    /// the last commit]
    file: Option<PathBuf>,
    /// Replace the proto in the repository with FILE, and keep the comments by name
    #[arg(long, requires = "file")]
    merge: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Report {
    changes: Vec<Change>,
    by_hand: Vec<Place>,
    /// Items whose comment is that of the released proto, and comments without an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<merge::Comments>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match report(args) {
        Ok(report) => {
            println!("{}", if args.json { report.json() } else { report.text() });
            let breaks_peers = report.changes.iter().any(|change| change.breaks_peers);
            if breaks_peers { ExitCode::from(BREAKING) } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(args: &Args) -> Result<Report> {
    let include = workspace::root().join("proto");
    let ours = include.join(FILE);
    let (old, new) = match &args.file {
        Some(file) => (workspace::read(&ours)?, workspace::read(file)?),
        None => (committed()?, workspace::read(&ours)?),
    };
    let changes = compare(&old, &new, &include)?;
    let by_hand = by_hand::places(&changes, &workspace::root())?;
    let comments = match args.merge {
        true => {
            let merged = merge::merge(&old, &new, &include)?;
            std::fs::write(&ours, merged.text)?;
            Some(merged.comments)
        }
        false => None,
    };
    Ok(Report { changes, by_hand, comments })
}

/// The changes from one proto to another one, whose imports are below `include`.
fn compare(old: &str, new: &str, include: &Path) -> Result<Vec<Change>> {
    let surface = |source: &str| Surface::of(&Proto::parse(source.to_owned(), include)?);
    Ok(change::changes(&surface(old)?, &surface(new)?))
}

/// The proto of the last commit.
fn committed() -> Result<String> {
    let object = format!("HEAD:proto/{FILE}");
    let mut git = Command::new("git");
    let output = git.current_dir(workspace::root()).args(["show", &object]).output()?;
    if !output.status.success() {
        return Err(format!("git show {object}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

impl Report {
    fn json(&self) -> String {
        format!("{:#}", serde_json::json!(self))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if self.changes.is_empty() {
            text.push_str("no changes on the wire\n");
        } else {
            text.push_str("Changes\n");
        }
        for change in &self.changes {
            let marks = match (change.breaks_peers, change.breaks_rust) {
                (true, true) => " [breaks peers, breaks Rust users]",
                (true, false) => " [breaks peers]",
                (false, true) => " [breaks Rust users]",
                (false, false) => "",
            };
            let _ = writeln!(text, "  {}: {}{marks}", change.name, change.what);
        }
        if !self.by_hand.is_empty() {
            text.push_str("\nTo write by hand\n");
        }
        for place in &self.by_hand {
            let _ = writeln!(text, "  {}: {}", place.file, place.what);
        }
        if let Some(comments) = &self.comments {
            let _ = writeln!(text, "\nComments\n  wrote proto/{FILE}");
            for name in &comments.to_write {
                let _ = writeln!(text, "  {name}: has the comment of the release, write one");
            }
            for name in &comments.dropped {
                let _ = writeln!(text, "  {name}: does not exist any more, its comment is dropped");
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"
        message Task { string id = 1; int32 size = 2; optional bool done = 3; string gone = 4; }
        enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; COLOR_OLD = 2; }
        message Choice { oneof which { string text = 1; } }
    "#;
    const OLD_RPCS: &str = r#"
        rpc Get(Task) returns (Task) { option (google.api.http) = { get: "/tasks/{id=*}" }; }
        rpc Stop(Task) returns (Task) { option (google.api.http) = { post: "/stop" body: "*" }; }
    "#;

    fn proto(messages: &str, rpcs: &str) -> String {
        format!(
            "syntax = \"proto3\";\npackage lf.a2a.v1;\n\
             import \"google/api/annotations.proto\";\n\
             import \"google/api/field_behavior.proto\";\n\
             service S {{ {rpcs} }}\n{messages}"
        )
    }

    /// The changes of a proto as lines, with marks for those that break peers (P) and Rust (R).
    fn changes(messages: &str, rpcs: &str) -> Vec<String> {
        let include = workspace::root().join("proto");
        let found = compare(&proto(OLD, OLD_RPCS), &proto(messages, rpcs), &include).unwrap();
        let line = |change: Change| {
            let peers = if change.breaks_peers { "P" } else { "" };
            let rust = if change.breaks_rust { "R" } else { "" };
            format!("{peers}{rust} {}: {}", change.name, change.what)
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn changes_of_fields_are_found_and_marked() {
        let required = "[(google.api.field_behavior) = REQUIRED]";
        for (old, new, expected) in [
            ("string id = 1;", "string id = 9;", "P Task.id: number 1 became 9"),
            ("string id = 1;", "string key = 1;", "PR Task.key: renamed from id"),
            (
                "string id = 1;",
                "string id = 1 [json_name = \"key\"];",
                "P Task.id: JSON name id became key",
            ),
            ("int32 size = 2;", "int64 size = 2;", "PR Task.size: type int32 became int64"),
            ("optional bool", "bool", "R Task.done: optional became singular"),
            ("string id", "repeated string id", "PR Task.id: singular became repeated"),
            ("string gone = 4;", "", "PR Task.gone: field 4 removed"),
            (
                "string gone = 4;",
                "string gone = 4 [deprecated = true];",
                " Task.gone: became deprecated",
            ),
            ("string id = 1;", &format!("string id = 1 {required};"), "P Task.id: became REQUIRED"),
            (
                "string gone = 4;",
                "string gone = 4; map<string, Choice> more = 5;",
                " Task.more: field 5 added: map map<string, Choice>",
            ),
            (
                "string gone = 4;",
                &format!("string gone = 4; bytes more = 5 {required};"),
                "P Task.more: field 5 added: singular bytes REQUIRED",
            ),
            (
                "string text = 1;",
                "string text = 1; Task task = 2;",
                "R Choice.task: field 2 added: oneof which Task",
            ),
        ] {
            assert_eq!(changes(&OLD.replace(old, new), OLD_RPCS), [expected], "{new}");
        }
        assert!(changes(OLD, OLD_RPCS).is_empty());
    }

    #[test]
    fn changes_of_enums_and_messages_are_found_and_marked() {
        for (old, new, expected) in [
            ("COLOR_RED = 1;", "COLOR_RED = 1; BLUE = 5;", "R Color.BLUE: value 5 added"),
            ("COLOR_OLD = 2;", "", "PR Color.COLOR_OLD: value 2 removed"),
            ("COLOR_OLD = 2;", "COLOR_OLD = 3;", "P Color.COLOR_OLD: number 2 became 3"),
            ("COLOR_OLD = 2;", "BROWN = 2;", "PR Color.BROWN: renamed from COLOR_OLD"),
            ("enum Color", "message New {} enum Color", " New: message added"),
            (
                "message Choice { oneof which { string text = 1; } }",
                "",
                "PR Choice: message removed",
            ),
        ] {
            assert_eq!(changes(&OLD.replace(old, new), OLD_RPCS), [expected], "{new}");
        }
    }

    #[test]
    fn changes_of_rpcs_and_routes_are_found_and_marked() {
        let get = r#"get: "/tasks/{id=*}""#;
        let more = format!(r#"{get} additional_bindings: {{ get: "/{{gone}}/tasks/{{id=*}}" }}"#);
        let stop = r#"rpc Stop(Task) returns (Task) { option (google.api.http) = { post: "/stop" body: "*" }; }"#;
        for (old, new, expected) in [
            (get, &*more, vec![" Get: route added: GET /{gone}/tasks/{id}"]),
            (
                get,
                r#"get: "/task/{id=*}""#,
                vec![" Get: route added: GET /task/{id}", "P Get: route removed: GET /tasks/{id}"],
            ),
            (
                "Get(Task) returns (Task)",
                "Get(Task) returns (stream Task)",
                vec!["PR Get: Task -> Task became Task -> stream Task"],
            ),
            (stop, "", vec!["PR Stop: rpc removed"]),
            (
                "rpc Stop",
                r#"rpc Pause(Task) returns (Task) { option (google.api.http) = { put: "/p" }; } rpc Stop"#,
                vec!["R Pause: rpc added: Task -> Task, PUT /p"],
            ),
        ] {
            assert_eq!(changes(OLD, &OLD_RPCS.replace(old, new)), expected, "{new}");
        }
    }

    #[test]
    fn report_marks_breaking_changes_and_names_places() {
        let include = workspace::root().join("proto");
        let new = OLD.replace("string id = 1;", "string key = 1;");
        let changes = compare(&proto(OLD, OLD_RPCS), &proto(&new, OLD_RPCS), &include).unwrap();
        let by_hand = by_hand::places(&changes, &workspace::root()).unwrap();
        let report = Report { changes, by_hand, comments: None };
        let text = report.text();
        assert!(text.contains("Task.key: renamed from id [breaks peers, breaks Rust users]"));
        assert!(text.contains("\n  tests/wire/descriptor.txt: "), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["changes"][0]["action"], "renamed");
        assert_eq!(json["changes"][0]["breaks_peers"], true);
    }
}
