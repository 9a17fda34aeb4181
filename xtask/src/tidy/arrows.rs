//! Dependencies between the crates point one way.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Result, workspace};

/// Each crate may depend on those of the rows above its own, and on none of its own row.
const LAYERS: [&[&str]; 10] = [
    &["a2a-core", "a2a-test-certificates", "a2a-test-servers"],
    &["a2a-kit-lint", "a2a-kit-operations", "a2a-kit-tls"],
    &[
        "a2a-kit-exec",
        "a2a-kit-http",
        "a2a-kit-store",
        "a2a-kit-store-testing",
        "a2a-kit-telemetry",
    ],
    &[
        "a2a-kit-artifacts",
        "a2a-kit-auth",
        "a2a-kit-grpc",
        "a2a-kit-jsonrpc",
        "a2a-kit-rest",
        "a2a-kit-script",
    ],
    &["a2a-kit-compat"],
    &["a2a-kit-client"],
    &["a2a-kit-bench", "a2a-kit-conformance", "a2a-kit-gateway", "a2a-kit-models"],
    &["a2a-kit"],
    &[
        "a2a-bench",
        "a2a-book",
        "a2a-fuzz",
        "a2a-kit-cli",
        "a2a-micro",
        "a2a-test-kinds",
        "a2a-test-mutants",
        "a2a-tests",
        "xtask",
    ],
    &["a2a-test-agent"],
];

/// What must not be among all that a crate depends on, directly or not.
const WITHOUT: [(&str, &[&str]); 5] = [
    ("a2a-core", &["axum", "http", "hyper", "reqwest", "tokio", "tonic"]),
    ("a2a-kit-lint", &["axum", "hyper", "reqwest", "tokio", "tonic"]),
    ("a2a-kit-operations", &["axum", "http", "hyper", "reqwest", "tonic", "tower"]),
    ("a2a-kit-auth", &["reqwest", "url"]),
    ("a2a-kit-client", &["reqwest", "url"]),
];

/// Every arrow that points the wrong way.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = between(&output(&["metadata", "--no-deps", "--format-version", "1"])?)?;
    for (package, unwanted) in WITHOUT {
        let tree = output(&["tree", "-p", package, "-e", "normal", "--prefix", "none"])?;
        faults.extend(
            tree.lines()
                .filter_map(|line| line.split(' ').next())
                .filter(|name| unwanted.contains(name))
                .map(|name| format!("{package} depends on {name}, which it is to do without")),
        );
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// The arrows between the members of the workspace; tests may point anywhere.
fn between(metadata: &str) -> Result<Vec<String>> {
    let metadata: Value = serde_json::from_str(metadata)?;
    let layers: BTreeMap<&str, usize> = LAYERS
        .iter()
        .enumerate()
        .flat_map(|(layer, names)| names.iter().map(move |name| (*name, layer)))
        .collect();
    let mut faults = Vec::new();
    for package in list(&metadata["packages"])? {
        let name = text(&package["name"])?;
        let Some(layer) = layers.get(name) else {
            faults.push(format!("{name} has no layer in xtask/src/tidy/arrows.rs"));
            continue;
        };
        for dependency in list(&package["dependencies"])? {
            let to = text(&dependency["name"])?;
            let is_of_tests = dependency["kind"] == "dev";
            if !is_of_tests && layers.get(to).is_some_and(|below| below >= layer) {
                faults.push(format!("{name} depends on {to}, which is not below it"));
            }
        }
    }
    Ok(faults)
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().ok_or_else(|| "cargo metadata has another form".into())
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| "cargo metadata has another form".into())
}

fn output(arguments: &[&str]) -> Result<String> {
    workspace::output(workspace::cargo().args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(from: &str, to: &str, kind: &str) -> String {
        format!(
            r#"{{"packages": [{{"name": "{from}", "dependencies": [{{"name": "{to}", "kind": {kind}}}]}}]}}"#
        )
    }

    #[test]
    fn an_arrow_may_point_down_only() {
        for (from, to, kind, is_fine) in [
            ("a2a-kit-rest", "a2a-core", "null", true),
            ("a2a-kit-rest", "serde", "null", true),
            ("a2a-kit-rest", "a2a-kit-jsonrpc", "null", false),
            ("a2a-core", "a2a-kit-http", "\"build\"", false),
            ("a2a-kit-http", "a2a-kit-rest", "\"dev\"", true),
            ("a2a-unheard-of", "a2a-core", "null", false),
            // There is one model inside: older revisions are adapters at the edge.
            ("a2a-kit-operations", "a2a-kit-compat", "null", false),
            ("a2a-core", "a2a-kit-compat", "null", false),
            ("a2a-kit-rest", "a2a-kit-compat", "null", false),
        ] {
            let faults = between(&metadata(from, to, kind)).unwrap();
            assert_eq!(faults.is_empty(), is_fine, "{from} -> {to}: {faults:?}");
        }
    }
}
