//! The place of an agent on a port.

use std::fmt;

use crate::ServeError;

/// The place of an agent on a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root: all requests that are for no other agent.
    #[default]
    Port,
    /// Requests under a path, without slashes around it; over gRPC, with it as the tenant.
    Path(String),
    /// Requests for a host.
    Host(String),
    /// Requests with a tenant, and those under it as a path.
    Tenant(String),
}

impl Place {
    /// The tenant that selects the agent, if it has none of its own requests at the root.
    pub(crate) fn tenant(&self) -> Option<&str> {
        match self {
            Self::Path(name) | Self::Tenant(name) => Some(name),
            Self::Port | Self::Host(_) => None,
        }
    }

    /// Checks that clients can name the place.
    pub(super) fn check(&self) -> Result<(), ServeError> {
        let is_plain = |text: &str| {
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            !text.is_empty() && text.bytes().all(is_safe)
        };
        let problem = match self {
            Self::Path(path) if !path.split('/').all(is_plain) => {
                "a path has segments of letters, digits and -._~"
            }
            Self::Tenant(tenant) if !is_plain(tenant) => {
                "a tenant consists of letters, digits and -._~"
            }
            Self::Host(host) if host.is_empty() || host.contains(['/', ':', '@']) => {
                "a host has no scheme, port or path"
            }
            Self::Port | Self::Path(_) | Self::Host(_) | Self::Tenant(_) => return Ok(()),
        };
        Err(ServeError::Mount { place: self.to_string(), problem })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port => f.write_str("/"),
            Self::Path(path) => write!(f, "/{path}"),
            Self::Host(host) => write!(f, "host {host}"),
            Self::Tenant(tenant) => write!(f, "tenant {tenant}"),
        }
    }
}
