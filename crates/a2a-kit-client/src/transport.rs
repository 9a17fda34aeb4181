//! The bindings that a client supports.

use std::{fmt, str::FromStr};

use a2a_core::{ParseError, ProtocolVersion, card};

/// A binding of the protocol (spec §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// JSON-RPC over HTTP, events over SSE (spec §9).
    JsonRpc,
    /// HTTP and JSON, events over SSE (spec §11).
    Rest,
    /// gRPC (spec §10).
    Grpc,
}

impl Transport {
    /// Every binding.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::Rest, Self::Grpc];

    /// The name in `AgentInterface.protocolBinding`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => card::JSONRPC,
            Self::Rest => card::HTTP_JSON,
            Self::Grpc => card::GRPC,
        }
    }

    /// Returns whether a protocol version has this binding, and the client supports both.
    pub(crate) fn supports(self, version: ProtocolVersion) -> bool {
        let exists = match self {
            Self::JsonRpc => true,
            Self::Rest => version >= ProtocolVersion::V0_3,
            Self::Grpc => version >= ProtocolVersion::V0_2,
        };
        exists && self.is_compiled(version)
    }

    /// Finds the binding of an interface, ignoring case, as cards are often written by hand.
    pub(crate) fn of_interface(binding: &str) -> Option<Self> {
        let binding = binding.trim();
        Self::ALL.into_iter().find(|transport| binding.eq_ignore_ascii_case(transport.as_str()))
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Transport {
    type Err = ParseError;

    /// Parses the name of a binding, ignoring case; `rest` is an alias of `http+json`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().eq_ignore_ascii_case("rest") {
            return Ok(Self::Rest);
        }
        Self::of_interface(text).ok_or_else(|| {
            let expected = "expected jsonrpc, http+json or grpc";
            ParseError::new(format!("unknown binding {text:?} ({expected})"))
        })
    }
}
