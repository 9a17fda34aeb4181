//! The modules of a crate, and what a path leads to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree,
    visit::{self, Visit},
};

use crate::{Result, workspace};

/// A path as it is written, such as `super::Name`.
pub(in crate::tidy) type Segments = Vec<String>;

/// A module: a file, or a block in one.
#[derive(Debug)]
pub(in crate::tidy) struct Module {
    /// From the root of the crate.
    pub(super) path: Segments,
    pub(in crate::tidy) file: String,
    /// The modules that are declared in it.
    children: BTreeSet<String>,
    /// Names that it brings into scope, and what they stand for.
    imported: BTreeMap<String, Segments>,
    /// Every path that it uses.
    pub(in crate::tidy) paths: BTreeSet<Segments>,
}

/// Reads the file `file` and those of the modules that it declares.
pub(in crate::tidy) fn load(file: &Path, modules: &mut Vec<Module>) -> Result {
    let folder = file.parent().unwrap_or(file).to_path_buf();
    load_file(file, &folder, Vec::new(), modules)
}

fn load_file(file: &Path, folder: &Path, path: Segments, modules: &mut Vec<Module>) -> Result {
    let name = workspace::relative(file);
    let text = workspace::read(file)?;
    let items = syn::parse_file(&text).map_err(|error| format!("{name}: {error}"))?.items;
    load_items(&items, &name, folder, path, modules)
}

/// Adds the module at `path` with these items; `folder` has the files of its children.
fn load_items(
    items: &[Item],
    file: &str,
    folder: &Path,
    path: Segments,
    modules: &mut Vec<Module>,
) -> Result {
    let mut module = Module {
        path: path.clone(),
        file: file.to_owned(),
        children: BTreeSet::new(),
        imported: BTreeMap::new(),
        paths: BTreeSet::new(),
    };
    let mut exported = Vec::new();
    for item in items.iter().filter(|item| !is_test(attributes(item))) {
        match item {
            Item::Use(item) => module.import(item, &mut exported),
            Item::Mod(item) => {
                let name = item.ident.to_string();
                module.children.insert(name.clone());
                let mut path = path.clone();
                path.push(name.clone());
                load_child(item, file, &folder.join(&name), path, modules)?;
            }
            item => Paths { found: &mut module.paths }.visit_item(item),
        }
    }
    // A re-export counts where the file itself uses the name.
    let used: BTreeSet<_> = module.paths.iter().map(|path| path[0].clone()).collect();
    module.paths.extend(exported.into_iter().filter(|(name, _)| used.contains(name)).map(|e| e.1));
    modules.push(module);
    Ok(())
}

fn load_child(
    item: &ItemMod,
    file: &str,
    folder: &Path,
    path: Segments,
    modules: &mut Vec<Module>,
) -> Result {
    if let Some((_, items)) = &item.content {
        return load_items(items, file, folder, path, modules);
    }
    let candidates: [PathBuf; 2] = [folder.with_extension("rs"), folder.join("mod.rs")];
    match candidates.iter().find(|file| fs::exists(file).unwrap_or_default()) {
        Some(file) => load_file(file, folder, path, modules),
        None => Err(format!("{file}: mod {} has no file", item.ident).into()),
    }
}

impl Module {
    /// A path with the name that it begins with replaced by what that stands for.
    pub(in crate::tidy) fn expanded(&self, path: &[String]) -> Segments {
        let imported = path.first().and_then(|first| self.imported.get(first));
        let (start, rest) = match imported {
            Some(imported) => (imported.as_slice(), 1),
            None => (&[] as &[String], 0),
        };
        start.iter().chain(&path[rest..]).cloned().collect()
    }

    fn import(&mut self, item: &ItemUse, exported: &mut Vec<(String, Segments)>) {
        let is_private = matches!(item.vis, syn::Visibility::Inherited);
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        for (name, path) in found {
            if let Some(name) = &name {
                self.imported.insert(name.clone(), path.clone());
            }
            if is_private {
                self.paths.insert(path);
            } else if let Some(name) = name {
                exported.push((name, path));
            }
        }
    }
}

/// The paths of an import with the names that they get; a glob has none.
fn flatten(tree: &UseTree, path: &mut Segments, found: &mut Vec<(Option<String>, Segments)>) {
    let joined = |path: &Segments, name: &str| {
        let rest = (name != "self").then(|| name.to_owned());
        path.iter().cloned().chain(rest).collect::<Segments>()
    };
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            flatten(&tree.tree, path, found);
            path.pop();
        }
        UseTree::Name(tree) => {
            let path = joined(path, &tree.ident.to_string());
            found.push((path.last().cloned(), path));
        }
        UseTree::Rename(tree) => {
            found.push((Some(tree.rename.to_string()), joined(path, &tree.ident.to_string())));
        }
        UseTree::Glob(_) => found.push((None, path.clone())),
        UseTree::Group(tree) => tree.items.iter().for_each(|tree| flatten(tree, path, found)),
    }
}

/// The file that declares what `path` stands for in `module`; `None` outside of the crate.
pub(super) fn resolve(
    modules: &BTreeMap<&[String], &Module>,
    module: &Module,
    path: &[String],
    depth: usize,
) -> Option<String> {
    // Imports that lead back to themselves, such as through globs.
    if depth > 16 {
        return None;
    }
    let (first, rest) = path.split_first()?;
    let start = match first.as_str() {
        "crate" => *modules.get(&[] as &[String])?,
        "self" => module,
        "super" => {
            let (_, parent) = module.path.split_last()?;
            *modules.get(parent)?
        }
        name if module.children.contains(name) => child(modules, module, name)?,
        name => return imported(modules, module, name, rest, depth),
    };
    let Some((next, behind)) = rest.split_first() else { return Some(start.file.clone()) };
    match next.as_str() {
        "super" | "self" => resolve(modules, start, rest, depth + 1),
        name if start.children.contains(name) => {
            let child = child(modules, start, name)?;
            let path: Segments =
                ["self".to_owned()].into_iter().chain(behind.iter().cloned()).collect();
            resolve(modules, child, &path, depth + 1)
        }
        name => imported(modules, start, name, behind, depth).or_else(|| Some(start.file.clone())),
    }
}

/// What an imported name stands for.
fn imported(
    modules: &BTreeMap<&[String], &Module>,
    module: &Module,
    name: &str,
    rest: &[String],
    depth: usize,
) -> Option<String> {
    if let Some(path) = module.imported.get(name) {
        // An import of another crate under the name of that crate.
        if path.len() == 1 && path[0] == name {
            return None;
        }
        let path: Segments = path.iter().chain(rest).cloned().collect();
        return resolve(modules, module, &path, depth + 1);
    }
    None
}

fn child<'a>(
    modules: &BTreeMap<&[String], &'a Module>,
    module: &Module,
    name: &str,
) -> Option<&'a Module> {
    let path: Segments = module.path.iter().cloned().chain([name.to_owned()]).collect();
    modules.get(path.as_slice()).copied()
}

/// Collects the paths of expressions, types and patterns.
struct Paths<'a> {
    found: &'a mut BTreeSet<Segments>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.found.insert(path.segments.iter().map(|one| one.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    // `pub(crate)` is no import of the root.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        self.found.extend(found.into_iter().map(|(_, path)| path));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(test)
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
