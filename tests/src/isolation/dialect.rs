//! A binding in a revision.

use a2a_core::ProtocolVersion::{self, V0_1, V0_2, V0_3, V1_0, V1Draft};

use super::{
    ask::{Probe, Target},
    grpc, jsonrpc, rest,
    wire::{Answer, Ask},
};

/// A binding in a revision that has it.
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

    /// Whether its requests say a tenant.
    pub fn has_tenants(self) -> bool {
        self.revision() == V1_0
    }

    /// Whether a client of it chooses the ids of its tasks.
    pub fn has_chosen_ids(self) -> bool {
        self.revision() == V0_1
    }

    /// The request; `None` where the revision has none.
    pub fn ask(self, probe: Probe, target: &Target) -> Option<Ask> {
        match self {
            Self::JsonRpc(revision) => jsonrpc::ask(revision, probe, target),
            Self::Rest(revision) => rest::ask(revision, probe, target),
            Self::Grpc(revision) => grpc::ask(revision, probe, target),
        }
    }

    /// Whether an answer says that there is no such task, as its wire says it.
    pub fn is_not_found(self, answer: &Answer) -> bool {
        match self {
            // Its code is the same in all revisions.
            Self::JsonRpc(_) => answer.status == 200 && answer.names("-32001"),
            // Streams of old revisions say it in an event.
            Self::Rest(_) => {
                answer.status == 404 || (answer.status == 200 && answer.names("-32001"))
            }
            Self::Grpc(_) => answer.header("grpc-status").as_deref() == Some("5"),
        }
    }

    /// Whether an answer is one that has what was asked for.
    pub fn is_success(self, answer: &Answer) -> bool {
        match self {
            Self::JsonRpc(_) => answer.status == 200 && !answer.names("\"error\""),
            Self::Rest(_) => (200..300).contains(&answer.status) && !answer.names("\"error\""),
            Self::Grpc(_) => answer.header("grpc-status").is_none_or(|status| status == "0"),
        }
    }

    /// How it is called in a table.
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
