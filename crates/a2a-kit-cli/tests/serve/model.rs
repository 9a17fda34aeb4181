//! `a2a serve --model`: what is refused before it starts, what it announces, and what it sends.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::IntoResponse as _,
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::common::{Run, Server, command};

/// Variables of the person who runs the tests.
const KEYS: [&str; 5] = [
    "OPENAI_API_KEY",
    "OPENAI_API_KEY_FILE",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_KEY_FILE",
];

/// A key that the provider accepts.
const KEY: &str = "planted-key";

/// The output of a server that does not start.
fn refused(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = command();
    for name in KEYS {
        command.env_remove(name);
    }
    command.args(["serve", "--port", "0", "--store", "memory"]).args(arguments);
    let run = Run::of(command.envs(environment.iter().copied()));
    assert!(run.code > 0 && run.stdout.is_empty(), "{arguments:?}: {run:?}");
    run
}

/// Requests: the value of a header of each, and the body.
type Requests = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server with OpenAI's chat API and one model, `known`, and what it received.
async fn provider() -> (String, Requests) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let received = Requests::default();
    let requests = Arc::clone(&received);
    let is_allowed = |headers: &HeaderMap| {
        headers.get("authorization").is_none_or(|value| value == &format!("Bearer {KEY}"))
    };
    let chat = move |headers: HeaderMap, body: Bytes| async move {
        let allowed = is_allowed(&headers);
        requests.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap()));
        if !allowed {
            let error =
                json!({ "error": { "message": "planted-quote", "code": "invalid_api_key" } });
            return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
        }
        let chunks = ["Hello", ", ", "caller!"].map(|text| {
            json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string()
        });
        let end = json!({
            "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 12, "completion_tokens": 3 },
        });
        let events = chunks.into_iter().chain([end.to_string(), "[DONE]".to_owned()]);
        let text: String = events.map(|data| format!("data: {data}\n\n")).collect();
        ([("content-type", "text/event-stream")], text).into_response()
    };
    let models = move |headers: HeaderMap| async move {
        if is_allowed(&headers) {
            Json(json!({ "object": "list", "data": [{ "id": "known", "object": "model" }] }))
                .into_response()
        } else {
            StatusCode::UNAUTHORIZED.into_response()
        }
    };
    let model = move |headers: HeaderMap| async move {
        if is_allowed(&headers) {
            Json(json!({ "id": "known", "object": "model" })).into_response()
        } else {
            StatusCode::UNAUTHORIZED.into_response()
        }
    };
    let app = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .route("/v1/models/known", get(model));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, received)
}

#[test]
fn what_is_missing_or_invalid_is_said_before_the_server_starts() {
    let known = ["openai, openai-chat, anthropic, gemini, ollama", "openrouter"];
    for (arguments, code, texts) in [
        (
            &["--model", "openai-chat/gpt-x"][..],
            2,
            &["--model openai-chat/gpt-x needs an API key: set OPENAI_API_KEY, \
               OPENAI_API_KEY_FILE or model.key; a server without keys needs --base-url"][..],
        ),
        (&["--model", "gpt-x"], 2, &known),
        (&["--model", "acme/gpt-x"], 2, &known),
        (&["--model", "acme/gpt-x"], 2, &["openai-chat", "base"]),
        (
            &["--model", "openai-chat/m", "--base-url", "http://localhost:1/v1/chat/completions"],
            2,
            &["--base-url", "http://localhost:1/v1"],
        ),
        (&["--model", "openai-chat/m", "--base-url", "ftp://localhost"], 2, &["--base-url"]),
        (
            &["--model", "openai-chat/m", "--base-url", "http://me:planted@localhost/v1"],
            2,
            &["--base-url"],
        ),
        (&["--temperature", "1"], 2, &["--temperature is only for --model"]),
        (&["--model", "ollama/m", "--temperature", "hot"], 2, &["expected a number"]),
        (&["--model", "ollama/m", "--echo"], 2, &["exclude each other"]),
        (&["--model", "ollama/m", "--exec", "cat"], 2, &["exclude each other"]),
        (&["--model", "ollama/m", "--system", "/nonexistent"], 2, &["--system", "/nonexistent"]),
        (&["--token-budget", "9"], 2, &["--token-budget is only for --model"]),
        (&["--model", "ollama/m", "--events", "sometimes"], 2, &["--events", "on-request"]),
        (&["--model", "ollama/m", "--max-steps", "many"], 2, &["--max-steps", "integer"]),
        (&["--model", "ollama/m", "--max-tool-calls=-1"], 2, &["--max-tool-calls", "integer"]),
        (&["--model", "ollama/m", "--token-budget", "0"], 2, &["--token-budget", "1"]),
        (&["--model", "ollama/m", "--model-concurrency", "0"], 2, &["--model-concurrency", "1"]),
        (&["--model", "ollama/m", "--cost-budget", "1e3"], 2, &["--cost-budget", "decimal"]),
        (
            &["--model", "ollama/m", "--cost-budget", "0.5"],
            2,
            &["--cost-budget: there is no price for ollama/m", "--prices"],
        ),
        (&["--model", "ollama/m", "--prices", "/nonexistent"], 2, &["--prices /nonexistent: "]),
        (&["--openai", "http://localhost:1/v1"], 2, &["--openai needs --model"]),
        (
            &["--openai", "http://localhost:1", "--model", "m", "--base-url", "http://localhost"],
            2,
            &["--openai and --base-url exclude each other"],
        ),
    ] {
        let run = refused(arguments, &[]);
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
        for text in texts {
            assert!(run.stderr.contains(text), "{arguments:?}: no {text:?} in {run:?}");
        }
        assert!(!run.stderr.contains("planted"), "{arguments:?}: {run:?}");
    }
}

#[test]
fn prices_are_read_with_the_line_of_an_error_and_a_budget_needs_one_currency() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prices.toml");
    let with = |text: &str| {
        fs::write(&file, text).unwrap();
        let models = ["--model", "ollama/m", "--fallback", "ollama/n", "--cost-budget", "0.5"];
        let run = refused(&[&models[..], &["--prices", file.to_str().unwrap()]].concat(), &[]);
        assert_eq!(run.code, 2, "{run:?}");
        run.stderr
    };
    let price = "input = \"1\"\noutput = \"2\"\ncurrency = ";
    let error = with(&format!("[\"ollama/m\"]\n{price}\"EUR\"\nouput = \"1\"\n"));
    assert!(error.contains("prices.toml:5: unknown field `ouput`"), "{error}");
    let error = with(&format!("[\"ollama/m\"]\n{price}\"EUR\"\n"));
    assert!(error.contains("--cost-budget: there is no price for ollama/n"), "{error}");
    let two = format!("[\"ollama/m\"]\n{price}\"EUR\"\n[\"ollama/n\"]\n{price}\"USD\"\n");
    let error = with(&two);
    assert!(error.contains("--cost-budget: there is another currency for ollama/n"), "{error}");
}

#[test]
fn key_goes_to_another_machine_over_http_with_a_warning_and_not_in_production() {
    let url = ["--model", "openai-chat/m", "--base-url", "http://192.0.2.1/v1"];
    let key = [("A2ACLI_SERVE_MODEL_KEY", KEY)];
    let run = refused(&[&url[..], &["--production", "--anonymous"]].concat(), &key);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("http://192.0.2.1/v1"), "{run:?}");
    let (server, log) = Server::start_and_read_with(&url, &key);
    server.terminate();
    server.ended();
    let log = log.join().unwrap();
    assert!(log.contains("warning: ") && log.contains("http://192.0.2.1/v1"), "{log}");
    // Without a key there is nothing to warn about.
    let (server, log) = Server::start_and_read_with(&url, &[]);
    server.terminate();
    server.ended();
    assert_eq!(log.join().unwrap(), "");
}

#[test]
fn secrets_of_a_model_are_printed_as_set() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a2a.toml");
    let text = "[model]\nname = \"ollama/m\"\nkey = \"planted-key\"\n\
                headers = [\"X-Team: planted-team\"]\ntemperature = 0.5\n";
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let print = |arguments: &[&str]| {
        let mut command = command();
        command.args(["serve", "--print-settings", "--settings"]).arg(&file).args(arguments);
        Run::of(&mut command)
    };
    let run = print(&["--max-output-tokens", "9"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let place = file.display();
    for line in [
        format!("name = \"ollama/m\" # {place}:2"),
        format!("# key = (set) # {place}:3"),
        format!("# headers = (set) # {place}:4"),
        format!("temperature = 0.5 # {place}:5"),
        "max_output_tokens = 9 # --max-output-tokens".to_owned(),
    ] {
        assert!(run.stdout.lines().any(|one| one == line), "{line}: {run:?}");
    }
    let json = print(&["-o", "json"]);
    for run in [&run, &json] {
        assert!(!run.stdout.contains("planted"), "{run:?}");
    }
    let short = print(&["--openai", "http://localhost:1/v1", "--model", "some/model"]);
    for line in [
        "name = \"openai-chat/some/model\" # --model",
        "base_url = \"http://localhost:1/v1\" # --openai",
    ] {
        assert!(short.stdout.lines().any(|one| one == line), "{line}: {short:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_of_the_model_is_streamed_and_the_card_names_no_model() {
    let (url, received) = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("system.md");
    fs::write(&system, "Be brief.\n").unwrap();
    let server = Server::start_with(
        &["--openai", &url, "--model", "secret-model", "--system", system.to_str().unwrap()],
        &[
            ("A2ACLI_SERVE_MODEL_EXTRA", "{\"seed\": 7}"),
            ("A2ACLI_SERVE_MODEL_HEADERS", "X-Team: a"),
        ],
    );
    let line = format!("Model: openai-chat/secret-model at {url} (key: none)");
    assert!(server.lines.contains(&line), "{:?}", server.lines);
    let card = server.json(&["card", "get"]);
    assert_eq!(
        (&card["name"], &card["capabilities"]["streaming"]),
        (&"Assistant".into(), &true.into())
    );
    assert_eq!(card["description"], "Answers with a language model");
    assert_eq!(card["skills"][0]["id"], "chat");
    assert_eq!(card["defaultOutputModes"], json!(["text/markdown", "text/plain"]));
    assert!(!card.to_string().contains("secret-model"), "{card}");
    let events = server.run(&["send", "hi", "--stream", "-o", "json"]);
    let updates: Vec<_> =
        events.lines().into_iter().filter(|event| event["artifactUpdate"].is_object()).collect();
    let text: String = updates
        .iter()
        .flat_map(|update| update["artifactUpdate"]["artifact"]["parts"].as_array().unwrap())
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(text, "Hello, caller!", "{events:?}");
    let requests = received.lock().unwrap();
    let [(headers, body)] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((&body["model"], &body["seed"]), (&"secret-model".into(), &7.into()), "{body}");
    assert_eq!(body["messages"][0]["role"], "system", "{body}");
    assert_eq!(headers["x-team"], "a");
    assert!(!headers.contains_key("authorization"), "{headers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_reports_its_cost_and_ends_at_its_budget_before_the_request() {
    let (url, received) = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let prices = folder.path().join("prices.toml");
    let price = "[\"openai-chat/m\"]\ninput = \"2.50\"\noutput = \"10\"\ncurrency = \"EUR\"\n";
    fs::write(&prices, price).unwrap();
    let usage = ["--usage", "always", "--events", "never", "--prices", prices.to_str().unwrap()];
    let model = ["--openai", &url, "--model", "m", "--cost-budget", "0.001"];
    let server = Server::start_with(&[&model[..], &usage].concat(), &[]);
    let card = server.json(&["card", "get"]);
    let uris: Vec<_> =
        card["capabilities"]["extensions"].as_array().into_iter().flatten().collect();
    let declares = |uri: &str| uris.iter().any(|extension| extension["uri"] == uri);
    assert!(declares("urn:x-a2a:usage:1") && !declares("urn:x-a2a:model-events:1"), "{card}");
    let task = server.run(&["send", "hi", "-o", "json"]).json()["task"].clone();
    let report = &task["metadata"]["urn:x-a2a:usage:1"];
    assert_eq!(report["cost"], json!({ "amount": "0.00006", "currency": "EUR" }), "{task}");

    let long = "a".repeat(3_000);
    let over_cost = server.run(&["send", &long, "-o", "json"]).json()["task"].clone();
    let server = Server::start_with(&[&model[..4], &["--token-budget", "100"]].concat(), &[]);
    let over_tokens = server.run(&["send", &long, "-o", "json"]).json()["task"].clone();
    for task in [over_cost, over_tokens] {
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
        let text = "The budget of this task is used up";
        assert_eq!(task["status"]["message"]["parts"][0]["text"], text);
    }
    assert_eq!(received.lock().unwrap().len(), 1, "nothing is sent beyond the budget");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provider_is_checked_before_the_start_if_asked() {
    let (url, _received) = provider().await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}/v1");
    let check = |model: &str, url: &str, key: &str| {
        let model = format!("openai-chat/{model}");
        let arguments = ["--check-model", "--model", &model, "--base-url", url];
        refused(&arguments, &[("A2ACLI_SERVE_MODEL_KEY", key)])
    };
    for (run, code) in [
        (check("known", &url, "wrong-key"), 4),
        (check("unknown", &url, KEY), 2),
        (check("known", &closed, KEY), 3),
    ] {
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stderr.contains("Hint: "), "{run:?}");
        assert!(!run.stderr.contains(KEY), "{run:?}");
    }
    let arguments = ["--check-model", "--model", "openai-chat/known", "--base-url", &url];
    let server = Server::start_with(&arguments, &[("A2ACLI_SERVE_MODEL_KEY", KEY)]);
    assert!(
        server.lines.iter().any(|line| line.ends_with("(key: model.key)")),
        "{:?}",
        server.lines
    );
}

/// Fails if a secret is in a file of a folder.
fn assert_clean(folder: &Path, secret: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let has_secret = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!has_secret, "{secret} is in {}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_key_fails_the_task_and_is_in_no_answer_log_and_store() {
    let (url, received) = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let (server, log) = Server::start_and_read_in(
        folder.path(),
        &["--model", "openai-chat/m", "--base-url", &url, "--store", "tasks.db", "--quiet=false"],
        &[("A2ACLI_SERVE_MODEL_KEY", "planted-wrong"), ("RUST_LOG", "trace")],
    );
    let task = server.run(&["send", "hi", "-o", "json"]);
    let status = task.json()["task"]["status"].clone();
    assert_eq!(status["state"], "TASK_STATE_FAILED", "{task:?}");
    let text = "The model provider refused the credentials of this agent";
    assert_eq!(status["message"]["parts"][0]["text"], text);
    assert_eq!(received.lock().unwrap().len(), 1, "a refused key is not sent again");
    let lines = server.lines.join("\n");
    server.terminate();
    server.ended();
    let log = log.join().unwrap();
    for (case, text) in [("log", &log), ("task", &task.stdout), ("start", &lines)] {
        assert!(!text.contains("planted"), "{case}: {text}");
    }
    assert_clean(folder.path(), "planted");
}
