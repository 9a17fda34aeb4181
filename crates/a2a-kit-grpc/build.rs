//! Generates the service and the client of `lf.a2a.v1.A2AService` from the proto, with the types of
//! `a2a-core`.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
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

    // prost's generator returns messages by value, which would clone stored tasks and shared events.
    // Responses of this server may be shared or encoded, and requests are decoded later, large ones on
    // the blocking pool.
    let server = describe(
        &service,
        "crate::server::codec::ServerCodec",
        |message| format!("crate::server::codec::Undecoded<{message}>"),
        |message| format!("crate::server::codec::Shared<{message}>"),
    );
    let client =
        describe(&service, "crate::codec::ClientCodec", |message| message, |message| message);

    for (side, service) in [("server", server), ("client", client)] {
        let folder = out.join(side);
        fs::create_dir_all(&folder)?;
        Builder::new()
            .build_server(side == "server")
            .build_client(side == "client")
            .build_transport(false)
            .out_dir(folder)
            .compile(&[service]);
    }
    Ok(())
}

/// The directory of the protos: in the package, or in the repository if the symbolic link to it was
/// checked out as a file, as on Windows.
fn include() -> &'static str {
    if Path::new("proto/a2a").is_dir() { "proto" } else { "../../proto" }
}

fn describe(
    service: &ServiceDescriptor,
    codec: &str,
    request: impl Fn(String) -> String,
    response: impl Fn(String) -> String,
) -> Service {
    let mut described = Service::builder().name(service.name()).package(service.package_name());
    for method in service.methods() {
        described = described.method(describe_method(&method, codec, &request, &response));
    }
    described.build()
}

fn describe_method(
    method: &MethodDescriptor,
    codec: &str,
    request: impl Fn(String) -> String,
    response: impl Fn(String) -> String,
) -> Method {
    let described = Method::builder()
        .name(snake_case(method.name()))
        .route_name(method.name())
        .input_type(request(rust_type(method.input().full_name())))
        .output_type(response(rust_type(method.output().full_name())))
        .codec_path(codec);
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
