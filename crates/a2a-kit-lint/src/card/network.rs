//! Rules that need keys or the network, which callers of this crate check.

use crate::{Findings, Rule, Subject};

rules! {
    pub(super) info UNSIGNED = "unsigned-card":
        "the card is not signed, so clients can't tell who issued it",
        "sign the card with a2a card sign, or serve it with a2a serve --card-key";
    pub error BROKEN_SIGNATURE = "broken-signature":
        "no signature is valid: it is malformed, expired, revoked, or does not match the card",
        "sign the card again with a2a card sign";
    pub info UNVERIFIED_SIGNATURE = "unverified-signature":
        "no key for the signature is trusted, so it was not verified",
        "give the key with --jwks, or trust the host that publishes it with --trust-jku";
    pub error(live) UNREACHABLE = "unreachable-interface":
        "an interface does not answer",
        "start the server, or correct the URL";
    pub error(live) REJECTED_VERSION = "rejected-version":
        "an interface rejects the protocol version that the card lists for it",
        "list the version that the server speaks";
    pub error(live) WRONG_BINDING = "wrong-binding":
        "an interface does not answer as its binding defines",
        "correct the URL or the binding";
    pub info(live) UNCHECKED = "unchecked-interface":
        "an interface could not be checked, for example because it requires credentials",
        "give a credential, for example --bearer";
    pub warning(live) MISSING_EXTENDED_CARD = "missing-extended-card":
        "the card announces an extended card, and the agent has none",
        "configure the extended card, or set extendedAgentCard to false";
    pub warning(live) MISSING_CACHE_CONTROL = "missing-cache-control":
        "the card is served without Cache-Control, so clients fetch it each time or guess",
        "send Cache-Control with max-age";
    pub warning(live) MISSING_ETAG = "missing-etag":
        "the card is served without ETag and Last-Modified, so clients can't revalidate it",
        "send an ETag, for example a hash of the card";
    pub warning(live) ETAG_IGNORED = "etag-ignored":
        "the server sends an ETag, and the whole card again to a request with If-None-Match",
        "answer 304 Not Modified";
    pub warning(live) MEDIA_TYPE = "card-media-type":
        "the card is not served as application/json",
        "send Content-Type: application/json";
}

/// Checks what the document shows: whether there are signatures.
pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.card.signatures.is_empty() {
        findings.add(&UNSIGNED, "/signatures", "the card is not signed");
    }
}
