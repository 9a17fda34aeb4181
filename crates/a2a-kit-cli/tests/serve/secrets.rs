//! Secrets that an operator can write somewhere leave a server of a command nowhere: not in cards,
//! errors, events, webhooks, metrics, spans and logs.
#![cfg(unix)]

use crate::common;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::common::{Run, Server};
use a2a_tests::collector::Collector;
use serde_json::json;

/// What every planted secret contains.
const PLANTED: &str = "planted-";

/// A receiver of webhooks that keeps all it gets.
fn receiver() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let received = Arc::<Mutex<String>>::default();
    let all = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            let mut bytes = vec![0; 64 << 10];
            let mut length = 0;
            // The body follows its head.
            while let Ok(count @ 1..) = stream.read(&mut bytes[length..]) {
                length += count;
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                if text.contains("\r\n\r\n{") && text.ends_with('}') {
                    break;
                }
            }
            all.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            let _closed = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (url, received)
}

/// Does what the message says, without printing anything of itself.
const COMMAND: &str = ": planted-command; read -r message; case \"$message\" in \
    *fails*) exit 3;; *dies*) kill -9 $$;; *talks*) echo fine;; *) echo 'not json';; esac";

/// The settings of a server, each with a secret.
fn settings(folder: &Path, exec: &str, audit: &str, collector: &str) -> String {
    let hash =
        "$argon2id$v=19$m=19456,t=2,p=1$cGxhbnRlZC1zYWx0$cGxhbnRlZC1oYXNocGxhbnRlZC1oYXNoMTI";
    let text = format!(
        "[exec]\n{exec}\nenv = [\"MODEL\"]\n\
         [telemetry]\notlp_endpoint = \"{collector}\"\n\
         audit_file = \"{audit}\"\n\
         [webhooks]\nallow = [\"127.0.0.1\"]\n\
         [[auth.api_key]]\ncaller = \"ann\"\nkey = \"env:ANN_KEY\"\n\
         [[auth.bearer]]\ncaller = \"bob\"\ntoken = \"planted-token\"\n\
         [[auth.basic]]\nuser = \"cat\"\npassword_hash = \"{hash}\"\n\
         [[auth.introspection]]\nissuer = \"http://127.0.0.1:1\"\n\
         url = \"http://127.0.0.1:1/?key=planted-query\"\n\
         client_id = \"server\"\nclient_secret = \"planted-client\"\nscheme = \"other\"\n"
    );
    let file = folder.join("serve.toml");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Everything that callers get from a server, with their own keys.
async fn answers(server: &Server, hook: &str) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let key = ("x-api-key", "planted-key");
    let json = ("content-type", "application/json");
    for path in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/extendedAgentCard",
        "/v1/card",
        "/v1/extendedAgentCard",
        "/nothing",
        "/metrics",
        "/healthz",
        "/",
    ] {
        for headers in [&[][..], &[key], &[key, ("a2a-version", "1.0")]] {
            let response = common::http("GET", &(server.url() + path), headers, "").await;
            let text = format!("{:?} {}", response.headers(), text(response.body()));
            answers.push((format!("GET {path}"), text));
        }
    }
    for (method, revision) in [
        ("GetExtendedAgentCard", "1.0"),
        ("agent/getAuthenticatedExtendedCard", "0.3"),
        ("agent/authenticatedExtendedCard", "0.2"),
        ("tasks/get", "0.1"),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "x"}});
        for credential in [key, ("authorization", "Bearer unknown"), ("x-api-key", "wrong")] {
            let headers = [json, credential, ("a2a-version", revision)];
            let response = common::http("POST", &server.url(), &headers, &body.to_string()).await;
            answers.push((method.to_owned(), text(response.body())));
        }
    }
    for word in ["talks", "fails", "dies", "else"] {
        let message = json!({"messageId": word, "role": "ROLE_USER", "parts": [{"text": word}]});
        let config = json!({"url": hook, "authentication":
            {"scheme": "Bearer", "credentials": "planted-webhook"}});
        let params = json!({"message": message,
            "configuration": {"taskPushNotificationConfig": config}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let headers = [json, key, ("a2a-version", "1.0")];
        let response = common::http("POST", &server.url(), &headers, &body.to_string()).await;
        answers.push((format!("send {word}"), text(response.body())));
    }
    answers
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The same from a client, over each binding and in each revision.
fn of_client(server: &Server) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let each = [("jsonrpc", "1.0"), ("rest", "1.0"), ("grpc", "1.0")];
    let each = each.into_iter().chain([("jsonrpc", "0.3"), ("grpc", "0.3"), ("jsonrpc", "0.2")]);
    for (binding, revision) in each {
        for arguments in [
            &["card", "get", "--extended", "-o", "json"][..],
            &["send", "talks", "--stream", "-o", "json"],
            &["send", "fails", "--stream", "-o", "json"],
            &["send", "hi", "--task-id", "unknown"],
        ] {
            let mut client = server.client(arguments);
            client.args(["--transport", binding, "--a2a-version", revision]);
            client.args(["--api-key", "planted-key"]);
            let run = Run::of(&mut client);
            answers.push((format!("{binding} {revision} {arguments:?}"), run.stdout + &run.stderr));
        }
    }
    answers
}

fn assert_clean(case: &str, text: &str) {
    if let Some(place) = text.find(PLANTED) {
        let around = text.floor_char_boundary(place.saturating_sub(300))
            ..text.floor_char_boundary((place + 100).min(text.len()));
        panic!("{case} has a secret: {}", &text[around]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_leaves_a_server_of_a_command_has_a_secret() {
    let command = format!("command = {COMMAND:?}\n");
    let program = format!(
        "program = [\"/bin/sh\", \"-c\", {COMMAND:?}, \"planted-name\", \"planted-argument\"]\n"
    );
    let (hook, received) = receiver();
    for (exec, log_format) in [
        (command.clone(), "text"),
        (format!("{command}io = \"jsonl\"\n"), "json"),
        (format!("{program}chunk = \",\"\n"), "text"),
        (format!("{program}expose_stderr = true\n"), "json"),
        ("program = [\"./planted-program\", \"planted-argument\"]\n".into(), "text"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("planted-directory");
        let temporary = folder.path().join("planted-temporary");
        fs::create_dir(&directory).unwrap();
        // Is there, and can't be started.
        let program = directory.join("planted-program");
        fs::write(&program, "#!/nonexistent/planted-interpreter\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        fs::create_dir(&temporary).unwrap();
        let audit = folder.path().join("audit");
        let collector = Collector::start().await;
        let file = settings(folder.path(), &exec, audit.to_str().unwrap(), &collector.url);
        let mut arguments = vec!["--settings", &*file, "--quiet=false"];
        if log_format == "json" {
            arguments.push("--log-json");
        }
        let (server, log) = Server::start_and_read_in(
            &directory,
            &arguments,
            &[
                ("ANN_KEY", "planted-key"),
                ("MODEL", "planted-variable"),
                ("CLOUD_KEY", "planted-inherited"),
                ("TMPDIR", temporary.to_str().unwrap()),
                ("RUST_LOG", "info"),
            ],
        );
        assert_clean("the announcement", &server.lines.join("\n"));
        let answers = answers(&server, &hook).await;
        assert!(answers.iter().any(|(_, text)| text.contains("Runs a command")), "{answers:?}");
        for (case, answer) in answers.into_iter().chain(of_client(&server)) {
            // Callers see what they sent.
            assert_clean(&format!("{exec:?}: {case}"), &answer.replace("planted-webhook", ""));
        }
        let end = Instant::now() + Duration::from_secs(30);
        let done = |state: &str| received.lock().unwrap().contains(state);
        while !done("TASK_STATE_FAILED") {
            assert!(Instant::now() < end, "no webhook: {}", received.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        server.terminate();
        let (code, printed) = server.ended();
        assert_eq!(code, Some(0));
        assert_clean("stdout", &printed);
        assert_clean(
            "a webhook",
            &std::mem::take(&mut *received.lock().unwrap()).replace("Bearer planted-webhook", ""),
        );
        let spans = collector.wait("the spans", |spans| spans.len() >= 20).await;
        assert_clean("a span", &format!("{spans:?}"));
        let log = log.join().unwrap();
        assert!(log.contains("INFO"), "{log}");
        assert_clean("the log", &log);
        let audited = fs::read_to_string(&audit).unwrap();
        assert!(audited.contains("authentication_failed"), "{audited}");
        assert_clean("the audit log", &audited);
    }
}

/// The output of a server that does not start.
fn refused(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = common::command();
    command.args(["serve", "--port", "0"]).args(arguments).envs(environment.iter().copied());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn server_that_does_not_start_names_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let jwt = with(
        "jwt.toml",
        "[[auth.jwt]]\nissuer = \"https://a.example\"\naudiences = [\"a\"]\n\
        jwks_url = \"https://me:planted-1@a.example/keys\"\n",
    );
    let oidc = with(
        "oidc.toml",
        "[[auth.oidc]]\naudiences = [\"a\"]\n\
        url = \"https://me:planted-2@a.example/.well-known/openid-configuration\"\n",
    );
    let introspection = with(
        "introspection.toml",
        "[[auth.introspection]]\n\
        issuer = \"https://a.example\"\nurl = \"https://me:planted-3@a.example/\"\n\
        client_id = \"c\"\nclient_secret = \"planted-4\"\n",
    );
    let upstream = ["--proxy", "-e", "http://me:planted-5@127.0.0.1:1"];
    for (arguments, named) in [
        (&["--settings", &*jwt][..], "jwks_url"),
        (&["--settings", &*oidc], "url"),
        (&["--settings", &*introspection], "url"),
        (&[&upstream[..], &["--upstream-transport", "jsonrpc"]].concat(), "--endpoint"),
        (&["--proxy", "http://me:planted-6@127.0.0.1:1"], "reference"),
        (&["--echo", "--public-url", "https://me:planted-7@a.example"], "--public-url"),
        (&["--echo", "--grpc-address", "me:planted-8@a.example:443"], "--grpc-address"),
        (&["--echo", "--store", "postgres://me:planted-9@127.0.0.1:1/db"], "--store"),
        (&["--echo", "--store", "postgres://me:planted-9@127.0.0.1:x/db"], "--store"),
        (&["--echo", "--store", "mysql://me:planted-10@127.0.0.1:1/db"], "--store"),
        (
            &["--echo", "--store", "postgres://a/b", "--cluster", "redis://planted-11@a"],
            "--cluster",
        ),
        (&["--echo", "--otlp-endpoint", "http://me:planted-12@127.0.0.1:1"], "--otlp-endpoint"),
        (&["--exec", ": planted-13", "--exec-env", "A2A_TASK_ID"], "--exec-env"),
        (&["--exec", ": planted-14", "--io", "planted"], "--io"),
    ] {
        let run = refused(arguments, &[]);
        assert!(run.code > 0, "{arguments:?} starts: {run:?}");
        assert!(run.stderr.contains(named), "{arguments:?}: {run:?}");
        assert_clean(&format!("{arguments:?}"), &(run.stdout + &run.stderr));
    }
    let endpoint = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:planted-15@127.0.0.1:1")];
    let run = refused(&["--echo", "--store", "memory"], &endpoint);
    assert!(run.code > 0 && !run.stderr.contains(PLANTED), "{run:?}");
}

#[tokio::test]
async fn address_of_an_upstream_agent_without_a_card_stays_with_the_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let endpoint = format!("http://{address}/planted-path?token=planted-query");
    let arguments =
        ["--proxy", "-e", &endpoint, "--upstream-transport", "jsonrpc", "--quiet=false"];
    let (server, log) = Server::start_and_read_with(&arguments, &[("RUST_LOG", "info")]);
    let secret = "planted-query";
    assert!(!server.lines.join("\n").contains(secret), "{:?}", server.lines);
    let card = server.run(&["card", "get", "-o", "json"]);
    let sent = server.run(&["send", "hi"]);
    assert_eq!(sent.code, 3, "{sent:?}");
    for (case, text) in [("card", card.stdout), ("error", sent.stdout + &sent.stderr)] {
        assert!(!text.contains(PLANTED) && !text.contains(&address), "{case}: {text}");
    }
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    let log = log.join().unwrap();
    assert!(!log.contains(secret), "{log}");
}
