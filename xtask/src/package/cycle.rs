//! Dependencies between the packages without cycles, so that there is an order of publication.

use std::collections::BTreeMap;

use super::published::Package;

/// The packages that can't be published because each waits for another one of them.
///
/// A development dependency without a version is not part of a package, so it may be in a cycle.
pub(super) fn fault(packages: &[Package]) -> Option<String> {
    let is_published = |name: &str| packages.iter().any(|package| package.name == name);
    let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let needs = package.dependencies.iter().filter(|dependency| {
            let is_packed = dependency.kind.as_deref() != Some("dev") || dependency.req != "*";
            is_packed && is_published(&dependency.name)
        });
        waiting.insert(&package.name, needs.map(|dependency| dependency.name.as_str()).collect());
    }
    loop {
        let ready: Vec<&str> = waiting
            .iter()
            .filter(|(_, needs)| !needs.iter().any(|need| waiting.contains_key(need)))
            .map(|(name, _)| *name)
            .collect();
        if ready.is_empty() {
            break;
        }
        waiting.retain(|name, _| !ready.contains(name));
    }
    let names: Vec<_> = waiting.into_keys().collect();
    let hint = "a development dependency in the cycle needs `path` without `version`";
    (!names.is_empty()).then(|| format!("dependency cycle among {}: {hint}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, dependencies: &[(&str, &str, Option<&str>)]) -> Package {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|(name, req, kind)| json!({"name": name, "req": req, "kind": kind}))
            .collect();
        serde_json::from_value(json!({
            "name": name, "version": "0.1.0", "rust_version": null, "manifest_path": "",
            "description": null, "documentation": null, "license": null, "keywords": [],
            "categories": [], "features": {}, "dependencies": dependencies, "metadata": null,
            "publish": null,
        }))
        .unwrap()
    }

    #[test]
    fn only_packed_dependencies_make_a_cycle() {
        for (req, kind, is_cycle) in [
            ("^0.1.0", None, true),
            ("^0.1.0", Some("dev"), true),
            ("*", Some("dev"), false),
            ("*", Some("build"), true),
        ] {
            let below = package("below", &[("above", req, kind), ("serde", "^1", None)]);
            let above = package("above", &[("below", "^0.1.0", None)]);
            let fault = fault(&[above, below, package("beside", &[])]);
            assert_eq!(fault.is_some(), is_cycle, "{req} {kind:?}: {fault:?}");
        }
    }
}
