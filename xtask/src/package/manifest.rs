//! What crates.io and docs.rs read from a manifest.

use std::fs;

use serde_json::json;

use super::published::Package;
use crate::{Result, workspace};

/// The limit of crates.io.
const MAX_KEYWORDS: usize = 5;

/// The categories in use. crates.io drops those that it does not know without an error, so check a
/// new one against <https://crates.io/category_slugs>.
const CATEGORIES: [&str; 13] = [
    "api-bindings",
    "asynchronous",
    "authentication",
    "command-line-utilities",
    "cryptography",
    "database",
    "development-tools::debugging",
    "development-tools::testing",
    "encoding",
    "network-programming",
    "web-programming",
    "web-programming::http-client",
    "web-programming::http-server",
];

/// Every missing or invalid entry.
pub(super) fn faults(package: &Package) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut check = |is_fine: bool, fault: &str| {
        if !is_fine {
            faults.push(format!("{}: {fault}", package.name));
        }
    };
    let page = format!("https://docs.rs/{}", package.name);
    check(package.description.is_some(), "no description");
    check(package.documentation.as_ref() == Some(&page), &format!("documentation is not {page}"));
    check(package.license.is_some(), "no license");
    check(package.rust_version.is_some(), "no rust-version");
    check((1..=MAX_KEYWORDS).contains(&package.keywords.len()), "not 1 to 5 keywords");
    check(!package.categories.is_empty(), "no categories");
    for category in &package.categories {
        let is_known = CATEGORIES.contains(&category.as_str());
        check(is_known, &format!("category {category} is not in xtask/src/package/manifest.rs"));
    }
    if package.has_library() {
        let docs_rs = json!({"all-features": true, "rustdoc-args": ["--cfg", "docsrs"]});
        let has_metadata = package.metadata["docs"]["rs"] == docs_rs;
        check(has_metadata, &format!("[package.metadata.docs.rs] is not {docs_rs}"));
        let root = workspace::read(&package.folder().join("src/lib.rs"))?;
        for line in
            ["#![cfg_attr(docsrs, feature(doc_cfg))]", "#[doc = include_str!(\"../README.md\")]"]
        {
            check(root.contains(line), &format!("src/lib.rs is without {line}"));
        }
        let listing = workspace::root().join("docs/api").join(format!("{}.txt", package.name));
        check(fs::exists(listing)?, "docs/api has no listing: run `cargo xtask api`");
    }
    Ok(faults)
}
