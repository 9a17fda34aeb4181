//! The agent that a command calls, as the global flags name it.

mod builder;
mod card;
mod connector;
mod credentials;
mod discovery_failure;
mod login_hint;
mod remote_agent;

pub(crate) use builder::{Retries, preference, service_headers};
pub(crate) use card::{
    document, file_of_that_name, is_catalog_entry, of_endpoint, origin, origin_of_reference,
    resolve_catalog_entry,
};
pub(crate) use connector::Connector;
pub(crate) use discovery_failure::{discovery_failure, invalid_card};
pub(crate) use login_hint::scheme_names;
pub(crate) use remote_agent::{RemoteAgent, warn_if_insecure, warn_of_interception};
