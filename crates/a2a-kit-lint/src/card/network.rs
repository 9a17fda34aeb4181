//! Rules that need keys or the network, which callers of this crate check.

use crate::Rule;

pub(super) const UNSIGNED: Rule = Rule::info(
    "unsigned-card",
    "the card is not signed, so clients can't tell who issued it",
    "sign the card with a2a card sign, or serve it with a2a serve --card-key",
);
/// A signature that is malformed, expired or revoked, or that does not match the card.
pub const BROKEN_SIGNATURE: Rule = Rule::error(
    "broken-signature",
    "no signature is valid: it is malformed, expired, revoked, or does not match the card",
    "sign the card again with a2a card sign",
);
/// A signature by a key that is not trusted.
pub const UNVERIFIED_SIGNATURE: Rule = Rule::info(
    "unverified-signature",
    "no key for the signature is trusted, so it was not verified",
    "give the key with --jwks, or trust the host that publishes it with --trust-jku",
);

/// An interface that does not answer.
pub const UNREACHABLE: Rule = Rule::error(
    "unreachable-interface",
    "an interface does not answer",
    "start the server, or correct the URL",
)
.live();
/// An interface that rejects the version that the card lists for it.
pub const REJECTED_VERSION: Rule = Rule::error(
    "rejected-version",
    "an interface rejects the protocol version that the card lists for it",
    "list the version that the server speaks",
)
.live();
/// An interface that does not answer as its binding defines.
pub const WRONG_BINDING: Rule = Rule::error(
    "wrong-binding",
    "an interface does not answer as its binding defines",
    "correct the URL or the binding",
)
.live();
/// An interface that could not be checked.
pub const UNCHECKED: Rule = Rule::info(
    "unchecked-interface",
    "an interface could not be checked, for example because it requires credentials",
    "give a credential, for example --bearer",
)
.live();
/// An extended card that is announced and not there.
pub const MISSING_EXTENDED_CARD: Rule = Rule::warning(
    "missing-extended-card",
    "the card announces an extended card, and the agent has none",
    "configure the extended card, or set extendedAgentCard to false",
)
.live();
/// A card that is served without `Cache-Control`.
pub const MISSING_CACHE_CONTROL: Rule = Rule::warning(
    "missing-cache-control",
    "the card is served without Cache-Control, so clients fetch it each time or guess",
    "send Cache-Control with max-age",
)
.live();
/// A card that is served without `ETag` and `Last-Modified`.
pub const MISSING_ETAG: Rule = Rule::warning(
    "missing-etag",
    "the card is served without ETag and Last-Modified, so clients can't revalidate it",
    "send an ETag, for example a hash of the card",
)
.live();
/// A server that ignores `If-None-Match`.
pub const ETAG_IGNORED: Rule = Rule::warning(
    "etag-ignored",
    "the server sends an ETag, and the whole card again to a request with If-None-Match",
    "answer 304 Not Modified",
)
.live();
/// A card that is not served as `application/json`.
pub const MEDIA_TYPE: Rule = Rule::warning(
    "card-media-type",
    "the card is not served as application/json",
    "send Content-Type: application/json",
)
.live();

pub(super) const SIGNATURE_RULES: &[&Rule] = &[&UNSIGNED, &BROKEN_SIGNATURE, &UNVERIFIED_SIGNATURE];
pub(super) const LIVE_RULES: &[&Rule] = &[
    &UNREACHABLE,
    &REJECTED_VERSION,
    &WRONG_BINDING,
    &UNCHECKED,
    &MISSING_EXTENDED_CARD,
    &MISSING_CACHE_CONTROL,
    &MISSING_ETAG,
    &ETAG_IGNORED,
    &MEDIA_TYPE,
];
