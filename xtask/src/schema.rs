//! Writes the documents that are made from the proto, or checks that they are up to date.

mod json_schema;
#[path = "../../crates/a2a-core/build/may_be_empty.rs"]
mod may_be_empty;
mod openapi;
mod proto;

use serde_json::Value;

use crate::{Result, workspace};

/// Where the documents are: in the crate that offers them to its users.
const FOLDER: &str = "crates/a2a-rest/schema";

/// What `cargo xtask schema` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a document differs from what the proto gives
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
