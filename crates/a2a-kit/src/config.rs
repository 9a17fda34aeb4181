//! What a server serves, and at which addresses.

use a2a_core::ProtocolVersion;
#[cfg(feature = "compat")]
use a2a_kit_compat::{ServerOptions, TaskRevisions};
#[cfg(any(feature = "compat", feature = "jsonrpc", feature = "rest"))]
use a2a_kit_http::BindingOptions;
use a2a_kit_http::{Limits, VersionPolicy, card_page::ListedAgent};
use a2a_kit_operations::AgentLabel;

use crate::{agents::Place, older::Revisions};

/// The settings of a server that decide on its routes and on the interfaces in its card.
pub(crate) struct Config {
    pub(crate) bindings: Bindings,
    pub(crate) paths: Paths,
    pub(crate) limits: Limits,
    pub(crate) versions: VersionPolicy,
    pub(crate) revisions: Revisions,
    #[cfg(feature = "compat")]
    pub(crate) task_revisions: TaskRevisions,
    /// Origins whose pages may call; `None` for the default.
    pub(crate) allowed_origins: Option<Vec<String>>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) has_tls: bool,
    pub(crate) metrics_label: AgentLabel,
    /// Whether browsers get a page at the root.
    pub(crate) has_page: bool,
    /// Other agents of the port.
    pub(crate) others: Vec<ListedAgent>,
    /// Whether callers have to authenticate; known once the card is complete.
    pub(crate) authenticates: bool,
}

/// The bindings that are served.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) jsonrpc: bool,
    pub(crate) rest: bool,
    pub(crate) grpc: bool,
}

/// Where clients find the bindings.
#[derive(Default)]
pub(crate) struct Paths {
    pub(crate) rpc_path: Option<String>,
    pub(crate) rest_prefix: Option<String>,
    pub(crate) public_url: Option<String>,
    pub(crate) grpc_address: Option<String>,
    pub(crate) place: Place,
    /// The public URL of the port, above the place.
    pub(crate) root_url: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bindings: Bindings {
                jsonrpc: cfg!(feature = "jsonrpc"),
                rest: cfg!(feature = "rest"),
                grpc: cfg!(feature = "grpc"),
            },
            paths: Paths::default(),
            limits: Limits::default(),
            versions: VersionPolicy::default(),
            revisions: Revisions::all(),
            #[cfg(feature = "compat")]
            task_revisions: TaskRevisions::default(),
            allowed_origins: None,
            allowed_hosts: Vec::new(),
            has_tls: false,
            metrics_label: AgentLabel::NONE,
            has_page: true,
            others: Vec::new(),
            authenticates: false,
        }
    }
}

impl Config {
    /// The options of the HTTP bindings of the current revision.
    #[cfg(any(feature = "compat", feature = "jsonrpc", feature = "rest"))]
    pub(crate) fn options(&self) -> BindingOptions {
        BindingOptions::default()
            .with_limits(self.limits.clone())
            .with_version_policy(self.versions)
            .with_served_versions(self.served_versions())
    }

    /// The revisions that are served, oldest first.
    pub(crate) fn served_versions(&self) -> Vec<ProtocolVersion> {
        self.revisions.to_vec()
    }

    /// The options of the servers for older revisions.
    #[cfg(feature = "compat")]
    pub(crate) fn compat_options(&self) -> ServerOptions {
        ServerOptions::default()
            .with_revisions(self.revisions.clone())
            .with_binding(self.options())
            .with_task_revisions(self.task_revisions.clone())
    }

    #[cfg(any(feature = "grpc", feature = "rest"))]
    pub(crate) fn serves_current(&self) -> bool {
        self.revisions.contains(ProtocolVersion::LATEST)
    }
}
