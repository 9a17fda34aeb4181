//! Writes the documents that are generated from the proto, or checks that they are up to date.

mod json_schema;
#[path = "../../crates/a2a-core/build/may_be_empty.rs"]
mod may_be_empty;
mod openapi;
pub(crate) mod proto;

use serde_json::Value;

use crate::{Result, workspace};

/// The directory of the documents, in the crate that publishes them.
const FOLDER: &str = "crates/a2a-kit-rest/schema";

/// The arguments of `cargo xtask schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a document is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let proto = proto::Proto::compile(&workspace::root().join("proto"))?;
    let folder = workspace::root().join(FOLDER);
    let mut up_to_date = true;
    for (name, document) in [
        ("a2a.schema.json", json_schema::bundle(&proto)?),
        ("openapi.json", openapi::document(&proto)?),
    ] {
        let text = pretty(&document)?;
        up_to_date &= workspace::write_or_check(&folder.join(name), &text, args.check)?;
    }
    if up_to_date { Ok(()) } else { Err("run `cargo xtask schema`".into()) }
}

fn pretty(document: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}
