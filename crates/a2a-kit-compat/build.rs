//! Generates the messages and the client of `a2a.v1` from the union proto of the older revisions, and
//! their ProtoJSON, which REST of 0.3 uses.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use prost::Message as _;
use prost_types::{FileDescriptorSet, field_descriptor_proto::Label};
use tonic_build::manual::{Builder, Method, Service};

const PROTO: &str = "a2a/v0_3/a2a.proto";
const PACKAGE: &str = ".a2a.v1";

/// Messages that are identical in 1.0, with their names there.
const UNCHANGED: [(&str, &str); 13] = [
    ("APIKeySecurityScheme", "ApiKeySecurityScheme"),
    ("AgentCardSignature", "AgentCardSignature"),
    ("AgentExtension", "AgentExtension"),
    ("AgentProvider", "AgentProvider"),
    ("ClientCredentialsOAuthFlow", "ClientCredentialsOAuthFlow"),
    ("HTTPAuthSecurityScheme", "HttpAuthSecurityScheme"),
    ("ImplicitOAuthFlow", "ImplicitOAuthFlow"),
    ("MutualTlsSecurityScheme", "MutualTlsSecurityScheme"),
    ("OpenIdConnectSecurityScheme", "OpenIdConnectSecurityScheme"),
    ("PasswordOAuthFlow", "PasswordOAuthFlow"),
    ("Role", "Role"),
    ("Security", "SecurityRequirement"),
    ("StringList", "StringList"),
];

/// Members that are also written with their default value: one is required by clients of the other
/// JSON format, and one is assumed to be true if missing.
const ALWAYS: [(&str, &str); 2] =
    [("SendMessageConfiguration", "blocking"), ("TaskStatusUpdateEvent", "final")];

fn main() -> Result<(), Box<dyn Error>> {
    let include = include();
    println!("cargo:rerun-if-changed={include}");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let compile = |source_info| -> Result<Vec<u8>, Box<dyn Error>> {
        let mut compiler = protox::Compiler::new([include])?;
        compiler.include_imports(true).include_source_info(source_info).open_file(PROTO)?;
        Ok(compiler.encode_file_descriptor_set())
    };
    fs::write(out.join("descriptor.bin"), compile(false)?)?;
    fs::create_dir_all(out.join("client"))?;
    let descriptors = FileDescriptorSet::decode(compile(true)?.as_slice())?;

    let mut messages = prost_build::Config::new();
    messages
        .compile_well_known_types()
        .extern_path(".google.protobuf.Timestamp", "::a2a_core::well_known::Timestamp")
        .extern_path(".google.protobuf.Struct", "::a2a_core::well_known::Struct")
        .extern_path(".google.protobuf.Value", "::a2a_core::well_known::Value")
        .extern_path(".google.protobuf.Empty", "()")
        .btree_map(["."])
        .bytes([".a2a.v1.FilePart"])
        .service_generator(Box::new(Client(out.join("client"))));
    let mut json = pbjson_build::Builder::new();
    json.ignore_unknown_fields().btree_map(["."]);
    for (name, current) in UNCHANGED {
        let (name, current) = (format!("{PACKAGE}.{name}"), format!("::a2a_core::v1::{current}"));
        json.exclude([&name]).extern_path(&name, &current);
        messages.extern_path(name, current);
    }
    for mut file in descriptors.file.clone() {
        // What is required is always written.
        for message in &mut file.message_type {
            let name = message.name().to_owned();
            for field in &mut message.field {
                if ALWAYS.contains(&(&name, field.name())) {
                    field.set_label(Label::Required);
                }
            }
        }
        json.register_file_descriptor(file);
    }
    json.build(&[PACKAGE])?;
    messages.compile_fds(descriptors)?;
    Ok(())
}

/// The directory of the protos: in the package, or in the repository if the symbolic link to it was
/// checked out as a file, as on Windows.
fn include() -> &'static str {
    if Path::new("proto/a2a").is_dir() { "proto" } else { "../../proto" }
}

/// Generates the client in a directory.
struct Client(PathBuf);

impl prost_build::ServiceGenerator for Client {
    fn generate(&mut self, service: prost_build::Service, _: &mut String) {
        let mut described = Service::builder().name(&service.proto_name).package(&service.package);
        for method in &service.methods {
            let path = |name: &str| match name {
                "()" => "crate::proto::Empty".to_owned(),
                name => format!("crate::proto::{name}"),
            };
            let one = Method::builder()
                .name(&method.name)
                .route_name(&method.proto_name)
                .input_type(path(&method.input_type))
                .output_type(path(&method.output_type))
                .codec_path("::tonic_prost::ProstCodec");
            let one = if method.server_streaming { one.server_streaming() } else { one };
            described = described.method(one.build());
        }
        let builder = Builder::new().build_server(false).build_transport(false);
        builder.out_dir(&self.0).compile(&[described.build()]);
    }
}
