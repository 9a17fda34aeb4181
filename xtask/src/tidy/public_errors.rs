//! That public errors are readable where `main` returns them.

use crate::{Result, workspace};

pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in workspace::files(&workspace::root().join("crates"))? {
        let name = workspace::relative(&path);
        // The command has no callers.
        let is_library = name.contains("/src/") && !name.starts_with("crates/a2a-kit-cli/");
        if is_library && name.ends_with(".rs") {
            faults.extend(structured(&name, &workspace::read(&path)?));
        }
    }
    Ok(faults)
}

/// Public errors that derive `Debug`.
fn structured(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut derives = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("#[derive(") {
            derives = line.contains("thiserror::Error") && line.contains("Debug");
        } else if !line.starts_with('#') {
            if derives && (line.starts_with("pub enum ") || line.starts_with("pub struct ")) {
                let line = index + 1;
                faults.push(format!(
                    "{name}:{line}: public errors use `debug_as_chain!` in place of `Debug`"
                ));
            }
            derives = false;
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_error_with_a_derived_debug_is_found() {
        let derived = "#[derive(Debug, thiserror::Error)]\n#[non_exhaustive]\npub enum E {";
        assert_eq!(structured("f", derived).len(), 1);
        assert!(structured("f", &derived.replace("Debug, ", "")).is_empty());
        assert!(structured("f", &derived.replace("pub enum", "pub(crate) enum")).is_empty());
    }
}
