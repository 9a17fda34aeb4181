//! The files of a crate do not import each other in circles.
//!
//! A file imports another one if a path in it leads to an item of that file. Re-exports are
//! followed to the file that declares the item, and are no import themselves.

mod graph;
pub(super) mod module;

use std::collections::BTreeSet;

use crate::{Result, workspace};
use module::Module;

/// Cycles that are accepted, by one file of each, with the reason.
const ACCEPTED: [(&str, &str); 1] = [(
    "crates/a2a-kit-operations/src/engine.rs",
    "an executor is called with a context, which leads back to the engine that runs it",
)];

/// Every import cycle that is not accepted, and every accepted one that is gone.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut accepted: BTreeSet<&str> = ACCEPTED.iter().map(|(file, _)| *file).collect();
    let mut crates = 0;
    for entry in std::fs::read_dir(workspace::root().join("crates"))? {
        let source = entry?.path().join("src");
        let root = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let Some(root) = root.into_iter().find(|root| root.exists()) else { continue };
        crates += 1;
        let mut modules = Vec::new();
        module::load(&root, &mut modules)?;
        let imports = imports(&modules);
        for cycle in graph::cycles(&imports) {
            if !cycle.iter().any(|file| accepted.remove(file.as_str())) {
                faults.push(described(&cycle, &imports));
            }
        }
    }
    if crates == 0 {
        faults.push("crates/*/src was not found by xtask/src/tidy/cycles.rs".to_owned());
    }
    faults.extend(accepted.into_iter().map(|file| {
        format!("{file} is in no import cycle: remove it from xtask/src/tidy/cycles.rs")
    }));
    faults.sort();
    Ok(faults)
}

/// A cycle with the imports in it, one file a line.
fn described(cycle: &[String], imports: &graph::Graph) -> String {
    let mut text = format!("import cycle of {} files:", cycle.len());
    for file in cycle {
        let inside: Vec<_> = cycle.iter().filter(|other| imports[file].contains(*other)).collect();
        let inside: Vec<_> = inside.into_iter().map(|file| short(file)).collect();
        text.push_str(&format!("\n    {file} imports {}", inside.join(", ")));
    }
    text
}

/// A file by its path in the sources of its crate.
pub(super) fn short(file: &str) -> &str {
    file.split_once("/src/").map_or(file, |(_, short)| short)
}

/// The files that each file imports.
pub(super) fn imports(modules: &[Module]) -> graph::Graph {
    let by_path = modules.iter().map(|module| (module.path.as_slice(), module)).collect();
    let mut imports = graph::Graph::new();
    for module in modules {
        let files = imports.entry(module.file.clone()).or_default();
        // A path of one segment is a local name, or was imported.
        for path in module.paths.iter().filter(|path| path.len() > 1) {
            let target = module::resolve(&by_path, module, path, 0);
            files.extend(target.filter(|file| *file != module.file));
        }
    }
    imports
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles of a crate with these files.
    fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut modules = Vec::new();
        module::load(&folder.path().join("lib.rs"), &mut modules).unwrap();
        let mut found = graph::cycles(&imports(&modules));
        for file in found.iter_mut().flatten() {
            *file = file.rsplit('/').next().unwrap().to_owned();
        }
        found
    }

    #[test]
    fn a_child_that_uses_an_item_of_its_parent_is_a_cycle_if_the_parent_uses_the_child() {
        let parent = "mod child;\nuse child::Leaf;\npub struct Tree(Leaf);";
        let child = "pub struct Leaf;\nfn up(tree: &super::Tree) {}";
        let found = cycles_of(&[("lib.rs", parent), ("child.rs", child)]);
        assert_eq!(found, [["child.rs", "lib.rs"]]);
    }

    #[test]
    fn a_re_export_is_followed_and_is_no_import() {
        let parent = "mod one;\nmod two;\npub use one::One;";
        let two = "use super::One;\npub struct Two(One);";
        let found =
            cycles_of(&[("lib.rs", parent), ("one.rs", "pub struct One;"), ("two/mod.rs", two)]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }

    #[test]
    fn siblings_that_import_each_other_are_a_cycle_however_they_spell_it() {
        let one = "use crate::{two::Two as Other};\npub struct One(Other);";
        let two = "pub struct Two;\nfn f() { super::one::g(); }";
        let found =
            cycles_of(&[("lib.rs", "mod one;\nmod two;"), ("one.rs", one), ("two.rs", two)]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn tests_may_import_anything() {
        let one = "use crate::two::Two;\npub struct One(Two);";
        let two = "pub struct Two;\n#[cfg(test)]\nmod tests { use crate::one::One; }";
        let found =
            cycles_of(&[("lib.rs", "mod one;\nmod two;"), ("one.rs", one), ("two.rs", two)]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }
}
