//! Generates the messages, the service and the client of `a2a.v1` from the union proto of the older
//! revisions, and the ProtoJSON serialization that REST of 0.3 uses.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use prost::Message as _;
use prost_reflect::{
    DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, ServiceDescriptor,
};
use prost_types::FileDescriptorSet;
use tonic_build::manual::{Builder, Method, Service};

const PROTO: &str = "a2a/v0_3/a2a.proto";
const PACKAGE: &str = "a2a.v1";

/// Messages that are identical in 1.0, with their names there.
const UNCHANGED: [(&str, &str); 14] = [
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
    ("TaskState", "TaskState"),
];

/// Messages with derived serialization. Messages with a oneof have a handwritten one.
const IN_JSON: [&str; 14] = [
    "Artifact",
    "AuthenticationInfo",
    "CreateTaskPushNotificationConfigRequest",
    "DataPart",
    "ListTaskPushNotificationConfigResponse",
    "Message",
    "PushNotificationConfig",
    "SendMessageConfiguration",
    "SendMessageRequest",
    "Task",
    "TaskArtifactUpdateEvent",
    "TaskPushNotificationConfig",
    "TaskStatus",
    "TaskStatusUpdateEvent",
];

/// Aliases of members, mostly from the draft.
const ALIASES: [(&str, &str); 3] = [
    ("a2a.v1.Message.content", "parts"),
    ("a2a.v1.SendMessageConfiguration.push_notification", "pushNotificationConfig"),
    ("a2a.v1.SendMessageConfiguration.push_notification", "push_notification_config"),
];

/// Also written with their default value: one is required by clients of the other JSON format, and
/// one is assumed to be true if missing.
const ALWAYS: [&str; 2] =
    ["a2a.v1.SendMessageConfiguration.blocking", "a2a.v1.TaskStatusUpdateEvent.final"];

/// Not written: clients of 0.3 reject unknown members.
const AFTER_0_3: &str = "a2a.v1.Message.reference_task_ids";

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
    let with_comments = compile(true)?;
    let pool = DescriptorPool::decode(with_comments.as_slice())?;

    let mut config = prost_build::Config::new();
    config
        .compile_well_known_types()
        .extern_path(".google.protobuf.Timestamp", "::a2a_core::well_known::Timestamp")
        .extern_path(".google.protobuf.Struct", "::a2a_core::well_known::Struct")
        .extern_path(".google.protobuf.Value", "::a2a_core::well_known::Value")
        .extern_path(".google.protobuf.Empty", "()")
        .btree_map(["."])
        .bytes([".a2a.v1.FilePart"]);
    for (name, current) in UNCHANGED {
        config.extern_path(format!(".{PACKAGE}.{name}"), format!("::a2a_core::v1::{current}"));
    }
    for name in IN_JSON {
        let message = pool
            .get_message_by_name(&format!("{PACKAGE}.{name}"))
            .ok_or_else(|| format!("the proto has no {name}"))?;
        derive_json(&mut config, &message)?;
    }
    config.compile_fds(FileDescriptorSet::decode(with_comments.as_slice())?)?;

    let service = pool
        .get_service_by_name(&format!("{PACKAGE}.A2AService"))
        .ok_or("the proto has no A2AService")?;
    // Requests are decoded later, large ones on the blocking pool.
    let server = describe(&service, "::a2a_kit_grpc::wire::OwnedCodec", |message| {
        format!("::a2a_kit_grpc::wire::Undecoded<{message}>")
    });
    let client = describe(&service, "::tonic_prost::ProstCodec", |message| message);
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

/// Adds the serde attributes of a message and its fields.
fn derive_json(
    config: &mut prost_build::Config,
    message: &MessageDescriptor,
) -> Result<(), Box<dyn Error>> {
    config.message_attribute(
        message.full_name(),
        "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(default)]",
    );
    for field in message.fields() {
        config.field_attribute(field.full_name(), attribute(&field)?);
    }
    Ok(())
}

fn attribute(field: &FieldDescriptor) -> Result<String, Box<dyn Error>> {
    let unsupported = |kind: Kind| {
        let name = field.full_name();
        format!("no JSON form for {kind:?} of {name}: add one in crates/a2a-kit-compat/build.rs")
    };
    let element = match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    };
    if (field.is_list() || field.is_map())
        && !matches!(element, Kind::Message(_) | Kind::String | Kind::Bool)
    {
        return Err(unsupported(element).into());
    }
    let or_default = "deserialize_with = \"crate::common::member::or_default\"";
    let is_default = "skip_serializing_if = \"crate::proto::spelling::is_default\"";
    let form = match field.kind() {
        Kind::Message(message) if message.full_name() == "google.protobuf.Timestamp" => {
            "with = \"crate::common::member::timestamp\""
        }
        Kind::Message(_) if !field.is_list() && !field.is_map() => "",
        Kind::Int32 if field.supports_presence() => {
            "deserialize_with = \"crate::common::member::int32\""
        }
        Kind::Enum(kind) if kind.name() == "TaskState" => {
            "with = \"crate::proto::spelling::state\""
        }
        Kind::Enum(kind) if kind.name() == "Role" => "with = \"crate::proto::spelling::role\"",
        Kind::Message(_) | Kind::String | Kind::Bool => or_default,
        kind => return Err(unsupported(kind).into()),
    };
    let mut parts = vec![format!("rename = \"{}\"", field.json_name())];
    if field.json_name() != field.name() {
        parts.push(format!("alias = \"{}\"", field.name()));
    }
    for (_, alias) in ALIASES.iter().filter(|(name, _)| *name == field.full_name()) {
        parts.push(format!("alias = \"{alias}\""));
    }
    if !form.is_empty() {
        parts.push(form.to_owned());
    }
    if field.full_name() == AFTER_0_3 {
        parts.push("skip_serializing".to_owned());
    } else if !ALWAYS.contains(&field.full_name()) {
        parts.push(is_default.to_owned());
    }
    Ok(format!("#[serde({})]", parts.join(", ")))
}

fn describe(
    service: &ServiceDescriptor,
    codec: &str,
    request: impl Fn(String) -> String,
) -> Service {
    let mut described = Service::builder().name(service.name()).package(service.package_name());
    for method in service.methods() {
        described = described.method(describe_method(&method, codec, &request));
    }
    described.build()
}

fn describe_method(
    method: &MethodDescriptor,
    codec: &str,
    request: impl Fn(String) -> String,
) -> Method {
    let described = Method::builder()
        .name(snake_case(method.name()))
        .route_name(method.name())
        .input_type(request(rust_type(method.input().full_name())))
        .output_type(rust_type(method.output().full_name()))
        .codec_path(codec);
    if method.is_server_streaming() { described.server_streaming() } else { described }.build()
}

fn rust_type(message: &str) -> String {
    match message.strip_prefix("a2a.v1.") {
        Some(name) => format!("crate::proto::{name}"),
        None => "crate::proto::Empty".to_owned(),
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
