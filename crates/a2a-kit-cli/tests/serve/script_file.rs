//! `a2a serve --script`: which scripts are rejected, and what excludes a script.

use std::{fs, path::Path};

use crate::common::{Run, command};
use serde_json::json;

#[test]
fn invalid_scripts_are_rejected_with_file_line_and_key() {
    let step = |step: &str| format!("[default]\nsteps = [{{ {step} }}]\n");
    let too_large = format!("# {}\n", "x".repeat(1 << 20));
    let rows = [
        ("rules = []\n".to_owned(), ":1: rules: unknown key, expected card, default, rule"),
        ("[[rule]]\nwen = 1\n".to_owned(), ":2: rule[0].wen: unknown key, expected id, when"),
        ("[rule]\n".to_owned(), ":1: rule: expected tables: [[rule]]"),
        (
            "[[rule]]\nwhen = { wrd = \"a\" }\n".to_owned(),
            ":2: rule[0].when: unknown field `wrd`, expected one of `message_id`",
        ),
        (
            "[[rule]]\nid = \"a\"\n[[rule]]\nwhen = { follows = \"b\" }\n".to_owned(),
            ":3: rule[1].when.follows: no rule has the id \"b\"",
        ),
        ("[[rule]]\nid = \"a\"\n".to_owned(), ":1: rule[0]: needs steps or a fault"),
        ("[card]\n\nname = 1\n".to_owned(), ":3: card: invalid type: integer `1`"),
        ("[card\n".to_owned(), ":1: toml: "),
        (
            "[environment]\nX = \"require_bearer\"\n".to_owned(),
            ":1: environment: unknown key, expected card, default, rule or fault",
        ),
        (step("state = \"done\""), ":2: default.steps[0]: expected a state such as working"),
        (step("stat = \"working\""), ":2: default.steps[0]: unknown field `stat`"),
        (step("wait = 1, message = \"a\""), "a step has exactly one of state, ask, message"),
        (step("text = \"a\""), "text is only for a step with state"),
        (step("message = \"{nope}\""), "unknown placeholder {nope}"),
        (step("message = \"{\""), "unpaired brace"),
        (step("wait = \"61m\""), "\"61m\" is longer than 1h"),
        (step("wait = \"soon\""), "expected a duration"),
        (step("wait = \"{1}\""), "a placeholder here needs a default"),
        (step("repeat = 10001, steps = [{ wait = 1 }]"), "not a number from 1 to 10000"),
        (step("repeat = 0, steps = [{ wait = 1 }]"), "not a number from 1 to 10000"),
        (step("repeat = 2"), "repeat needs steps"),
        (
            step("repeat = 2, steps = [{ repeat = 2, steps = [{ wait = 1 }] }]"),
            "repeat takes steps with artifact, wait, or a state that is not final",
        ),
        (step("state = \"failed\" }, { wait = 1"), "default.steps[1]: is never reached"),
        (step("artifact = { parts = [{ base64 = \"?\" }] }"), "invalid base64"),
        (step("artifact = { parts = [{ json = \"{\" }] }"), "invalid json"),
        (step("artifact = { parts = [{}] }"), "a part has exactly one of text, url"),
        ("[default]\nfault = { error = { name = \"X\" } }\n".to_owned(), "TASK_NOT_FOUND"),
        ("[default]\nfault = { respond = { status = 99 } }\n".to_owned(), "HTTP status"),
        ("[default]\nfault = { explode = 1 }\n".to_owned(), "unknown variant `explode`"),
        (
            "[[fault]]\non = [\"Send\"]\ninject = { delay = \"1s\" }\n".to_owned(),
            ":2: fault[0]: unknown target \"Send\", expected card or SendMessage",
        ),
        ("[[fault]]\ncalls = { from = 1 }\n".to_owned(), "fault[0]: missing field `inject`"),
        ("[fault]\n".to_owned(), ":1: fault: expected tables: [[fault]]"),
        (too_large, "is larger than 1 MiB"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    for (script, expected) in rows {
        fs::write(&path, &script).unwrap();
        let run = Run::of(command().args(["serve", "--print-settings", "--script"]).arg(&path));
        let script = &script[..script.len().min(100)];
        assert_eq!(run.code, 2, "{script}: {run:?}");
        assert!(run.stderr.contains(expected), "{script}: {run:?}");
        assert!(run.stderr.contains(path.to_str().unwrap()), "{script}: {run:?}");
    }
    let missing = Run::of(command().args(["serve", "--script", "/nonexistent.toml"]));
    assert!(missing.code == 2 && missing.stderr.contains("--script /nonexistent.toml"));
}

#[test]
fn all_problems_of_a_script_are_reported_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    let script = "[card]\nnam = \"a\"\n[[rule]]\nsteps = [\n    { wait = \"2h\" },\n    \
                  { state = \"done\" },\n]\nfault = { cut = 1 }\n";
    fs::write(&path, script).unwrap();
    let run = Run::of(command().args(["serve", "-o", "json", "--script"]).arg(&path));
    let problems = run.lines()[0]["error"]["details"]["problems"].clone();
    let mut places: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| (problem["line"].as_u64().unwrap(), problem["key"].clone()))
        .collect();
    places.sort_by_key(|(line, _)| *line);
    let expected = [
        (2, json!("card")),
        (5, json!("rule[0].steps[0]")),
        (6, json!("rule[0].steps[1]")),
        (8, json!("rule[0].fault")),
    ];
    assert_eq!(places, expected, "{run:?}");
}

#[test]
fn a_script_excludes_other_agents() {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/travel-agent.toml");
    let script = ["serve", "--script", script.to_str().unwrap()];
    for other in [&["--echo"][..], &["--demo"], &["--exec", "cat"]] {
        let run = Run::of(command().args(script).args(other));
        assert_eq!(run.code, 2, "{other:?}: {run:?}");
        assert!(run.stderr.contains("--script"), "{other:?}: {run:?}");
    }
    let run = Run::of(
        command()
            .args(["serve", "--print-settings"])
            .env("A2ACLI_SERVE_AGENT_SCRIPT_FILE", script[2]),
    );
    let line = format!("script_file = {:?} # A2ACLI_SERVE_AGENT_SCRIPT_FILE", script[2]);
    assert!(run.stdout.lines().any(|one| one == line), "{run:?}");
}
