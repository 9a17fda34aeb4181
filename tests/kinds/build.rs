//! Generates types, JSON forms and rules with the generators of `a2a-core`, and the JSON forms of
//! pbjson.

#[path = "../../crates/a2a-core/build/descriptor.rs"]
mod descriptor;
#[path = "../../crates/a2a-core/build/json.rs"]
mod json;
#[path = "../../crates/a2a-core/build/rules.rs"]
mod rules;
#[path = "../../crates/a2a-core/build/types.rs"]
mod types;

mod may_be_empty {
    pub(crate) const MAY_BE_EMPTY: [&str; 0] = [];
}

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=../../crates/a2a-core/build");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_file("kinds.proto")?;
    let descriptor = compiler.encode_file_descriptor_set();
    fs::write(out.join("descriptor.bin"), &descriptor)?;

    let pool = DescriptorPool::decode(descriptor.as_slice())?;
    let package = descriptor::Package::new(&pool, "kinds.v1")?;
    let mut config = types::config();
    json::configure(&mut config, &package)?;
    config.compile_fds(FileDescriptorSet::decode(descriptor.as_slice())?)?;
    fs::write(out.join("ties.rs"), json::ties(&package)?)?;
    fs::write(out.join("rules.rs"), rules::generate(&package)?)?;

    // The same messages with the JSON of pbjson, to compare it with ours.
    let folder = out.join("pbjson");
    fs::create_dir_all(&folder)?;
    let mut config = types::config();
    config.out_dir(&folder).compile_fds(FileDescriptorSet::decode(descriptor.as_slice())?)?;
    pbjson_build::Builder::new()
        .register_descriptors(&descriptor)?
        .out_dir(&folder)
        .btree_map(["."])
        .ignore_unknown_fields()
        .build(&[".kinds.v1"])?;
    Ok(())
}
