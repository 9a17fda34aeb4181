//! All checks.

use super::{
    Check, access, cancel, card, errors, extension, get, history, interface, json, jsonrpc, legacy,
    legacy_codes, list, push, rest, send, stream, subscribe, together, version, webhook,
};

/// Every check, in the order of reports.
pub(crate) fn all() -> Vec<Check> {
    [
        card::CHECKS,
        interface::CHECKS,
        version::CHECKS,
        send::CHECKS,
        stream::CHECKS,
        get::CHECKS,
        history::CHECKS,
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
        legacy_codes::CHECKS,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use a2a_core::ProtocolVersion;
    use a2a_kit_client::Transport;

    use super::*;
    use crate::check::Judge;

    /// The checks of an interface.
    fn of_interface(binding: Transport, version: ProtocolVersion) -> Vec<Check> {
        let mut checks = all();
        checks.retain(|check| {
            matches!(check.judge, Judge::Interface(_))
                && check.bindings.contains(&binding)
                && check.versions.contains(&version)
        });
        checks
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
                    assert!(seen.insert(check.id), "{} twice on {binding} {version:?}", check.id);
                }
            }
        }
    }
}
