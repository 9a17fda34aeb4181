//! The types of settings: how each is written, and its JSON Schema.

use std::{borrow::Cow, env, fs, path::PathBuf};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit::Revisions;
use a2a_kit_client::{Transport, credentials::Origin};
use a2a_kit_operations::{extension, rate::Rate};
use http::{HeaderName, HeaderValue};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::value;

/// A value as it is written: here, or in an environment variable or a file of its own.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Integer(u64),
    Number(f64),
    Text(String),
    Variable { env: String },
    File { file: PathBuf },
}

impl Written {
    /// Returns the text.
    pub(super) fn read(self) -> Result<String, String> {
        match self {
            Self::Integer(number) => Ok(number.to_string()),
            Self::Number(number) => Ok(number.to_string()),
            Self::Text(text) => Ok(text),
            Self::Variable { env: name } => match env::var(&name) {
                Ok(text) if !text.is_empty() => Ok(text),
                Ok(_) => Err(format!("the variable {name} is empty")),
                Err(error) => Err(format!("failed to read the variable {name}: {error}")),
            },
            Self::File { file } => match fs::read_to_string(&file) {
                Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
                Ok(_) => Err(format!("{} is empty", file.display())),
                Err(error) => Err(format!("failed to read {}: {error}", file.display())),
            },
        }
    }
}

/// Declares types, each with the function that reads it and its JSON Schema, and for those that
/// `config show` prints how they are shown. There is no `Debug`: some are secret.
macro_rules! types {
    ($($(#[$meta:meta])+ $name:ident($inner:ty) = $read:expr, $schema:tt $(, $shown:expr)?;)+) => {$(
        $(#[$meta])+
        #[derive(Clone, Deserialize)]
        #[serde(try_from = "Written")]
        pub(crate) struct $name(pub(crate) $inner);

        impl TryFrom<Written> for $name {
            type Error = String;

            fn try_from(written: Written) -> Result<Self, Self::Error> {
                $read(&written.read()?).map(Self)
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

        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let shown: fn(&$inner) -> String = $shown;
                serializer.serialize_str(&shown(&self.0))
            }
        })?
    )+};
}

types! {
    /// A number of bytes.
    #[derive(Copy)]
    Bytes(usize) = value::bytes,
    { "type": ["string", "integer"], "title": "size", "examples": ["64KiB", "10MiB"] };

    /// The size of a request head.
    #[derive(Copy)]
    HeadBytes(u32) = head_bytes,
    { "type": ["string", "integer"], "title": "size", "examples": ["64KiB"] };

    /// A duration.
    #[derive(Copy)]
    Duration(std::time::Duration) = value::duration,
    { "type": ["string", "integer"], "title": "duration", "examples": ["500ms", "5m"] },
    duration;

    /// The temperature of a model.
    #[derive(Copy)]
    Temperature(f64) = temperature,
    { "type": "number", "title": "number", "examples": [0.2] };

    /// An amount of money.
    #[derive(Copy)]
    Amount(extension::Amount) = amount,
    { "type": ["string", "integer"], "title": "amount", "examples": ["0.50"] };

    /// An interval between polls.
    PollInterval(std::time::Duration) = value::poll_interval,
    { "type": "string", "title": "duration", "examples": ["500ms", "5s"] }, duration;

    /// A rate limit.
    #[derive(Copy)]
    RateLimit(Rate) = rate,
    { "type": "string", "title": "rate", "examples": ["600/m", "20/s+100"] };

    /// A protocol binding.
    #[derive(Copy)]
    Binding(Transport) = value::binding,
    { "type": "string", "title": "binding", "enum": ["jsonrpc", "http+json", "rest", "grpc"] },
    |binding| binding.as_str().to_ascii_lowercase();

    /// A protocol version.
    #[derive(Copy)]
    Version(ProtocolVersion) = value::version,
    { "type": "string", "title": "version", "enum": ["1.0", "draft", "0.3", "0.2", "0.1"] },
    |version| value::version_name(*version).to_owned();

    /// The origin of a web page, or `*`.
    WebOrigin(String) = value::web_origin,
    { "type": "string", "title": "origin", "examples": ["https://app.example"] };

    /// A string that is not empty.
    NonEmpty(String) = non_empty,
    { "type": "string", "minLength": 1 };

    /// A password, token or key.
    Secret(String) = text,
    { "type": "string", "writeOnly": true, "format": "password" }, |_secret| "(set)".to_owned();

    /// An address, which may have a password or a token in it.
    Address(String) = text,
    { "type": "string", "writeOnly": true };

    /// An origin that credentials may be sent to.
    TrustedOrigin(Origin) = value::origin,
    { "type": "string", "title": "origin", "examples": ["https://agents.example"] },
    Origin::to_string;

    /// The fingerprint of a certificate or a public key.
    Pin([u8; 32]) = value::fingerprint,
    { "type": "string", "title": "fingerprint", "examples": [ZEROS] },
    |pin| pin.iter().map(|byte| format!("{byte:02x}")).collect();

    /// A JSON object.
    Metadata(Struct) = value::json_object,
    { "type": "string", "title": "JSON", "examples": ["{}"] },
    |metadata| serde_json::to_string(metadata).unwrap_or_default();

    /// A header of a request, whose value may be a secret.
    Header((HeaderName, HeaderValue)) = value::header,
    { "type": "string", "writeOnly": true, "examples": ["name: value"] };

    /// A service parameter, whose value may be a secret.
    ServiceParameter((String, String)) = value::service_parameter,
    { "type": "string", "writeOnly": true, "examples": ["name:value"] },
    |(name, _)| format!("{name}:(set)");
}

/// A fingerprint as an example.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A duration as it is shown.
fn duration(duration: &std::time::Duration) -> String {
    match duration.subsec_nanos() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}ms", duration.as_secs_f64() * 1000.0),
    }
}

/// The protocol versions to serve.
#[derive(Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct Protocols(pub(crate) Revisions);

impl TryFrom<Vec<String>> for Protocols {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
        let expected = "expected a list of 1.0, draft, 0.3, 0.2, 0.1, latest and all";
        names.join(",").parse().map(Self).map_err(|_unknown| expected.to_owned())
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

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of at least 0".to_owned())
}

fn amount(text: &str) -> Result<extension::Amount, String> {
    text.parse().map_err(|invalid: extension::InvalidAmount| invalid.to_string())
}

fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|_invalid| "expected a rate such as 600/m or 20/s+100".to_owned())
}

fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("is empty".into()) } else { Ok(text.to_owned()) }
}

fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// Returns whether an address has a password or a token in it. The user of a database is neither.
pub(super) fn has_credentials(address: &str) -> bool {
    address.split(',').any(|one| {
        let Some((scheme, rest)) = one.split_once("://") else { return false };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path_and_query) = rest.split_at(end);
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let is_database = scheme.trim().to_ascii_lowercase().starts_with("postgres");
        user.is_some_and(|user| !is_database || user.contains(':'))
            || path_and_query.contains("password=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_recognized() {
        for (address, expected) in [
            ("a2a.db", false),
            ("memory", false),
            ("postgres://me@db/tasks?sslmode=require", false),
            ("postgres://me:secret@db/tasks", true),
            ("postgres://db/tasks?password=secret", true),
            ("nats://bus/weather", false),
            ("nats://bus,tls://token@bus2", true),
        ] {
            assert_eq!(has_credentials(address), expected, "{address}");
        }
    }
}
