//! `a2a card lint`: reports, fixes, and what only a running agent shows.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::common::{Run, Server, command};
use axum::{Router, response::IntoResponse as _, routing::get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use serde_json::{Value, json};

fn lint(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(command().args(["card", "lint"]).args(arguments).current_dir(folder))
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// The ids of the findings, of one severity or of all.
fn ids<'a>(report: &'a Value, severity: &str) -> Vec<&'a str> {
    let findings = report["findings"].as_array().unwrap().iter();
    let wanted = findings.filter(|one| severity.is_empty() || one["severity"] == severity);
    wanted.map(|finding| finding["id"].as_str().unwrap()).collect()
}

/// A folder with a card that has an error, a warning and an unknown member.
fn scene() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    std::fs::write(
        &path,
        r#"{
  "version": "1",
  "name": "A~gent",
  "description": "d",
  "x-vendor": 1.50,
  "supportedInterfaces": [
    {"url": "https://a.example", "protocolBinding": "jsonrpc", "protocolVersion": "1.0"}
  ],
  "capabilities": {},
  "defaultInputModes": ["text/plain"],
  "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["e"]}]
}
"#
        .replace('~', "\u{200B}"),
    )
    .unwrap();
    (folder, path)
}

#[test]
fn report_has_id_severity_pointer_line_message_and_fix() {
    let (folder, _) = scene();
    let run = lint(folder.path(), &["./card.json", "-o", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let report = report(&run);
    assert_eq!((&report["valid"], &report["card"]["x-vendor"]), (&json!(false), &json!(1.5)));
    let first = &report["findings"][0];
    assert_eq!(first["id"], "invisible-text");
    assert_eq!((&first["severity"], &first["pointer"]), (&json!("error"), &json!("/name")));
    assert_eq!((&first["line"], &first["column"]), (&json!(3), &json!(3)));
    assert!(first["message"].as_str().unwrap().contains("U+200B"), "{first}");
    assert!(first["fix"].is_string(), "{first}");
    let text = lint(folder.path(), &["./card.json"]);
    assert_eq!((text.code, text.field("Error")), (1, "invisible-text"));
    assert_eq!(text.field("At"), "/name (line 3)");
    assert_eq!((text.field("Errors"), text.field("Valid")), ("1", "no"));
}

#[test]
fn sarif_names_the_rule_the_file_and_the_line() {
    let (folder, _) = scene();
    let run = lint(folder.path(), &["./card.json", "--format", "sarif"]);
    assert_eq!(run.code, 1, "{run:?}");
    let sarif = report(&run);
    assert_eq!(sarif["version"], "2.1.0");
    let (tool, result) = (&sarif["runs"][0]["tool"]["driver"], &sarif["runs"][0]["results"][0]);
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("invisible-text"), &json!("error")));
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(tool["rules"][index]["id"], "invisible-text");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "card.json");
    assert_eq!(place["region"]["startLine"], 3);
}

#[test]
fn fix_rewrites_the_file_and_keeps_the_rest() {
    let (folder, path) = scene();
    let before = std::fs::read_to_string(&path).unwrap();
    let run = lint(folder.path(), &["./card.json", "--fix", "-o", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(report(&run)["fixed"], 2);
    let after = std::fs::read_to_string(&path).unwrap();
    let expected = before.replace('\u{200B}', "").replace("\"jsonrpc\"", "\"JSONRPC\"");
    assert_eq!(after, expected);
    // A card without anything to fix is not touched.
    let again = lint(folder.path(), &["./card.json", "--fix", "-o", "json"]);
    assert_eq!((again.code, &report(&again)["fixed"]), (0, &json!(0)), "{again:?}");
}

#[test]
fn fix_with_out_leaves_the_original_and_warns_of_broken_signatures() {
    let (folder, path) = scene();
    let mut card: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    card["signatures"] = json!([{"protected": "e30", "signature": "eA"}]);
    std::fs::write(&path, card.to_string()).unwrap();
    let run = lint(folder.path(), &["./card.json", "--fix", "--out", "new.json"]);
    assert!(run.stderr.contains("signatures do not match the fixed card"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), card.to_string());
    let new = std::fs::read_to_string(folder.path().join("new.json")).unwrap();
    assert!(new.contains("\"name\":\"Agent\""), "{new}");
}

#[test]
fn exit_status_tells_warnings_usage_and_missing_cards_apart() {
    let (folder, path) = scene();
    let card = std::fs::read_to_string(&path).unwrap().replace('\u{200B}', "");
    std::fs::write(&path, card).unwrap();
    std::fs::write(folder.path().join("page.html"), "<html>").unwrap();
    for (arguments, code) in [
        (&["./card.json"][..], 0),
        (&["./card.json", "--strict"], 1),
        (&["./page.html"], 1),
        (&["./missing.json"], 3),
        (&["http://127.0.0.1:1"], 3),
        (&[], 2),
        (&["./card.json", "--out", "x.json"], 2),
        (&["http://127.0.0.1:1", "--fix"], 2),
        (&["./card.json", "--format", "xml"], 2),
        (&["--list"], 0),
    ] {
        let run = lint(folder.path(), arguments);
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
    }
}

#[test]
fn card_of_the_demo_agent_has_no_faults_beyond_its_open_extended_card() {
    let server = Server::start(&[]);
    let run = server.run(&["card", "lint", "--live", "-o", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = report(&run);
    assert_eq!(ids(&report, "error"), [""; 0], "{report:#}");
    assert_eq!(ids(&report, "warning"), ["extended-card-without-security"], "{report:#}");
}

#[test]
fn card_of_a_protected_agent_has_no_faults() {
    let server = Server::start(&["--require-bearer", "secret"]);
    let run =
        server.run(&["card", "lint", "--live", "--strict", "-o", "json", "--bearer", "secret"]);
    assert_eq!((run.code, ids(&report(&run), "warning")), (0, vec![]), "{run:?}");
    let stranger = server.run(&["card", "lint", "--live", "-o", "json"]);
    assert!(ids(&report(&stranger), "info").contains(&"unchecked-interface"), "{stranger:?}");
}

/// Serves a card whose interfaces are at this server, with headers.
async fn serve(headers: [(http::HeaderName, &'static str); 2], older: &'static str) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let interface = |path: &str, version: &str| {
        json!({"url": format!("http://{address}/{path}"), "protocolBinding": "JSONRPC",
            "protocolVersion": version})
    };
    let card = json!({
        "name": "A", "description": "d", "version": "1",
        "supportedInterfaces": [
            interface("version", "1.0"), interface("page", "1.0"), interface("agent", "1.0"),
            {"url": "http://127.0.0.1:1", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"extendedAgentCard": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let error = |code: i32| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}});
        ([(CONTENT_TYPE, "application/json")], body.to_string())
    };
    let router = Router::new()
        .route(older, get(async move || (headers, card.to_string())))
        .route("/version", axum::routing::post(async move || error(-32009)))
        .route("/page", axum::routing::post(async || "<html>".into_response()))
        .route(
            "/agent",
            axum::routing::post(async move |body: String| {
                error(if body.contains("ExtendedAgentCard") { -32007 } else { -32001 })
            }),
        );
    let server = a2a_kit_http::HttpServer::new(router);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn live_checks_report_what_only_the_agent_shows() {
    let well_known = "/.well-known/agent-card.json";
    let bare =
        serve([(CONTENT_TYPE, "text/plain"), (http::header::VARY, "origin")], well_known).await;
    let tagged =
        serve([(ETAG, "\"a\""), (CACHE_CONTROL, "max-age=60")], "/.well-known/agent.json").await;
    let folder = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    for (address, expected) in [
        (
            &bare,
            &[
                "unreachable-interface",
                "rejected-version",
                "wrong-binding",
                "missing-extended-card",
                "missing-cache-control",
                "missing-etag",
                "card-media-type",
            ][..],
        ),
        (&tagged, &["etag-ignored", "legacy-path"]),
    ] {
        let run = lint(folder.path(), &[address, "--live", "-o", "json"]);
        assert_eq!(run.code, 1, "{run:?}");
        let report = report(&run);
        let found: BTreeSet<_> = ids(&report, "").into_iter().map(str::to_owned).collect();
        for id in expected {
            assert!(found.contains(*id), "{id}: {report:#}");
        }
        seen.extend(found);
    }
    // Reported for an agent that requires credentials, above.
    seen.insert("unchecked-interface".to_owned());
    let rules = lint(folder.path(), &["--list", "-o", "json"]).json();
    for rule in rules.as_array().unwrap().iter().filter(|rule| rule["live"] == true) {
        assert!(seen.contains(rule["id"].as_str().unwrap()), "{rule} was not reported");
    }
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/card-lint.md");
const START: &str = "<!-- generated: rules -->\n";
const END: &str = "<!-- end -->\n";

/// The page lists the rules that `--list` prints; `BLESS=1` writes them.
#[test]
fn page_lists_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let rules = lint(folder.path(), &["--list", "-o", "json"]).json();
    let mut table = "| Rule | Severity | Reports | Fix |\n|---|---|---|---|\n".to_owned();
    for rule in rules.as_array().unwrap() {
        let text = |name: &str| rule[name].as_str().unwrap().replace('|', "\\|");
        let marks = [("fixable", " (`--fix`)"), ("live", " (`--live`)")];
        let mark = |(name, mark): &(&str, &'static str)| (rule[*name] == true).then_some(*mark);
        let marks: String = marks.iter().filter_map(mark).collect();
        table.push_str(&format!(
            "| `{}` | {} | {} | {}{marks} |\n",
            text("id"),
            text("severity"),
            text("reports"),
            text("fix"),
        ));
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{START}\n{table}\n{END}{after}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, expected).unwrap();
    } else {
        assert_eq!(page, expected, "BLESS=1 cargo test -p a2a-kit-cli --test client card_lint");
    }
}
