//! The build script, with fields that the released proto does not have.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../build/descriptor.rs"]
#[allow(dead_code, reason = "used by other generators")]
mod descriptor;
#[path = "../build/json.rs"]
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
        import "google/protobuf/duration.proto";
        import "google/protobuf/empty.proto";
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
    let configured = json::configure(&mut prost_build::Config::new(), &package);
    configured.and_then(|()| json::ties(&package)).map(drop).map_err(|error| error.to_string())
}

#[test]
fn unsupported_field_type_fails_the_build_with_a_hint() {
    for (field, kind) in [
        ("google.protobuf.Duration a = 1;", "google.protobuf.Duration"),
        ("google.protobuf.Empty a = 1;", "google.protobuf.Empty"),
        ("repeated google.protobuf.NullValue a = 1;", "google.protobuf.NullValue"),
        ("map<string, google.protobuf.Duration> a = 1;", "google.protobuf.Duration"),
    ] {
        let error = configure(&format!("message Thing {{ {field} }}")).unwrap_err();
        let what = format!("no JSON form for {kind} of lf.a2a.v1.Thing.a: ");
        assert!(error.starts_with(&what), "{field}: {error}");
        for place in ["crates/a2a-core/build/json.rs", "crates/a2a-core/src/json"] {
            assert!(error.contains(place), "{field}: {error}");
        }
    }
    for (oneofs, expected) in [
        (
            "oneof a { google.protobuf.Duration b = 1; }",
            "google.protobuf.Duration of lf.a2a.v1.Thing.b",
        ),
        (
            "oneof a { string b = 1; } oneof c { string d = 2; }",
            "lf.a2a.v1.Thing, which has several unions",
        ),
    ] {
        let error = configure(&format!("message Thing {{ {oneofs} }}")).unwrap_err();
        assert!(error.starts_with(&format!("no JSON form for {expected}: ")), "{error}");
    }
}

#[test]
fn enum_with_aliases_or_negative_numbers_fails_the_build() {
    for values in ["option allow_alias = true; A = 0; B = 1; C = 1;", "A = 0; C = -1;"] {
        let error = configure(&format!("enum Thing {{ {values} }}")).unwrap_err();
        assert!(error.contains(", an alias or a negative number: "), "{error}");
        assert!(error.contains("crates/a2a-core/src/json/enumeration.rs"), "{error}");
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
