//! The build script, with fields that the released proto does not have.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

#[path = "../build/descriptor.rs"]
mod descriptor;
#[path = "../build/json.rs"]
#[allow(dead_code, reason = "only what configures the types is tested")]
mod json;

use prost_reflect::DescriptorPool;
use protox::{
    Compiler, Error,
    file::{ChainFileResolver, File, FileResolver, GoogleFileResolver},
};

use descriptor::Package;

/// The members of `Part` in the released proto.
const PART: &str = r#"
    oneof content { string text = 1; bytes raw = 2; string url = 3; google.protobuf.Value data = 4; }
    google.protobuf.Struct metadata = 5;
    string filename = 6;
    string media_type = 7;
"#;

/// An in-memory proto.
struct Proto(String);

impl FileResolver for Proto {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        if name == "test.proto" {
            File::from_source(name, &self.0)
        } else {
            Err(Error::file_not_found(name))
        }
    }
}

/// Generates the JSON form of every message of a proto.
fn configure(messages: &str) -> Result<(), String> {
    let proto = format!(
        r#"syntax = "proto3";
        package lf.a2a.v1;
        import "google/protobuf/struct.proto";
        import "google/protobuf/timestamp.proto";
        enum Role {{ ROLE_UNSPECIFIED = 0; ROLE_AGENT = 1; }}
        message Request {{}}
        service Agent {{ rpc Ask(Request) returns (Request); }}
        {messages}"#
    );
    let mut resolver = ChainFileResolver::new();
    resolver.add(GoogleFileResolver::new());
    resolver.add(Proto(proto));
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file("test.proto").unwrap();
    let bytes = compiler.encode_file_descriptor_set();
    let pool = DescriptorPool::decode(bytes.as_slice()).unwrap();
    let package = Package::new(&pool, "lf.a2a.v1").unwrap();
    json::configure(&mut prost_build::Config::new(), &package).map_err(|error| error.to_string())
}

#[test]
fn supported_field_types_build() {
    for field in [
        "string a = 1;",
        "optional bool a = 1;",
        "int32 a = 1;",
        "Role a = 1;",
        "repeated string a = 1;",
        "repeated bool a = 1;",
        "repeated Request a = 1;",
        "repeated google.protobuf.Value a = 1;",
        "map<string, string> a = 1;",
        "map<string, Request> a = 1;",
        "google.protobuf.Timestamp a = 1;",
    ] {
        let built = configure(&format!("message Thing {{ {field} }}"));
        assert_eq!(built, Ok(()), "{field}");
    }
}

#[test]
fn unsupported_field_type_fails_the_build_with_a_hint() {
    for (field, kind) in [
        ("repeated Role a = 1;", "repeated lf.a2a.v1.Role"),
        ("repeated int32 a = 1;", "repeated int32"),
        ("repeated int64 a = 1;", "repeated int64"),
        ("repeated uint32 a = 1;", "repeated uint32"),
        ("repeated bytes a = 1;", "repeated bytes"),
        ("repeated double a = 1;", "repeated double"),
        ("map<string, Role> a = 1;", "map<string, lf.a2a.v1.Role>"),
        ("map<string, int64> a = 1;", "map<string, int64>"),
        ("map<string, bytes> a = 1;", "map<string, bytes>"),
        ("map<int32, string> a = 1;", "map<int32, string>"),
        ("map<bool, string> a = 1;", "map<bool, string>"),
        ("int64 a = 1;", "int64"),
        ("bytes a = 1;", "bytes"),
        ("double a = 1;", "double"),
        ("optional Role a = 1;", "lf.a2a.v1.Role"),
    ] {
        let error = configure(&format!("message Thing {{ {field} }}")).unwrap_err();
        let what = format!("no JSON form for {kind} of lf.a2a.v1.Thing.a: ");
        assert!(error.starts_with(&what), "{field}: {error}");
        for place in ["`form` in crates/a2a-core/build/json.rs", "crates/a2a-core/src/json.rs"] {
            assert!(error.contains(place), "{field}: {error}");
        }
    }
}

#[test]
fn union_with_other_members_fails_the_build_with_a_hint() {
    let message = "message Thing { string a = 1; oneof b { string c = 2; string d = 3; } }";
    let error = configure(message).unwrap_err();
    assert!(error.starts_with("no JSON form for lf.a2a.v1.Thing"), "{error}");
    assert!(error.contains("crates/a2a-core/src/part.rs"), "{error}");
}

#[test]
fn part_with_unknown_members_fails_the_build() {
    assert_eq!(configure(&format!("message Part {{ {PART} }}")), Ok(()));
    for (members, at_fault) in [
        (format!("{PART} string alt_text = 8;"), "lf.a2a.v1.Part.alt_text (string)"),
        (format!("{PART} repeated string tags = 8;"), "lf.a2a.v1.Part.tags (repeated string)"),
        (
            PART.replace("string url = 3;", "string url = 3; bytes audio = 8;"),
            "lf.a2a.v1.Part.audio (bytes in content)",
        ),
        (
            PART.replace("string filename", "repeated string filename"),
            "lf.a2a.v1.Part.filename (repeated string)",
        ),
        (PART.replace("string filename", "bytes filename"), "lf.a2a.v1.Part.filename (bytes)"),
        (PART.replace("string filename = 6;", ""), "lf.a2a.v1.Part has no filename any more"),
    ] {
        let error = configure(&format!("message Part {{ {members} }}")).unwrap_err();
        assert!(error.starts_with(at_fault), "{error}");
        for place in ["crates/a2a-core/src/part.rs", "crates/a2a-core/build/json.rs"] {
            assert!(error.contains(place), "{error}");
        }
    }
}
