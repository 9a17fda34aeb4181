//! Agents that may be put under load.

use a2a_core::host::is_loopback;
use a2a_kit_http::uri;

use crate::failure::Failure;

/// Refuses targets other than the machine itself, unless the user owns the agent.
///
/// # Errors
///
/// A usage failure that names the address.
pub(crate) fn require_loopback(address: &str, is_owner: bool) -> Result<(), Failure> {
    let parsed = uri::parse(address).or_else(|_| uri::parse(&format!("https://{address}")));
    let is_local = parsed.is_ok_and(|url| url.host().is_some_and(is_loopback));
    if is_local || is_owner {
        return Ok(());
    }
    Err(Failure::usage(format!("{address} is not on this machine"))
        .with_hint("to put load on an agent of yours, add --i-own-this-agent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_called_without_permission() {
        for local in ["http://127.0.0.1:1/rpc", "localhost:50051", "[::1]:1", "http://localhost"] {
            assert!(require_loopback(local, false).is_ok(), "{local}");
        }
        for remote in ["https://agent.example", "10.0.0.1:1", "agent:50051", "", "http://"] {
            let failure = require_loopback(remote, false).unwrap_err();
            assert_eq!(failure.code().exit(), 2, "{remote}");
            assert!(failure.hint().unwrap().contains("--i-own-this-agent"));
            assert!(require_loopback(remote, true).is_ok(), "{remote}");
        }
    }
}
