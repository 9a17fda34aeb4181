//! The interfaces of an agent: a binding in a revision.

use std::fmt;

use a2a_core::card;

/// A binding of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// JSON-RPC.
    JsonRpc,
    /// HTTP+JSON.
    Rest,
    /// gRPC.
    Grpc,
}

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// 0.3.
    V0_3,
    /// 1.0.
    V1_0,
}

/// A binding in a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The binding.
    pub binding: Binding,
    /// The revision.
    pub revision: Revision,
}

impl Interface {
    /// JSON-RPC of 1.0.
    pub const JSONRPC: Self = Self::new(Binding::JsonRpc, Revision::V1_0);
    /// HTTP+JSON of 1.0.
    pub const REST: Self = Self::new(Binding::Rest, Revision::V1_0);
    /// gRPC of 1.0.
    pub const GRPC: Self = Self::new(Binding::Grpc, Revision::V1_0);
    /// JSON-RPC of 0.3.
    pub const JSONRPC_0_3: Self = Self::new(Binding::JsonRpc, Revision::V0_3);
    /// HTTP+JSON of 0.3.
    pub const REST_0_3: Self = Self::new(Binding::Rest, Revision::V0_3);
    /// gRPC of 0.3.
    pub const GRPC_0_3: Self = Self::new(Binding::Grpc, Revision::V0_3);

    const fn new(binding: Binding, revision: Revision) -> Self {
        Self { binding, revision }
    }
}

/// The binding as in agent cards, and the revision: `JSONRPC 1.0`.
impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = match self.binding {
            Binding::JsonRpc => card::JSONRPC,
            Binding::Rest => card::HTTP_JSON,
            Binding::Grpc => card::GRPC,
        };
        let revision = match self.revision {
            Revision::V0_3 => "0.3",
            Revision::V1_0 => "1.0",
        };
        write!(f, "{binding} {revision}")
    }
}
