//! Older revisions are adapters: the other crates only know the model of 1.0.

#![allow(clippy::unwrap_used, reason = "a file that can't be read fails the test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The crates that must not know older revisions.
const INSIDE: [&str; 6] = [
    "a2a-core",
    "a2a-kit-operations",
    "a2a-kit-http",
    "a2a-kit-jsonrpc",
    "a2a-kit-rest",
    "a2a-kit-grpc",
];

/// Names that only occur in older revisions.
const MARKERS: [&str; 4] = ["\"tasks/send\"", "\"message/send\"", "\"sessionId\"", "\"blocking\""];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

//
#[test]
fn core_crates_do_not_depend_on_older_revisions() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in INSIDE {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("a2a-kit-compat"), "{name} depends on the older revisions");
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            // Tests contain rejected values.
            let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            for marker in MARKERS {
                assert!(!code.contains(marker), "{marker} in {}", file.display());
            }
        }
    }
}
