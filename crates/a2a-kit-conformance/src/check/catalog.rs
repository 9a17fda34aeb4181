//! All checks.

use super::{
    Check, access, cancel, card, errors, extension, get, interface, json, jsonrpc, legacy, list,
    push, rest, send, stream, subscribe, together, webhook,
};

/// Every check, in the order of reports.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    [
        card::CHECKS,
        interface::CHECKS,
        send::CHECKS,
        stream::CHECKS,
        get::CHECKS,
        list::CHECKS,
        cancel::CHECKS,
        subscribe::CHECKS,
        push::CHECKS,
        webhook::CHECKS,
        errors::CHECKS,
        json::CHECKS,
        jsonrpc::CHECKS,
        rest::CHECKS,
        extension::CHECKS,
        access::CHECKS,
        together::CHECKS,
        legacy::CHECKS,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use a2a_core::ProtocolVersion;
    use a2a_kit_client::Transport;

    use super::*;

    /// The checks of an interface.
    fn of_interface(
        binding: Transport,
        version: ProtocolVersion,
    ) -> impl Iterator<Item = &'static Check> {
        all().filter(move |check| check.applies(binding, version))
    }

    #[test]
    fn a_requirement_has_one_check_per_revision_and_binding() {
        for version in [
            ProtocolVersion::V0_1,
            ProtocolVersion::V0_2,
            ProtocolVersion::V0_3,
            ProtocolVersion::V1Draft,
            ProtocolVersion::V1_0,
        ] {
            for binding in Transport::ALL {
                let mut seen = BTreeSet::new();
                for check in of_interface(binding, version) {
                    let id = check.rule.id;
                    assert!(seen.insert(id), "{id} twice on {binding} {version:?}");
                }
            }
        }
    }
}
