//! The files that the artifacts of a task become.

use std::path::PathBuf;

use a2a_core::{Artifact, Part, Task, media_type, v1::part::Content};
use bytes::Bytes;
use percent_encoding::percent_decode_str;

use crate::{
    SaveError,
    error::MAX_FILES,
    file_name::{DistinctNames, safe_file_name},
    part_run::{joined, part_runs},
};

/// A part of an artifact, or consecutive chunks of one text or file, as a file.
#[derive(Debug)]
pub(crate) struct PlannedFile {
    pub(crate) artifact_id: String,
    /// The index in its artifact of the first part.
    pub(crate) part: usize,
    pub(crate) path: PathBuf,
    /// Empty for a URL whose type is unknown.
    pub(crate) media_type: String,
    pub(crate) source: Source,
}

/// Where the content of a file comes from.
#[derive(Debug)]
pub(crate) enum Source {
    Inline(Bytes),
    Url(String),
}

/// Plans the files of a task: of all artifacts, or of those whose id or name is `selected`.
///
/// The names do not depend on the selection, so that files have the same names in each run.
pub(crate) fn plan(task: &Task, selected: &[String]) -> Result<Vec<PlannedFile>, SaveError> {
    let is_named = |artifact: &Artifact, name: &String| {
        *name == artifact.artifact_id || *name == artifact.name
    };
    for name in selected {
        if !task.artifacts.iter().any(|artifact| is_named(artifact, name)) {
            let (task, name) = (task.id.clone(), name.clone());
            return Err(SaveError::NoArtifact { task, name });
        }
    }
    let count: usize =
        task.artifacts.iter().map(|artifact| part_runs(&artifact.parts).count()).sum();
    if count > MAX_FILES {
        return Err(SaveError::TooManyFiles { task: task.id.clone(), count });
    }
    let mut names = DistinctNames::default();
    let mut files = Vec::new();
    for artifact in &task.artifacts {
        let is_selected =
            selected.is_empty() || selected.iter().any(|name| is_named(artifact, name));
        let mut next = 0;
        for run in part_runs(&artifact.parts) {
            let index = next;
            next += run.len();
            let Some(part) = joined(run) else { continue };
            let Some(source) = source(&part) else { continue };
            let media_type = media_type_of(&part);
            let path = names.take(name(artifact, &part, &media_type)).into();
            let artifact_id = artifact.artifact_id.clone();
            if is_selected {
                files.push(PlannedFile { artifact_id, part: index, path, media_type, source });
            }
        }
    }
    Ok(files)
}

fn source(part: &Part) -> Option<Source> {
    Some(match part.content.as_ref()? {
        Content::Text(text) => Source::Inline(Bytes::copy_from_slice(text.as_bytes())),
        Content::Raw(raw) => Source::Inline(raw.clone()),
        Content::Url(url) => Source::Url(url.clone()),
        Content::Data(data) => {
            // Protocol values have string keys and finite numbers, so encoding can't fail.
            let mut json = serde_json::to_vec_pretty(data).unwrap_or_default();
            json.push(b'\n');
            Source::Inline(json.into())
        }
    })
}

/// The declared media type, or that of the kind of content.
fn media_type_of(part: &Part) -> String {
    if !part.media_type.is_empty() {
        return part.media_type.clone();
    }
    let by_name = || media_type::of_name(&part.filename);
    match &part.content {
        Some(Content::Text(_)) => by_name().unwrap_or("text/plain"),
        Some(Content::Data(_)) => "application/json",
        Some(Content::Raw(_)) => by_name().unwrap_or(media_type::OCTET_STREAM),
        Some(Content::Url(_)) | None => by_name().unwrap_or_default(),
    }
    .to_owned()
}

/// The file name of the part. Without one, that of the URL or the artifact, with an extension by the
/// media type.
fn name(artifact: &Artifact, part: &Part, media_type: &str) -> String {
    if let Some(name) = safe_file_name(&part.filename) {
        return name;
    }
    let of_url = match &part.content {
        Some(Content::Url(url)) => url_name(url),
        _ => None,
    };
    let name = of_url
        .or_else(|| safe_file_name(&artifact.name))
        .or_else(|| safe_file_name(&artifact.artifact_id))
        .unwrap_or_else(|| "artifact".to_owned());
    match media_type::extension(media_type) {
        Some(extension) if media_type::of_name(&name).is_none() => format!("{name}.{extension}"),
        _ => name,
    }
}

/// The last segment of the path of a URL.
fn url_name(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next()?;
    let (_, path) = path.split_once("://")?;
    let (_, path) = path.split_once('/')?;
    safe_file_name(&percent_decode_str(path).decode_utf8_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(task: &Task) -> Vec<String> {
        let files = plan(task, &[]).unwrap();
        files.iter().map(|file| file.path.display().to_string()).collect()
    }

    fn task(artifacts: Vec<Artifact>) -> Task {
        Task { id: "t".into(), artifacts, ..Task::default() }
    }

    fn artifact(id: &str, name: &str, parts: Vec<Part>) -> Artifact {
        Artifact { artifact_id: id.into(), name: name.into(), parts, ..Artifact::default() }
    }

    #[test]
    fn part_without_a_file_name_is_named_for_its_artifact_and_type() {
        let parts = vec![
            Part::text("a"),
            Part::text("<p>").with_media_type("text/html; charset=utf-8"),
            Part::data(1),
            Part::raw("x"),
            Part::raw("x").with_media_type("application/x-unknown"),
            Part::url("https://a.example/files/Gr%C3%B6%C3%9Fe.csv?token=1"),
            Part::url("https://a.example/report").with_media_type("application/pdf"),
            Part::url("https://a.example"),
            Part::raw("x").with_filename("given").with_media_type("image/png"),
        ];
        assert_eq!(
            names(&task(vec![artifact("1", "answer", parts)])),
            [
                "answer.txt",
                "answer.html",
                "answer.json",
                "answer.bin",
                "answer",
                "Größe.csv",
                "report.pdf",
                "answer-2",
                "given"
            ]
        );
    }

    #[test]
    fn no_name_of_an_agent_leaves_the_folder() {
        let hostile = ["../x", "/etc/passwd", "..", "a\\..\\b", "C:\\x", "\0", "~/.ssh/config"];
        let artifacts = hostile
            .iter()
            .map(|name| {
                let named = Part::raw("x").with_filename(*name);
                let url = Part::url(format!("https://a.example/{name}%2F..%2f.."));
                artifact(name, name, vec![named, Part::text("x"), url])
            })
            .collect();
        for name in names(&task(artifacts)) {
            let is_plain = !name.contains(['/', '\\', ':', '\0']) && !name.starts_with('.');
            assert!(is_plain && !name.is_empty(), "{name:?}");
        }
    }

    #[test]
    fn names_do_not_depend_on_the_selection() {
        let part = || vec![Part::text("x").with_filename("same.txt")];
        let task = task(vec![artifact("1", "one", part()), artifact("2", "two", part())]);
        for selected in ["2", "two"] {
            let files = plan(&task, &[selected.to_owned()]).unwrap();
            assert_eq!(files.len(), 1);
            assert_eq!(files[0].path.to_str(), Some("same-2.txt"));
        }
        let failure = plan(&task, &["3".to_owned()]).unwrap_err();
        assert!(failure.to_string().contains("\"3\""), "{failure}");
    }

    #[test]
    fn task_with_too_many_files_is_rejected() {
        let parts = vec![Part::data(1); MAX_FILES + 1];
        assert!(plan(&task(vec![artifact("1", "", parts)]), &[]).is_err());
    }

    #[test]
    fn chunks_of_one_text_or_file_become_one_file() {
        let row =
            |text: &str| Part::text(text).with_filename("report.csv").with_media_type("text/csv");
        let parts = vec![Part::text("On"), Part::text("e"), row("a,b\n"), row("1,2\n")];
        let chunks = vec![Part::text("x"); MAX_FILES + 1];
        let task = task(vec![artifact("1", "answer", parts), artifact("2", "long", chunks)]);
        let files = plan(&task, &[]).unwrap();
        let planned = files.iter().map(|file| (file.path.to_str().unwrap(), file.part));
        assert_eq!(
            planned.collect::<Vec<_>>(),
            [("answer.txt", 0), ("report.csv", 2), ("long.txt", 0)]
        );
        assert!(matches!(&files[1].source, Source::Inline(bytes) if *bytes == "a,b\n1,2\n"));
    }
}
