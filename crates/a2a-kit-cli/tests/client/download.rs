//! `a2a task download` and `a2a send --save-artifacts`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::common::{Run, Server, command};
use axum::{
    Router,
    body::{Body, Bytes},
    http::{StatusCode, header},
    routing::get,
};
use serde_json::json;

const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];

/// An agent with a script of its own.
fn agent(folder: &Path, script: &str) -> Server {
    let path = folder.join("agent.toml");
    fs::write(&path, script).unwrap();
    Server::start(&["--script", path.to_str().unwrap()])
}

/// Sends a message, and returns the id of its task.
fn task(server: &Server, text: &str) -> String {
    server.json(&["send", text])["task"]["id"].as_str().unwrap().to_owned()
}

/// The files in a directory, with their content.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let content = fs::read(entry.path()).unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, String::from_utf8_lossy(&content).into_owned())
        })
        .collect()
}

fn download(server: &Server, task: &str, out: &Path, more: &[&str]) -> Run {
    let mut arguments = vec!["task", "download", task, "--out", out.to_str().unwrap()];
    arguments.extend(more);
    server.run(&arguments)
}

#[test]
fn parts_become_files_and_urls_are_listed_on_every_binding() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let task = task(&server, "file");
    for binding in BINDINGS {
        let out = folder.path().join(binding.replace('+', "-"));
        let run = download(&server, &task, &out, &["-o", "json", "--transport", binding]);
        let path = out.join("pixels.png");
        assert_eq!(
            run.json(),
            json!({
                "saved": [{
                    "artifactId": run.json()["saved"][0]["artifactId"],
                    "part": 0,
                    "path": path.to_str().unwrap(),
                    "mediaType": "image/png",
                    "bytes": 81,
                }],
                "skipped": [{ "url": "https://example.com/output.txt" }],
            }),
            "{binding}"
        );
        assert_eq!(run.stderr, "note: not fetched: https://example.com/output.txt\n", "{binding}");
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"), "{binding}");
        assert_eq!(files(&out).len(), 1, "{binding}");
    }
}

#[test]
fn text_output_has_the_ids_and_a_line_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let task = task(&server, "data");
    let run = Run::of(command().current_dir(folder.path()).args([
        "task",
        "download",
        &task,
        "-a",
        &server.address,
    ]));
    let context = run.field("Context ID");
    let bytes = fs::metadata(folder.path().join("data.json")).unwrap().len();
    assert_eq!(
        run.stdout,
        format!(
            "Task ID: {task}\nContext ID: {context}\nState: COMPLETED\n\
             Saved: ./data.json (application/json, {bytes} bytes)\n"
        )
    );
    let data: serde_json::Value = serde_json::from_str(&files(folder.path())["data.json"]).unwrap();
    assert_eq!(data["city"], "Oslo");
}

#[test]
fn stream_prints_one_line_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        [default]
        steps = [
            { artifact = { name = "both", parts = [{ text = "1" }, { base64 = "Mg==" }] } },
            { artifact = { name = "last", text = "3" } },
            { state = "completed" },
        ]
    "#;
    let server = agent(folder.path(), script);
    let task = task(&server, "go");
    let run = download(&server, &task, &folder.path().join("out"), &["-o", "json", "--stream"]);
    let lines = run.lines();
    let parts: Vec<_> = lines.iter().map(|line| line["part"].as_u64().unwrap()).collect();
    assert_eq!(parts, [0, 1, 0], "{run:?}");
}

#[test]
fn chunks_of_a_streamed_artifact_become_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let task = task(&server, "stream 2");
    let run = download(&server, &task, folder.path(), &[]);
    assert_eq!(run.code, 0, "{run:?}");
    let saved = BTreeMap::from([("stream.txt".to_owned(), "chunk 1 of 2chunk 2 of 2".to_owned())]);
    assert_eq!(files(folder.path()), saved);
}

#[test]
fn existing_file_is_kept_unless_it_may_be_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let mine = out.join("second.txt");
    fs::write(&mine, "mine").unwrap();
    let script = r#"
        [default]
        steps = [
            { artifact = { name = "first", text = "1" } },
            { artifact = { name = "second", text = "2" } },
            { state = "completed" },
        ]
    "#;
    let server = agent(folder.path(), script);
    let task = task(&server, "go");
    let refused = download(&server, &task, &out, &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(mine.to_str().unwrap()), "{refused:?}");
    assert!(refused.stderr.contains("--overwrite"), "{refused:?}");
    assert_eq!(files(&out), BTreeMap::from([("second.txt".into(), "mine".into())]));
    assert_eq!(download(&server, &task, &out, &["--overwrite"]).code, 0);
    let both = BTreeMap::from([
        ("first.txt".to_owned(), "1".to_owned()),
        ("second.txt".to_owned(), "2".to_owned()),
    ]);
    assert_eq!(files(&out), both);
}

#[cfg(unix)]
#[test]
fn symbolic_link_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let target = folder.path().join("target.txt");
    std::os::unix::fs::symlink(&target, out.join("data.json")).unwrap();
    let server = Server::start(&[]);
    let task = task(&server, "data");
    // The target is missing; the name is taken all the same.
    let refused = download(&server, &task, &out, &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(!target.exists());
    assert_eq!(download(&server, &task, &out, &["--overwrite"]).code, 0);
    assert!(!target.exists());
    assert!(out.join("data.json").symlink_metadata().unwrap().is_file());
}

#[test]
fn names_of_an_agent_stay_in_the_directory_and_apart() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a").join("b");
    let script = r#"
        [default]
        steps = [
            { artifact = { name = "../../up", parts = [
                { bytes = "0", filename = "../../escape.txt" },
                { bytes = "1", filename = "/etc/escape.txt" },
                { bytes = "2", filename = "C:\\Windows\\ESCAPE.TXT" },
                { bytes = "3", filename = ".." },
                { bytes = "4", filename = "nul.txt" },
                { bytes = "5", filename = "a\u001B[2Jb\nc" },
                { bytes = "6", filename = ".bashrc" },
                { text = "7" },
                { bytes = "8", filename = "-rf" },
                { bytes = "9", filename = "\u200B~" },
            ] } },
            { state = "completed" },
        ]
    "#;
    let server = agent(folder.path(), script);
    let task = task(&server, "go");
    let run = download(&server, &task, &out, &[]);
    assert_eq!(run.code, 0, "{run:?}");
    let expected = [
        ("rf", "8"),
        ("up-2.bin", "9"),
        ("escape.txt", "0"),
        ("escape-2.txt", "1"),
        ("ESCAPE-3.TXT", "2"),
        ("up.bin", "3"),
        ("nul_.txt", "4"),
        ("a_[2Jb_c", "5"),
        ("bashrc", "6"),
        ("up.txt", "7"),
    ];
    let expected = expected.map(|(name, content)| (name.to_owned(), content.to_owned()));
    assert_eq!(files(&out), BTreeMap::from(expected));
    assert_eq!(files_below(folder.path()), 11, "the script and the files of the artifact");
}

fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

#[test]
fn artifacts_are_selected_by_id_or_name() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        [default]
        steps = [
            { artifact = { id = "1", name = "one", text = "1" } },
            { artifact = { id = "2", name = "two", text = "2" } },
            { artifact = { id = "3", name = "three", text = "3" } },
            { state = "completed" },
        ]
    "#;
    let server = agent(folder.path(), script);
    let task = task(&server, "go");
    let out = folder.path().join("out");
    let run = download(&server, &task, &out, &["--artifact", "two", "--artifact", "3"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(files(&out).into_keys().collect::<Vec<_>>(), ["three.txt", "two.txt"]);
    let unknown = download(&server, &task, &out, &["--artifact", "four"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("has no artifact \"four\""), "{unknown:?}");
}

#[test]
fn nothing_is_saved_beyond_the_maximum_size() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let task = task(&server, "stream 3");
    let out = folder.path().join("out");
    let run = download(&server, &task, &out, &["--max-bytes", "30"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--max-bytes"), "{run:?}");
    assert!(files(&out).is_empty());
    assert_eq!(download(&server, &task, &out, &["--max-bytes", "42"]).code, 0);
}

#[test]
fn missing_task_and_unusable_directory_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let missing = download(&server, "nope", &folder.path().join("out"), &["-o", "json"]);
    assert_eq!(missing.code, 1);
    assert_eq!(missing.lines()[0]["error"]["code"], "TaskNotFoundError");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let task = task(&server, "hello");
    let no_directory = download(&server, &task, &file, &[]);
    assert_eq!(no_directory.code, 2);
    assert!(no_directory.stderr.contains(file.to_str().unwrap()), "{no_directory:?}");
}

/// A server of files, and its address.
async fn file_server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endless = || async {
        let chunk = Bytes::from(vec![b'x'; 1 << 16]);
        Body::from_stream(futures_util::stream::repeat_with(move || {
            Ok::<_, std::convert::Infallible>(chunk.clone())
        }))
    };
    let redirect =
        |to: String| move || async move { (StatusCode::FOUND, [(header::LOCATION, to)]) };
    let router = Router::new()
        .route("/report.csv", get(|| async { ([(header::CONTENT_TYPE, "text/csv")], "a,b\n") }))
        .route("/endless", get(endless))
        .route("/moved", get(redirect("/report.csv".to_owned())))
        .route("/elsewhere", get(redirect("https://127.0.0.1:1/x".to_owned())))
        .route("/local", get(redirect("file:///etc/hostname".to_owned())));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_are_fetched_if_requested_within_the_maximum_size_and_origin() {
    let folder = tempfile::tempdir().unwrap();
    let files_at = file_server().await;
    let rule = |word: &str, url: &str| {
        format!(
            "[[rule]]\nwhen = {{ word = \"{word}\" }}\nsteps = [\n\
             {{ artifact = {{ name = \"answer\", parts = [\n\
             {{ text = \"inline\" }}, {{ url = \"{url}\" }}] }} }},\n\
             {{ state = \"completed\" }}]\n"
        )
    };
    let cases = [
        ("plain", format!("{files_at}/report.csv"), ""),
        ("moved", format!("{files_at}/moved"), ""),
        ("elsewhere", format!("{files_at}/elsewhere"), "status 302"),
        ("local", format!("{files_at}/local"), "status 302"),
        ("endless", format!("{files_at}/endless"), "exceeds --max-bytes"),
        ("missing", format!("{files_at}/missing"), "status 404"),
        ("scheme", "file:///etc/hostname".to_owned(), "must have the scheme http or https"),
        ("closed", "http://127.0.0.1:1/x".to_owned(), "failed to fetch"),
    ];
    let script: String = cases.iter().map(|(word, url, _)| rule(word, url)).collect();
    let server = agent(folder.path(), &script);
    for (word, url, error) in &cases {
        let id = task(&server, word);
        let out: PathBuf = folder.path().join(word);
        let flags = ["--fetch-urls", "--max-bytes", "1MiB", "-o", "json"];
        let run = download(&server, &id, &out, &flags);
        if error.is_empty() {
            let saved = &run.json()["saved"];
            assert_eq!(saved[1]["mediaType"], "text/csv", "{word}");
            assert_eq!(saved[1]["bytes"], 4, "{word}");
            let name = url.rsplit('/').next().unwrap();
            assert_eq!(files(&out)[name], "a,b\n", "{word}");
        } else {
            assert_ne!(run.code, 0, "{word}");
            let message = run.lines()[0]["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(error) && message.contains(url), "{word}: {message}");
            assert!(files(&out).is_empty(), "{word}");
        }
    }
}

#[test]
fn send_saves_the_artifacts_of_its_task_on_every_binding() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    for binding in BINDINGS {
        let out = folder.path().join(binding.replace('+', "-"));
        let path = out.to_str().unwrap();
        let flags = ["--save-artifacts", path, "--transport", binding];
        let text = server.run(&[&["send", "data"], &flags[..]].concat());
        let file = out.join("data.json");
        let shown = format!("Saved: {} (application/json, ", file.display());
        assert!(text.stdout.contains(&shown), "{binding}: {text:?}");
        let content = fs::read_to_string(&file).unwrap();
        assert!(content.contains("Oslo"), "{binding}: {content}");

        // The message is sent again, but the file is not replaced.
        fs::write(&file, "mine").unwrap();
        let again = server.run(&[&["send", "data", "-o", "json"], &flags[..]].concat());
        assert_eq!(again.code, 2, "{binding}: {again:?}");
        let hint = again.lines()[0]["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("a2a task download "), "{binding}: {hint}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine", "{binding}");

        fs::remove_file(&file).unwrap();
        let flags = [&["send", "data", "--stream", "-o", "json"], &flags[..]].concat();
        let streamed = server.run(&flags);
        assert!(streamed.stderr.contains("note: saved "), "{binding}: {streamed:?}");
        assert!(streamed.lines().iter().all(|line| line["saved"].is_null()), "{binding}");
        assert!(file.exists(), "{binding}");
    }
}

#[test]
fn unusable_directory_is_reported_before_the_message_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let server = Server::start(&[]);
    let run = server.run(&["send", "hello", "--save-artifacts", file.to_str().unwrap()]);
    assert_eq!(run.code, 2, "{run:?}");
    let tasks = &server.json(&["task", "list"])["tasks"];
    assert!(tasks.as_array().is_none_or(Vec::is_empty), "{tasks}");
}
