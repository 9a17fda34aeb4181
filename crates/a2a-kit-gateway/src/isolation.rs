//! How a gateway keeps its callers apart.

use std::sync::Arc;

use a2a_core::Result;
use a2a_kit_operations::{Caller, Scope};

use crate::{OwnerIndex, owner_index::digest};

/// How a gateway keeps its callers apart, although the upstream agent sees one caller.
///
/// The rule: a caller reads, changes and continues only what is its own, in each tenant. Of
/// anything else it learns no more than of what never existed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Isolation {
    /// The gateway keeps an index of owners. For any upstream agent.
    Store(OwnerIndex),
    /// Each caller has a tenant of its own at the upstream agent, which has to isolate tenants.
    Tenant(Tenants),
    /// The credential of the caller is forwarded, as stored in the [`Caller`] by an authentication
    /// layer, and its rejection by the upstream agent is reported to the caller. The upstream agent
    /// has to isolate callers.
    ForwardAuth,
    /// None: every caller sees the tasks of all others. For one caller, or callers that trust each
    /// other.
    Shared,
}

impl Default for Isolation {
    /// An index in memory.
    fn default() -> Self {
        Self::Store(OwnerIndex::default())
    }
}

/// A mapping of callers to tenants of the upstream agent.
///
/// The default is a digest of the requested tenant and the caller's subject, such as
/// `caller-8b1a9953c4611296a827abf8c47804d7`: the same for each call, and another one for each pair.
#[derive(Clone)]
pub struct Tenants(Arc<Mapping>);

type Mapping = dyn Fn(&Caller, &str) -> Result<String> + Send + Sync;

impl Tenants {
    /// Maps the caller and the requested tenant; an error rejects the call. Two callers that get
    /// the same tenant share their tasks.
    pub fn new(mapping: impl Fn(&Caller, &str) -> Result<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(mapping))
    }

    /// The tenant of the upstream agent.
    pub(crate) fn of(&self, caller: &Caller, requested: &str) -> Result<String> {
        (self.0)(caller, requested)
    }
}

impl Default for Tenants {
    fn default() -> Self {
        Self::new(|caller, requested| {
            Ok(format!("caller-{}", digest(&Scope::new(requested, caller), "tenant", "")))
        })
    }
}

a2a_core::debug_fields!(Tenants(..));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_differ_by_caller_and_by_requested_tenant() {
        let tenants = Tenants::default();
        let of = |caller: &Caller, tenant| tenants.of(caller, tenant).unwrap();
        let (ann, bob) = (Caller::authenticated("ann"), Caller::authenticated("bob"));
        let all = [
            of(&ann, ""),
            of(&ann, "acme"),
            of(&bob, ""),
            of(&Caller::ANONYMOUS, ""),
            // Not the same text in another place.
            of(&Caller::authenticated("nacme"), "an"),
            of(&Caller::authenticated("acme"), "ann"),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{all:?}");
            assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{one}");
        }
        assert_eq!(of(&ann, "acme"), all[1]);
    }
}
