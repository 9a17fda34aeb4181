//! What readers depend on, and that they find every example.

use std::{fs, path::Path};

use crate::{Result, workspace};

/// Crates that readers use through `a2a_kit`, and the name there.
const REEXPORTED: [(&str, &str); 3] = [
    ("a2a_kit_client::", "a2a_kit::client::"),
    ("a2a_kit_store::", "a2a_kit::store::"),
    ("a2a_kit_telemetry::", "a2a_kit::telemetry::"),
];

const EXAMPLES: &str = "crates/a2a-kit/examples";
const EXAMPLE_LIST: &str = "docs/guide/examples.md";

pub(super) fn faults() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut faults = Vec::new();
    for path in workspace::files(&root)? {
        let name = workspace::relative(&path);
        if is_for_users(&name) {
            faults.extend(internal_names(&name, &workspace::read(&path)?));
        }
    }
    faults.extend(unlisted(&root)?);
    Ok(faults)
}

/// Documentation of the facade, not of the crates behind it or their development.
fn is_for_users(name: &str) -> bool {
    let is_guide = name.starts_with("docs/") && !name.starts_with("docs/development/");
    name.ends_with(".md") && (is_guide || ["README.md", "crates/a2a-kit/README.md"].contains(&name))
}

fn internal_names(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (internal, public) in REEXPORTED {
            if line.contains(internal) {
                faults.push(format!("{name}:{}: {internal} is {public} for readers", index + 1));
            }
        }
    }
    faults
}

/// Examples that the guide does not list.
fn unlisted(root: &Path) -> Result<Vec<String>> {
    let list = workspace::read(&root.join(EXAMPLE_LIST))?;
    let mut faults = Vec::new();
    for entry in fs::read_dir(root.join(EXAMPLES))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !list.contains(&format!("{EXAMPLES}/{name}")) {
            faults.push(format!("{EXAMPLE_LIST} does not list {EXAMPLES}/{name}"));
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_crate_behind_the_facade_is_found_in_user_documentation_only() {
        assert_eq!(internal_names("f", "`a2a_kit_store::sqlite`").len(), 1);
        assert!(internal_names("f", "`a2a_kit::store::sqlite`").is_empty());
        assert!(is_for_users("docs/client.md") && is_for_users("README.md"));
        assert!(!is_for_users("docs/development/testing.md"));
        assert!(!is_for_users("crates/a2a-kit-store/README.md"));
    }
}
