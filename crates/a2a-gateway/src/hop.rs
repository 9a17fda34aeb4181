//! The way of a call through gateways, so that none goes round for ever.

use std::collections::BTreeMap;

use a2a_core::{Error, Result};
use a2a_http::service_parameters::VIA;

/// Adds the gateway `id` to the way of a call.
///
/// # Errors
///
/// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) where the call has been
/// through this gateway before, or through `max` already.
pub(crate) fn pass(parameters: &mut BTreeMap<String, String>, id: &str, max: usize) -> Result<()> {
    let via = parameters.entry(VIA.as_str().to_owned()).or_default();
    let mut hops = 0;
    for hop in via.split(',').map(str::trim).filter(|hop| !hop.is_empty()) {
        if hop == id {
            return Err(Error::unsupported(
                "the call goes round: it has been through this gateway before",
            ));
        }
        hops += 1;
    }
    if hops >= max {
        return Err(Error::unsupported(format!(
            "the call has been through {hops} gateways, and this one allows {max}"
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
    fn a_call_passes_each_gateway_once_and_only_so_many() {
        let mut parameters = BTreeMap::new();
        for id in ["a", "b", "c"] {
            pass(&mut parameters, id, 3).unwrap();
        }
        assert_eq!(parameters["x-a2a-via"], "a,b,c");
        for (id, max, text) in [("b", 8, "goes round"), ("d", 3, "through 3 gateways")] {
            let refused = pass(&mut parameters, id, max).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
            assert!(refused.message().contains(text), "{refused}");
        }
        let mut parameters = BTreeMap::from([("x-a2a-via".into(), " a ,, ".into())]);
        assert!(pass(&mut parameters, "a", 8).is_err());
    }
}
