//! Detection of forwarding loops between gateways, and a limit of hops.

use std::collections::BTreeMap;

use a2a_core::{Error, Result};
use a2a_kit_http::service_parameters::VIA;

/// Appends the gateway `id` to the `X-A2A-Via` parameter of a call.
///
/// # Errors
///
/// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) if the call has already
/// passed through this gateway, or through `max_hops` gateways.
pub(crate) fn add_hop(
    parameters: &mut BTreeMap<String, String>,
    id: &str,
    max_hops: usize,
) -> Result<()> {
    let via = parameters.entry(VIA.as_str().to_owned()).or_default();
    let mut hops = 0;
    for hop in via.split(',').map(str::trim).filter(|hop| !hop.is_empty()) {
        if hop == id {
            return Err(Error::unsupported(
                "gateway loop detected: the call has already passed through this gateway",
            ));
        }
        hops += 1;
    }
    if hops >= max_hops {
        return Err(Error::unsupported(format!(
            "the call passed through {hops} gateways (limit {max_hops})"
        )));
    }
    if hops > 0 {
        via.push(',');
    }
    via.push_str(id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use a2a_core::ErrorKind;

    use super::*;

    #[test]
    fn call_is_rejected_on_loop_or_beyond_max_hops() {
        let mut parameters = BTreeMap::new();
        for id in ["a", "b", "c"] {
            add_hop(&mut parameters, id, 3).unwrap();
        }
        assert_eq!(parameters["x-a2a-via"], "a,b,c");
        for (id, max, text) in [("b", 8, "gateway loop detected"), ("d", 3, "through 3 gateways")] {
            let error = add_hop(&mut parameters, id, max).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
            assert!(error.message().contains(text), "{error}");
        }
        let mut parameters = BTreeMap::from([("x-a2a-via".into(), " a ,, ".into())]);
        assert!(add_hop(&mut parameters, "a", 8).is_err());
    }
}
