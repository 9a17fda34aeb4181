//! The settings of `a2a serve`: a file, variables and flags, and what is printed of them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::common::{Run, Server, command};
use a2a_kit_auth::jose::{Algorithm, SigningKey};
use a2a_test_certificates::Identity;
use tempfile::TempDir;

/// A folder with a settings file that only its owner reads.
fn written(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a2a.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (folder, path)
}

fn printed(path: &Path, flags: &[&str], variables: &[(&str, &str)]) -> Run {
    Run::of(
        command()
            .args(["serve", "--print-settings", "--settings"])
            .arg(path)
            .args(flags)
            .envs(variables.iter().copied()),
    )
}

/// The lines that say something, without where it comes from.
fn values(printed: &str) -> Vec<String> {
    let line = |line: &str| line.rsplit_once(" # ").map_or(line, |(value, _)| value).to_owned();
    printed.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

const FULL: &str = r#"
[listen]
port = 9001
grpc_port = 9002
protocol = ["1.0", "0.3"]
transport = ["grpc", "http+json"]
public_url = "http://agents.example"

[agent]
name = "From \"the\" file"
streaming = false
required_extensions = ["urn:x-one:1", "urn:x-two,2"]

[exec]
program = ["cat", "-u"]
timeout = 90
concurrency = 4

[store]
location = "memory"
retention = "24h"

[webhooks]
allow = ["10.0.0.0/8"]

[limits]
max_body_bytes = "1MiB"

[telemetry]
log_traffic = false
"#;

#[test]
fn flags_precede_variables_which_precede_the_file_and_the_defaults() {
    let (_folder, path) = written("[listen]\nport = 1\nhost = \"::1\"\ngrpc_port = 2\n");
    let run = printed(
        &path,
        &["--port", "3"],
        &[("A2ACLI_SERVE_LISTEN_PORT", "2"), ("A2ACLI_SERVE_LISTEN_GRPC_PORT", "4")],
    );
    assert_eq!(run.code, 0, "{run:?}");
    let place = path.display();
    for line in [
        "port = 3 # --port".to_owned(),
        "grpc_port = 4 # A2ACLI_SERVE_LISTEN_GRPC_PORT".to_owned(),
        format!("host = \"::1\" # {place}:3"),
        "enabled = true # default".to_owned(),
        "# public_url is not set".to_owned(),
    ] {
        assert!(run.stdout.lines().any(|one| one == line), "{line}: {run:?}");
    }
}

#[test]
fn printed_settings_round_trip() {
    let (folder, path) = written(FULL);
    let token = folder.path().join("token");
    fs::write(&token, "s3cret-of-file\n").unwrap();
    let with_token =
        format!("{FULL}\n[auth]\nextended_card_token_file = \"{}\"\n", token.display());
    fs::write(&path, with_token).unwrap();
    let first = printed(&path, &["--name", "Flagged"], &[]);
    assert_eq!((first.code, first.stderr.as_str()), (0, ""), "{first:?}");
    for line in [
        "protocol = [\"1.0\", \"0.3\"]",
        "transport = [\"grpc\", \"http+json\"]",
        "program = [\"cat\", \"-u\"]",
        "timeout = 90",
        "retention = \"24h\"",
        "name = \"Flagged\"",
        "streaming = false",
        "required_extensions = [\"urn:x-one:1\", \"urn:x-two,2\"]",
        "log_traffic = false",
    ] {
        assert!(values(&first.stdout).iter().any(|one| one == line), "{line}: {first:?}");
    }
    assert!(!first.stdout.contains("s3cret-of-file"), "{first:?}");
    assert!(first.stdout.contains("extended_card_token_file = "), "{first:?}");

    let again = folder.path().join("again.toml");
    fs::write(&again, &first.stdout).unwrap();
    let second = printed(&again, &[], &[]);
    assert_eq!(second.code, 0, "{second:?}");
    assert_eq!(values(&second.stdout), values(&first.stdout));
}

#[test]
fn problems_have_their_line_and_a_suggestion() {
    for (text, said) in [
        ("[listen]\nprot = 1\n", ":2: listen.prot: unknown setting, did you mean listen.port?"),
        ("port = 1\n", ":1: port: unknown setting, did you mean listen.port?"),
        (
            "[store]\nmax-body = 1\n",
            ":2: store.max-body: unknown setting, did you mean limits.max_body_bytes?",
        ),
        ("\n\n[limit]\n", ":3: limit: unknown setting, did you mean [limits]?"),
        (
            "[listen]\nport = \"x\"\n",
            ":2: listen.port: expected an integer from 0 to 65535, found a string",
        ),
        (
            "[listen]\nport = 70000\n",
            ":2: listen.port: expected an integer from 0 to 65535, found 70000",
        ),
        ("[listen]\ngrpc_in_card = \"no\"\n", ":2: listen.grpc_in_card: expected always, never"),
        ("[agent]\necho = 1\n", ":2: agent.echo: expected true or false, found 1"),
        ("[exec]\ntimeout = \"soon\"\n", ":2: exec.timeout: expected a duration"),
        ("[webhooks]\nallow = \"x\"\n", ":2: webhooks.allow: expected an array of strings"),
        ("[webhooks]\nallow = [1]\n", ":2: webhooks.allow[0]: expected a string, found 1"),
        ("listen = 1\n", ":1: listen: expected a table"),
        ("[listen]\nport = \n", ":2: "),
        ("[agent]\necho = true\n[exec]\ncommand = \"cat\"\n", "exclude each other"),
        ("[store]\nlocation = \"x\"\nlocation_file = \"y\"\n", "store.location"),
        ("[store]\nlocation = \"env:NO_SUCH_VARIABLE\"\n", "NO_SUCH_VARIABLE"),
        ("[store]\nlocation = \"memory\"\nnode = \"n\"\n", ":3: store.node: --node requires"),
    ] {
        let (_folder, path) = written(text);
        let run = printed(&path, &[], &[]);
        assert_eq!(run.code, 2, "{text}: {run:?}");
        assert!(run.stderr.contains(said), "{text}: {run:?}");
        // Starting comes to the same.
        let start = Run::of(command().args(["serve", "--settings"]).arg(&path));
        assert_eq!((start.code, start.stderr), (2, run.stderr), "{text}");
    }
}

#[test]
fn all_problems_are_reported_together() {
    let (_folder, path) =
        written("[listen]\nprot = 1\nhost = 2\n[limits]\nmax_body_bytes = \"lots\"\n");
    let run = Run::of(command().args(["serve", "-o", "json", "--settings"]).arg(&path));
    let problems = run.lines()[0]["error"]["details"]["problems"].clone();
    let lines: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["line"].as_u64().unwrap(), one["key"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(lines.len(), 3, "{run:?}");
    for expected in [(2, "listen.prot"), (3, "listen.host"), (5, "limits.max_body_bytes")] {
        assert!(lines.contains(&(expected.0, expected.1.to_owned())), "{run:?}");
    }
}

#[test]
fn a_variable_is_read_as_the_file_is_and_a_wrong_one_is_named() {
    let start = |name: &str, value: &str| {
        Run::of(command().args(["serve", "--print-settings"]).env(name, value))
    };
    let run = start("A2ACLI_SERVE_WEBHOOKS_ENABLED", "no");
    let line = "enabled = false # A2ACLI_SERVE_WEBHOOKS_ENABLED";
    assert!(run.stdout.lines().any(|one| one == line), "{run:?}");
    for (name, value, said) in [
        ("A2ACLI_SERVE_LISTEN_PORT", "x", "A2ACLI_SERVE_LISTEN_PORT"),
        ("A2ACLI_SERVE_TELEMETRY_LOG_TRAFFIC", "maybe", "A2ACLI_SERVE_TELEMETRY_LOG_TRAFFIC"),
        ("A2ACLI_SERVE_LISTEN_PROT", "1", "did you mean A2ACLI_SERVE_LISTEN_PORT?"),
        ("A2ACLI_SERVE_SETTINGS", "/nonexistent.toml", "/nonexistent.toml"),
    ] {
        let run = start(name, value);
        assert_eq!(run.code, 2, "{name}: {run:?}");
        assert!(run.stderr.contains(said), "{name}: {run:?}");
    }
}

#[test]
fn flag_replaces_exclusive_settings_and_disables_switches() {
    let (_folder, path) = written("[exec]\ncommand = \"cat\"\n[agent]\nstreaming = false\n");
    let run = printed(&path, &["--echo", "--no-streaming=false", "--no-compat"], &[]);
    assert_eq!(run.code, 0, "{run:?}");
    for line in [
        "echo = true # --echo",
        "# command is not set",
        "streaming = true # --no-streaming",
        "protocol = [\"1.0\"] # --no-compat",
    ] {
        assert!(run.stdout.lines().any(|one| one == line), "{line}: {run:?}");
    }
}

#[test]
fn secrets_are_never_printed_and_an_open_file_with_one_is_warned_about() {
    let (folder, path) = written(
        "[auth]\nextended_card_token = \"s3cret\"\n\
         [store]\nlocation = \"postgres://me:s3cret@db/tasks\"\n",
    );
    let closed = printed(&path, &[], &[]);
    assert_eq!((closed.code, closed.stderr.as_str()), (0, ""), "{closed:?}");
    let place = path.display();
    for line in [
        format!("# extended_card_token = (set) # {place}:2"),
        format!("# location = (set) # {place}:4"),
    ] {
        assert!(closed.stdout.lines().any(|one| one == line), "{line}: {closed:?}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let open = printed(&path, &[], &[]);
    assert!(open.stderr.starts_with("warning: ") && open.stderr.contains("chmod 600"), "{open:?}");
    let json = printed(&path, &["-o", "json"], &[]);
    for run in [&closed, &open, &json] {
        assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run:?}");
    }
    let settings = json.json();
    let token = settings["settings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "auth.extended_card_token")
        .unwrap()
        .clone();
    assert_eq!((&token["value"], &token["source"]), (&"(set)".into(), &"file".into()));

    // A secret that is elsewhere is led to, and an open file that holds none is no matter.
    fs::write(&path, "[auth]\nextended_card_token = \"env:CARD_TOKEN\"\n").unwrap();
    let run = printed(&path, &[], &[("CARD_TOKEN", "s3cret")]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    assert!(run.stdout.contains("extended_card_token = \"env:CARD_TOKEN\""), "{run:?}");
    let secret = folder.path().join("secret");
    fs::write(&secret, " \n").unwrap();
    let text = format!("[auth]\nextended_card_token_file = \"{}\"\n", secret.display());
    fs::write(&path, text).unwrap();
    let empty = printed(&path, &[], &[]);
    assert!(empty.code == 2 && empty.stderr.contains("is empty"), "{empty:?}");
}

#[test]
fn a_server_runs_by_its_file() {
    let (folder, path) = written("");
    let token = folder.path().join("token");
    fs::write(&token, "s3cret\n").unwrap();
    let text = format!(
        "[agent]\nname = \"Filed\"\necho = true\n\
         [listen]\nport = 1\ntransport = [\"http+json\"]\n\
         [auth]\nextended_card_token_file = \"{}\"\n\
         [telemetry]\nlog_traffic = false\n",
        token.display()
    );
    fs::write(&path, text).unwrap();
    // The port is a flag of every server of these tests.
    let server = Server::start(&["--settings", path.to_str().unwrap()]);
    let card = server.json(&["card", "get"]);
    assert_eq!(card["name"], "Filed");
    let bindings: Vec<_> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["protocolBinding"].as_str().unwrap())
        .collect();
    assert!(bindings.iter().all(|one| *one == "HTTP+JSON"), "{card}");
    assert!(card["securitySchemes"]["bearer"].is_object(), "{card}");
}

#[test]
fn the_help_is_in_groups() {
    let help = Run::of(command().args(["serve", "--help"]));
    for heading in ["Settings:", "Address and protocol:", "Agent and card:", "Store:", "Limits:"] {
        assert!(help.stdout.lines().any(|line| line == heading), "{heading}: {help:?}");
    }
    assert!(!help.stdout.contains("\nOptions:\n      --host"), "{help:?}");
}

#[test]
fn the_page_has_every_key_and_an_example_that_is_read() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("## A complete file").nth(1).unwrap();
    let example = example.split("```toml").nth(1).unwrap().split("```").next().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets");
    fs::create_dir(&secrets).unwrap();
    fs::write(secrets.join("shared-token"), "t").unwrap();
    fs::write(secrets.join("model-key"), "k").unwrap();
    let hash =
        "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$NI8OXGVFYWV+fOXoCwVjHzSAvIR4oYGNAoQk2I8MjhM";
    fs::write(secrets.join("bob.hash"), hash).unwrap();
    fs::write(secrets.join("a2a-keys"), "07".repeat(32)).unwrap();
    fs::write(secrets.join("webhook-key.pem"), SigningKey::generate_pem(Algorithm::Es256).unwrap())
        .unwrap();
    let agent = Identity::self_signed("agent.example.com");
    agent.write(&secrets, "agent");
    fs::write(secrets.join("clients.crt"), &agent.certificate).unwrap();
    fs::write(secrets.join("company.crt"), &agent.certificate).unwrap();
    let path = folder.path().join("a2a.toml");
    fs::write(&path, example.replace("/run/secrets", secrets.to_str().unwrap())).unwrap();
    let variables = [
        ("DATABASE_URL", "postgres://me:s3cret@db/tasks"),
        ("SHARED_KEY", "k"),
        ("ANN_KEY", "k"),
        ("CLIENT_SECRET", "s"),
    ];
    let run = printed(&path, &["-o", "json"], &variables);
    assert_eq!(run.stderr, "", "{run:?}");
    for setting in run.json()["settings"].as_array().unwrap() {
        let path = setting["name"].as_str().unwrap();
        let name = path.rsplit('.').next().unwrap();
        let is_there =
            ["\n| `", "\n| `[["].iter().any(|start| page.contains(&format!("{start}{path}")));
        assert!(is_there, "{path} is not on the page");
        if path == "auth.api_key" {
            // What may stand there many times is described by its keys.
            assert!(setting["value"]["caller"] == "ann", "{setting}");
        }
        if setting["source"] == "default" {
            assert!(example.contains(&format!("\n# {name} = ")), "{path} is not in the example");
        }
    }
}

#[test]
fn renamed_settings_are_rejected_with_their_new_names() {
    let (_folder, path) = written("[limits]\nbody_time = \"1s\"\n");
    let file = printed(&path, &[], &[]);
    let variable = Run::of(command().arg("serve").env("A2ACLI_SERVE_LIMITS_BODY_TIME", "1s"));
    let flag = Run::of(command().args(["serve", "--body-time", "1s"]));
    for (run, message) in [
        (file, ":2: limits.body_time: renamed to limits.body_total_timeout"),
        (variable, "TIME: renamed to A2ACLI_SERVE_LIMITS_BODY_TOTAL_TIMEOUT"),
        (flag, "--body-time was renamed to --body-total-timeout"),
    ] {
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(message), "{message}: {run:?}");
    }
    // Only `serve` had the flag.
    let other = Run::of(command().args(["send", "hi", "--grace", "1s"]));
    assert!(other.code == 2 && !other.stderr.contains("renamed"), "{other:?}");
}

#[test]
fn the_schema_describes_keys_tables_and_secrets() {
    let schema = Run::of(command().args(["serve", "--settings-schema"])).json();
    let limit = &schema["properties"]["limits"]["properties"]["max_body_bytes"];
    assert_eq!(limit["default"], "8MiB", "{limit}");
    assert_eq!(limit["type"], serde_json::json!(["string", "integer"]), "{limit}");
    let basic = &schema["properties"]["auth"]["properties"]["basic"]["items"];
    assert_eq!(basic["required"], serde_json::json!(["user"]), "{basic}");
    for key in ["password_hash", "password_hash_file", "tenants"] {
        assert!(basic["properties"][key].is_object(), "{key}: {basic}");
    }
}
