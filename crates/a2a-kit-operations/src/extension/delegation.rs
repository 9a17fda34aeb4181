//! Delegations between agents that end.

use a2a_core::{
    Error, Result,
    v1::{AgentExtension, SendMessageRequest},
    well_known::{Struct, Value},
};
use async_trait::async_trait;

use super::Extension;
use crate::CallContext;

/// Ends loops of agents that delegate to one another.
///
/// The metadata of a request says how often it was delegated, and how often it may be:
/// `{"urn:x-a2a:delegation:1": {"depth": 2, "max": 8}}`, both integers from 1 to 64. A request
/// without it was not delegated. The agent rejects requests that were delegated more often than it
/// or an agent before it allows (`UnsupportedOperation`, -32004, with the metadata
/// `delegationDepth`), and malformed metadata (`InvalidParams`). An agent that delegates sends
/// [`next`](Self::next).
///
/// An agent in between that drops the metadata makes the depth start anew.
#[derive(Clone, Copy, Debug)]
pub struct Delegation {
    max: u64,
}

/// What a request says about its delegation.
struct Delegated {
    depth: u64,
    max: u64,
}

impl Delegation {
    /// The URI of the extension, and the metadata key.
    pub const URI: &str = "urn:x-a2a:delegation:1";

    /// The largest depth.
    const LIMIT: u64 = 64;

    /// Accepts requests that were delegated at most `max` times; 1 to 64, to which other values are
    /// limited.
    pub fn new(max: u32) -> Self {
        Self { max: u64::from(max).clamp(1, Self::LIMIT) }
    }

    /// The metadata of a request that delegates a received one, from the metadata of that; `None` if
    /// it must not be delegated any further. Malformed metadata, of a request that did not activate
    /// the extension, is ignored.
    pub fn next(self, received: Option<&Struct>) -> Option<Struct> {
        let Delegated { depth, max } = Delegated::read(received).unwrap_or_default();
        let (depth, max) = (depth + 1, self.max.min(max));
        let next = || Struct::from([("depth", depth), ("max", max)]);
        (depth <= max).then(|| Struct::from([(Self::URI, Value::Object(next()))]))
    }
}

impl Default for Delegated {
    fn default() -> Self {
        Self { depth: 0, max: Delegation::LIMIT }
    }
}

impl Delegated {
    fn read(metadata: Option<&Struct>) -> Result<Self> {
        let Some(value) = metadata.and_then(|metadata| metadata.get(Delegation::URI)) else {
            return Ok(Self::default());
        };
        let member = |name| {
            let number = value.get(name).and_then(Value::as_u64);
            number.filter(|number| (1..=Delegation::LIMIT).contains(number)).ok_or_else(|| {
                let field = format!("metadata[{:?}].{name}", Delegation::URI);
                Error::invalid_params(field, "is not an integer from 1 to 64")
            })
        };
        Ok(Self { depth: member("depth")?, max: member("max")? })
    }
}

#[async_trait]
impl Extension for Delegation {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Limits how often a request is delegated")
    }

    async fn receive(&self, _: &mut CallContext, request: &mut SendMessageRequest) -> Result<()> {
        let Delegated { depth, max } = Delegated::read(request.metadata.as_ref())?;
        let max = self.max.min(max);
        if depth <= max {
            return Ok(());
        }
        let message = format!("the request was delegated {depth} times, more than {max}");
        Err(Error::unsupported(message).with_metadata("delegationDepth", depth.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::ErrorKind;
    use serde_json::json;

    use super::*;

    fn metadata(value: serde_json::Value) -> Option<Struct> {
        Some(Struct::from([(Delegation::URI, Value::from(value))]))
    }

    async fn receive(max: u32, value: serde_json::Value) -> Result<()> {
        let mut request = SendMessageRequest { metadata: metadata(value), ..Default::default() };
        Delegation::new(max).receive(&mut CallContext::default(), &mut request).await
    }

    #[tokio::test]
    async fn request_deeper_than_the_smaller_limit_is_rejected() {
        for (own, depth, max) in [(8, 8, 8), (8, 1, 1), (99, 64, 64), (3, 3, 5)] {
            receive(own, json!({"depth": depth, "max": max})).await.unwrap();
        }
        for (own, depth, max, smaller) in [(8, 9, 64, 8), (8, 4, 3, 3), (0, 2, 8, 1)] {
            let error = receive(own, json!({"depth": depth, "max": max})).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
            let message = format!("the request was delegated {depth} times, more than {smaller}");
            assert_eq!(error.message(), message);
            assert_eq!(error.metadata()["delegationDepth"], depth.to_string());
        }
    }

    #[tokio::test]
    async fn malformed_delegation_is_an_invalid_parameter() {
        for value in [
            json!(1),
            json!({}),
            json!({"depth": 1}),
            json!({"depth": 0, "max": 8}),
            json!({"depth": 1.5, "max": 8}),
            json!({"depth": "1", "max": 8}),
            json!({"depth": 1, "max": 65}),
        ] {
            let error = receive(8, value.clone()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{value}");
            let next = Delegation::new(8).next(metadata(value).as_ref());
            assert_eq!(next, metadata(json!({"depth": 1, "max": 8})));
        }
    }

    #[test]
    fn delegated_request_is_one_deeper_with_the_smaller_limit_until_it_is_reached() {
        let delegation = Delegation::new(8);
        let mut next = delegation.next(None);
        assert_eq!(next, metadata(json!({"depth": 1, "max": 8})));
        for depth in 2..=5 {
            next = Delegation::new(5).next(next.as_ref());
            assert_eq!(next, metadata(json!({"depth": depth, "max": 5})));
        }
        assert_eq!(delegation.next(next.as_ref()), None);
    }
}
