//! The older revisions are adapters at the edge: inside there is the model of 1.0 alone.

#![allow(clippy::unwrap_used, reason = "a file that can't be read fails the test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What this crate stands before or behind.
const INSIDE: [&str; 6] =
    ["a2a-core", "a2a-operations", "a2a-http", "a2a-jsonrpc", "a2a-rest", "a2a-grpc"];

/// What only messages of an older revision say.
const TELLTALES: [&str; 4] =
    ["\"tasks/send\"", "\"message/send\"", "\"sessionId\"", "\"blocking\""];

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
fn no_crate_inside_knows_of_an_older_revision() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in INSIDE {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("a2a-compat"), "{name} depends on the older revisions");
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            // Tests say what is to be refused.
            let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            for telltale in TELLTALES {
                assert!(!code.contains(telltale), "{telltale} in {}", file.display());
            }
        }
    }
}
