//! Saving artifacts in a Rust application.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use a2a_core::{Artifact, Part, Task};
use a2a_kit_artifacts::{Download, FetchError, Fetcher, SaveError, joined_parts};
use a2a_kit_http::client::ClientSettings;

fn task(parts: Vec<Part>) -> Task {
    let artifact =
        Artifact { artifact_id: "1".into(), name: "answer".into(), parts, ..Artifact::default() };
    Task { id: "t".into(), artifacts: vec![artifact], ..Task::default() }
}

#[tokio::test]
async fn files_are_saved_in_the_directory_and_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("new");
    let task = task(vec![Part::text("On"), Part::text("e"), Part::url("https://a.example/b.csv")]);
    let download = Download::into(&directory).unwrap();
    let files = download.save(&task, &[]).await.unwrap();
    assert_eq!((files.saved.len(), files.saved[0].bytes), (1, 3));
    assert_eq!(files.skipped[0].url, "https://a.example/b.csv");
    assert_eq!(fs::read_to_string(directory.join("answer.txt")).unwrap(), "One");
    let error = download.save(&task, &[]).await.unwrap_err();
    assert!(matches!(error, SaveError::Exists(_)), "{error}");
    download.with_overwrite(true).save(&task, &["answer".to_owned()]).await.unwrap();
}

#[tokio::test]
async fn nothing_is_saved_beyond_the_limit_or_without_the_url() {
    let folder = tempfile::tempdir().unwrap();
    let download = Download::into(folder.path()).unwrap().with_max_bytes(3);
    let large = task(vec![Part::text("abcd")]);
    assert!(matches!(download.save(&large, &[]).await, Err(SaveError::TooLarge(3))));
    let error = download.save(&large, &["other".to_owned()]).await.unwrap_err();
    assert!(matches!(error, SaveError::NoArtifact { .. }), "{error}");
    let fetcher = Fetcher::new(ClientSettings::default()).unwrap();
    let linked = task(vec![Part::text("a"), Part::url("file:///etc/passwd")]);
    let error = download.with_fetcher(fetcher).save(&linked, &[]).await.unwrap_err();
    let is_refused = matches!(&error, SaveError::Fetch { error: FetchError::Refused(_), .. });
    assert!(is_refused, "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn chunks_of_one_text_are_one_part() {
    let parts = [Part::text("a"), Part::text("b"), Part::data(1)];
    assert_eq!(joined_parts(&parts).count(), 2);
}
