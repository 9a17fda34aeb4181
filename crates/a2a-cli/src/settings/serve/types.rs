//! The types of settings: how each is written, and its JSON Schema.

use std::{borrow::Cow, fmt};

use a2a::Revisions;
use a2a_client::Transport;
use a2a_core::ProtocolVersion;
use a2a_operations::rate::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::settings::value;

/// A string or an integer.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Integer(u64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Declares a type with the function that reads it, and its JSON Schema.
macro_rules! text_type {
    ($(#[$doc:meta])+ $name:ident($inner:ty) = $read:expr, $schema:tt) => {
        $(#[$doc])+
        #[derive(Debug, Deserialize)]
        #[serde(try_from = "Scalar")]
        pub(crate) struct $name(pub(crate) $inner);

        impl TryFrom<Scalar> for $name {
            type Error = String;

            fn try_from(scalar: Scalar) -> Result<Self, Self::Error> {
                $read(&scalar.to_string()).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_type! {
    /// A number of bytes.
    #[derive(Clone, Copy)]
    Bytes(usize) = value::bytes, {
        "type": ["string", "integer"], "title": "size", "examples": ["64KiB", "10MiB"],
    }
}

text_type! {
    /// The size of a request head.
    #[derive(Clone, Copy)]
    HeadBytes(u32) = head_bytes, {
        "type": ["string", "integer"], "title": "size", "examples": ["64KiB"],
    }
}

text_type! {
    /// A duration.
    #[derive(Clone, Copy)]
    Duration(std::time::Duration) = value::duration, {
        "type": ["string", "integer"], "title": "duration", "examples": ["500ms", "5m"],
    }
}

text_type! {
    /// A rate limit.
    #[derive(Clone, Copy)]
    RateLimit(Rate) = rate, {
        "type": "string", "title": "rate", "examples": ["600/m", "20/s+100"],
    }
}

text_type! {
    /// A protocol binding.
    #[derive(Clone, Copy)]
    Binding(Transport) = value::binding, {
        "type": "string", "title": "binding", "enum": ["jsonrpc", "http+json", "rest", "grpc"],
    }
}

text_type! {
    /// A protocol version.
    #[derive(Clone, Copy)]
    Version(ProtocolVersion) = value::version, {
        "type": "string", "title": "version", "enum": ["1.0", "draft", "0.3", "0.2", "0.1"],
    }
}

text_type! {
    /// The origin of a web page, or `*`.
    WebOrigin(String) = value::web_origin, {
        "type": "string", "title": "origin", "examples": ["https://app.example"],
    }
}

text_type! {
    /// A string that is not empty.
    NonEmpty(String) = non_empty, { "type": "string", "minLength": 1 }
}

/// The protocol versions to serve.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct Protocols(pub(crate) Revisions);

impl TryFrom<Vec<String>> for Protocols {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
        names.join(",").parse().map(Self).map_err(|_unknown| {
            "expected a list of 1.0, draft, 0.3, 0.2, 0.1, latest and all".to_owned()
        })
    }
}

impl JsonSchema for Protocols {
    fn schema_name() -> Cow<'static, str> {
        "Protocols".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = ["all", "latest", "1.0", "draft", "0.3", "0.2", "0.1"];
        json_schema!({ "type": "array", "items": { "type": "string", "enum": names } })
    }
}

fn head_bytes(text: &str) -> Result<u32, String> {
    match value::bytes(text).map(u32::try_from)? {
        Ok(bytes) if (8 << 10..=16 << 20).contains(&bytes) => Ok(bytes),
        _ => Err("expected a size of 8KiB to 16MiB".into()),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|_invalid| "expected a rate such as 600/m or 20/s+100".to_owned())
}

fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("is empty".into()) } else { Ok(text.to_owned()) }
}
