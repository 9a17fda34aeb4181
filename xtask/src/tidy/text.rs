//! What files may hold, and what has to be where.

use std::{fs, path::Path};

use crate::{Result, workspace};

/// The README is read in one sitting.
const README_LINES: usize = 121;

/// Folders of one person's machine, and addresses that a lock file recorded there; spelled in two
/// halves so that this file passes.
const STRAY: [&str; 3] =
    [concat!("/ho", "me/"), concat!("/Use", "rs/"), concat!("\"resol", "ved\": \"http")];

/// Every fault in a file or a link.
pub(super) fn faults() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut faults = Vec::new();
    for path in workspace::files(&root)? {
        let name = workspace::relative(&path);
        if path.is_symlink() {
            if !path.exists() {
                faults.push(format!("{name} points nowhere"));
            }
            continue;
        }
        // What is not text has no lines to check.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        faults.extend(stray(&name, &text));
        // A workspace of its own has nothing to inherit.
        let is_member = name.ends_with("Cargo.toml") && !text.lines().any(|l| l == "[workspace]");
        if is_member && !inherits_lints(&text) {
            faults.push(format!("{name} needs `[lints]` with `workspace = true`"));
        }
    }
    faults.extend(readme(&root));
    Ok(faults)
}

fn stray(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for piece in STRAY {
            // In the middle of an address it is no path of a machine.
            let stands_alone = line.match_indices(piece).any(|(start, _)| {
                let before = line[..start].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c))
            });
            if stands_alone {
                faults.push(format!("{name}:{}: {piece}", index + 1));
            }
        }
    }
    faults
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.by_ref().any(|line| line == "[lints]")
        && lines.take_while(|line| !line.starts_with('[')).any(|line| line == "workspace = true")
}

fn readme(root: &Path) -> Option<String> {
    let Ok(text) = fs::read_to_string(root.join("README.md")) else {
        return Some("there is no README.md".to_owned());
    };
    let lines = text.lines().count();
    (lines >= README_LINES)
        .then(|| format!("README.md has {lines} lines, {README_LINES} are too many"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found_and_addresses_are_not() {
        let path = concat!("see /ho", "me/ann/main");
        assert_eq!(stray("f", path).len(), 1);
        assert!(stray("f", concat!("https://example.com/ho", "me/main")).is_empty());
    }

    #[test]
    fn a_manifest_has_to_take_over_the_lints() {
        assert!(inherits_lints("[package]\n[lints]\nworkspace = true\n"));
        assert!(!inherits_lints("[package]\nworkspace = true\n[lints]\n[lib]\nworkspace = true"));
    }
}
