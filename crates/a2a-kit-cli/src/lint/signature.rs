//! Signatures.

use a2a_kit_auth::card::{Reason, Verification};

use super::{Findings, rule::Rule};

const ABSENT: Rule = Rule::info(
    "unsigned-card",
    "the card is not signed, so clients can't tell who issued it",
    "sign the card with a2a card sign, or serve it with a2a serve --card-key",
);
const BROKEN: Rule = Rule::error(
    "broken-signature",
    "no signature is valid: it is malformed, expired, revoked, or does not match the card",
    "sign the card again with a2a card sign",
);
const UNVERIFIED: Rule = Rule::info(
    "unverified-signature",
    "no key for the signature is trusted, so it was not verified",
    "give the key with --jwks, or trust the host that publishes it with --trust-jku",
);

pub(super) const RULES: &[&Rule] = &[&ABSENT, &BROKEN, &UNVERIFIED];

pub(super) fn check(verification: &Verification, findings: &mut Findings) {
    let rejected = match verification {
        Verification::Verified(_) => return,
        Verification::Unverifiable(rejected) => rejected,
        // Variants of later releases are not known to be valid.
        _ => {
            findings.add(&ABSENT, "/signatures", "the card is not signed");
            return;
        }
    };
    for (index, one) in rejected.iter().enumerate() {
        let rule = match one.reason {
            Reason::UnknownKey | Reason::UntrustedAddress(_) | Reason::Keys(_) => &UNVERIFIED,
            _ => &BROKEN,
        };
        findings.add(rule, format!("/signatures/{index}"), one.to_string());
    }
}
