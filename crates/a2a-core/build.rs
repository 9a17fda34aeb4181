//! Generates the types, their JSON forms, the validation rules and the routes from `proto/`.

#[path = "build/card_members.rs"]
mod card_members;
#[path = "build/descriptor.rs"]
mod descriptor;
#[path = "build/json.rs"]
mod json;
#[path = "build/may_be_empty.rs"]
mod may_be_empty;
#[path = "build/operations.rs"]
mod operations;
#[path = "build/rules.rs"]
mod rules;
#[path = "build/types.rs"]
mod types;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorSet;

const PROTO: &str = "a2a/v1/a2a.proto";

fn main() -> Result<(), Box<dyn Error>> {
    let include = include();
    println!("cargo:rerun-if-changed={include}");
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    // prost-types drops the google.api options when it encodes, so the published descriptor is the
    // output of the compiler.
    let compile = |source_info| -> Result<Vec<u8>, Box<dyn Error>> {
        let mut compiler = protox::Compiler::new([include])?;
        compiler.include_imports(true).include_source_info(source_info).open_file(PROTO)?;
        Ok(compiler.encode_file_descriptor_set())
    };
    let with_comments = compile(true)?;
    fs::write(out.join("descriptor.bin"), compile(false)?)?;

    let pool = DescriptorPool::decode(with_comments.as_slice())?;
    let package = descriptor::Package::new(&pool, "lf.a2a.v1")?;

    let mut config = types::config();
    json::configure(&mut config, &package)?;
    config.compile_fds(FileDescriptorSet::decode(with_comments.as_slice())?)?;

    fs::write(out.join("ties.rs"), json::ties(&package)?)?;
    fs::write(out.join("rules.rs"), rules::generate(&package)?)?;
    fs::write(out.join("card_members.rs"), card_members::generate(&package)?)?;
    fs::write(out.join("operations.rs"), operations::generate(&package)?)?;
    Ok(())
}

/// The directory of the protos: in the package, or in the repository if the symbolic link to it was
/// checked out as a file, as on Windows.
fn include() -> &'static str {
    if Path::new("proto/a2a").is_dir() { "proto" } else { "../../proto" }
}
