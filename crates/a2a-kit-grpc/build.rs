//! Generates the service of `lf.a2a.v1.A2AService` from the proto, with the types of
//! `a2a-core`.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
};

use prost_reflect::{DescriptorPool, MethodDescriptor};
use tonic_build::manual::{Builder, Method, Service};

const PROTO: &str = "a2a/v1/a2a.proto";
const SERVICE: &str = "lf.a2a.v1.A2AService";

fn main() -> Result<(), Box<dyn Error>> {
    let include = include();
    println!("cargo:rerun-if-changed={include}");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut compiler = protox::Compiler::new([include])?;
    compiler.include_imports(true).open_file(PROTO)?;
    let pool = DescriptorPool::decode(compiler.encode_file_descriptor_set().as_slice())?;
    let service = pool.get_service_by_name(SERVICE).ok_or("the proto has no A2AService")?;

    let mut described = Service::builder().name(service.name()).package(service.package_name());
    for method in service.methods() {
        described = described.method(describe(&method));
    }
    let builder = Builder::new().build_client(false).build_transport(false).out_dir(out);
    builder.compile(&[described.build()]);
    Ok(())
}

/// The directory of the protos: in the package, or in the repository if the symbolic link to it was
/// checked out as a file, as on Windows.
fn include() -> &'static str {
    if Path::new("proto/a2a").is_dir() { "proto" } else { "../../proto" }
}

/// prost's generator returns messages by value, which would clone stored tasks and shared events.
/// Responses of this server may be shared or encoded, and requests are decoded later, large ones on
/// the blocking pool.
fn describe(method: &MethodDescriptor) -> Method {
    let (input, output) =
        (rust_type(method.input().full_name()), rust_type(method.output().full_name()));
    let described = Method::builder()
        .name(snake_case(method.name()))
        .route_name(method.name())
        .input_type(format!("crate::server::codec::Undecoded<{input}>"))
        .output_type(format!("crate::server::codec::Shared<{output}>"))
        .codec_path("crate::server::codec::ServerCodec");
    if method.is_server_streaming() { described.server_streaming() } else { described }.build()
}

fn rust_type(message: &str) -> String {
    match message.strip_prefix("lf.a2a.v1.") {
        Some(name) => format!("::a2a_core::v1::{name}"),
        None => "crate::codec::Empty".to_owned(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
