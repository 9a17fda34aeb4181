//! `a2a task download`.

use std::fs;

use crate::support::{Agent, assert_failure, over_each_binding};

#[test]
fn download_001_artifacts_are_saved_and_urls_are_listed() {
    let agent = Agent::demo();
    let sent = agent.json(&["send", "file"]);
    let id = sent["task"]["id"].as_str().unwrap();
    over_each_binding(|binding| {
        let out = agent.sandbox.home().join(binding);
        let download = ["task", "download", id, "--out", out.to_str().unwrap()];
        let json = agent.json_over(binding, &download);
        let report = json.json();
        let saved = &report["saved"][0];
        let path = out.join("pixels.png");
        assert_eq!(saved["path"].as_str(), path.to_str(), "{binding}: {report}");
        assert_eq!((&saved["mediaType"], &saved["bytes"]), (&"image/png".into(), &81.into()));
        assert_eq!(saved["artifactId"], sent["task"]["artifacts"][0]["artifactId"], "{binding}");
        assert_eq!(saved["part"], 0, "{binding}");
        assert_eq!(report["skipped"][0]["url"], "https://example.com/output.txt", "{binding}");
        assert!(fs::read(&path).unwrap().starts_with(b"\x89PNG"), "{binding}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "{binding}");
        // An existing file is kept unless it may be replaced.
        fs::write(&path, "mine").unwrap();
        let again = agent.json_over(binding, &download);
        assert_ne!(again.code, 0, "{binding}: {again:?}");
        assert!(again.stdout.contains("--overwrite"), "{binding}: {again:?}");
        assert_eq!(fs::read(&path).unwrap(), b"mine", "{binding}");
        let replaced = agent.over(binding, &[&download[..], &["--overwrite"]].concat());
        assert_eq!(replaced.code, 0, "{binding}: {replaced:?}");
        assert!(replaced.field("Saved").contains("pixels.png"), "{binding}: {replaced:?}");
        assert_eq!(fs::read(&path).unwrap().len(), 81, "{binding}");
        let missing = agent.json_over(binding, &["task", "download", "no-such-task"]);
        assert_failure(&missing, "TaskNotFoundError", 1);
    });
}

#[test]
fn download_001_names_of_agents_do_not_leave_the_directory_and_sizes_are_limited() {
    let names = ["../escaped.txt", "/tmp/a2a-escaped.txt", "..", "a/b/c.txt", ".hidden", ""];
    let part = |name: &str| {
        format!("{{ bytes = \"content\", filename = \"{name}\", media_type = \"text/plain\" }}")
    };
    let parts = names.map(part).join(", ");
    let steps = format!(
        "{{ artifact = {{ name = \"files\", parts = [{parts}] }} }}, {{ state = \"completed\" }}"
    );
    let agent = Agent::script(&format!("[default]\nsteps = [{steps}]\n"), &[]);
    let sent = agent.json(&["send", "x"]);
    let id = sent["task"]["id"].as_str().unwrap();
    over_each_binding(|binding| {
        let out = format!("{binding}/deep");
        let run = agent.json_over(binding, &["task", "download", id, "--out", &out]);
        let saved = run.json()["saved"].as_array().unwrap().len();
        assert_eq!(saved, names.len(), "{binding}: nothing is lost: {run:?}");
        let files = agent.sandbox.files(binding);
        assert_eq!(files.len(), names.len(), "{binding}: {files:?}");
        assert!(files.iter().all(|file| file.matches('/').count() == 1), "{binding}: {files:?}");
        let limited = ["task", "download", id, "--out", "limited", "--max-bytes", "10"];
        let limited = agent.json_over(binding, &limited);
        assert_ne!(limited.code, 0, "{binding}: {limited:?}");
        assert!(limited.stdout.contains("--max-bytes"), "{binding}: {limited:?}");
    });
    let one = ["task", "download", id, "--out", "one", "--artifact", "other", "-o", "json"];
    assert_ne!(agent.run(&one).code, 0);
}
