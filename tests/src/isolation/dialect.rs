//! A binding in a revision.

use a2a_core::ProtocolVersion::{self, V0_1, V0_2, V0_3, V1_0, V1Draft};

use super::{
    grpc, jsonrpc,
    probe::{Probe, Target},
    rest,
    wire::{Answer, WireRequest},
};

/// A binding in a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    JsonRpc(ProtocolVersion),
    Rest(ProtocolVersion),
    Grpc(ProtocolVersion),
}

impl Dialect {
    pub const ALL: [Self; 12] = [
        Self::JsonRpc(V1_0),
        Self::JsonRpc(V1Draft),
        Self::JsonRpc(V0_3),
        Self::JsonRpc(V0_2),
        Self::JsonRpc(V0_1),
        Self::Rest(V1_0),
        Self::Rest(V1Draft),
        Self::Rest(V0_3),
        Self::Grpc(V1_0),
        Self::Grpc(V1Draft),
        Self::Grpc(V0_3),
        Self::Grpc(V0_2),
    ];

    pub fn revision(self) -> ProtocolVersion {
        match self {
            Self::JsonRpc(revision) | Self::Rest(revision) | Self::Grpc(revision) => revision,
        }
    }

    /// Whether its requests have a tenant.
    pub fn has_tenants(self) -> bool {
        self.revision() == V1_0
    }

    /// Whether clients choose task ids.
    pub fn has_chosen_ids(self) -> bool {
        self.revision() == V0_1
    }

    /// The request; `None` if the revision does not have it.
    pub fn request(self, probe: Probe, target: &Target) -> Option<WireRequest> {
        match self {
            Self::JsonRpc(revision) => jsonrpc::request(revision, probe, target),
            Self::Rest(revision) => rest::request(revision, probe, target),
            Self::Grpc(revision) => grpc::request(revision, probe, target),
        }
    }

    /// Whether a response is "task not found" in this dialect.
    pub fn is_not_found(self, answer: &Answer) -> bool {
        match self {
            // Its code is the same in all revisions.
            Self::JsonRpc(_) => answer.status == 200 && answer.names("-32001"),
            // Streams of old revisions have it in an event.
            Self::Rest(_) => {
                answer.status == 404 || (answer.status == 200 && answer.names("-32001"))
            }
            Self::Grpc(_) => answer.header("grpc-status").as_deref() == Some("5"),
        }
    }

    /// Whether a response is a success.
    pub fn is_success(self, answer: &Answer) -> bool {
        match self {
            Self::JsonRpc(_) => answer.status == 200 && !answer.names("\"error\""),
            Self::Rest(_) => (200..300).contains(&answer.status) && !answer.names("\"error\""),
            Self::Grpc(_) => answer.header("grpc-status").is_none_or(|status| status == "0"),
        }
    }

    /// The column title in a table.
    pub fn name(self) -> String {
        let binding = match self {
            Self::JsonRpc(_) => "JSON-RPC",
            Self::Rest(_) => "HTTP+JSON",
            Self::Grpc(_) => "gRPC",
        };
        let revision = match self.revision() {
            V0_1 => "0.1",
            V0_2 => "0.2",
            V0_3 => "0.3",
            V1Draft => "draft",
            V1_0 => "1.0",
        };
        format!("{binding} {revision}")
    }
}
