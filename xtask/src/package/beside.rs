//! Other database crates in the same program.
//!
//! A program links one `libsqlite3-sys`, so our range of rusqlite decides which ones it can have.

use std::fs;

use crate::{Result, workspace};

/// A dependency that needs SQLite, or may.
const NEIGHBOURS: [&str; 5] = [
    r#"diesel = { version = "2.3", features = ["sqlite"] }"#,
    r#"rusqlite = { version = "0.39", features = ["bundled"] }"#,
    r#"rusqlite = { version = "0.43", features = ["bundled"] }"#,
    r#"sqlx = { version = "0.9", features = ["postgres"] }"#,
    r#"sqlx = { version = "0.9", features = ["sqlite"] }"#,
];

/// Resolves a program with `a2a-kit` and each neighbour; returns what does not resolve. Without
/// the index of the registry, nothing is checked.
pub(super) fn faults() -> Result<Vec<String>> {
    let root = workspace::root();
    let folder = root.join("target").join("beside");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let mut faults = Vec::new();
    for neighbour in NEIGHBOURS {
        let kit = root.join("crates").join("a2a-kit");
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"beside\"\nedition = \"2024\"\n\n[dependencies]\n\
             a2a-kit = {{ path = {kit:?}, features = [\"sqlite\"] }}\n{neighbour}\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        let output = workspace::cargo()
            .current_dir(&folder)
            .args(["generate-lockfile", "--quiet", "--ignore-rust-version"])
            .output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        match message.contains("failed to select a version") {
            _ if output.status.success() => {}
            true => faults.push(format!("a2a-kit does not resolve beside {neighbour}: {message}")),
            false => println!("SKIPPED: a2a-kit beside {neighbour}: {message}"),
        }
    }
    Ok(faults)
}
