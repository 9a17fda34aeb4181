//! What to do about a connection that failed.

use std::{error::Error, io};

/// Hints by the messages of TLS and of the resolver, which have no types to tell them apart here.
const BY_MESSAGE: [(&str, &str); 10] = [
    ("is not pinned", "if the agent has a new certificate, give its fingerprint with --pin-sha256"),
    (
        "CertificateRequired",
        "the server requires a client certificate: give it with --client-cert and --client-key",
    ),
    ("lookup address information", "check the spelling of the host name"),
    ("dns error", "check the spelling of the host name"),
    (
        "UnknownIssuer",
        "the certificate is from an authority that is not trusted: give the certificate of that \
         authority with --ca-cert, or, if it is self-signed, its fingerprint with --pin-sha256; \
         print it with: openssl s_client -connect <host>:<port> </dev/null | openssl x509 -noout \
         -fingerprint -sha256",
    ),
    (
        "CaUsedAsEndEntity",
        "the certificate is self-signed, as that of an authority: give its fingerprint with \
         --pin-sha256; print it with: openssl s_client -connect <host>:<port> </dev/null | openssl \
         x509 -noout -fingerprint -sha256",
    ),
    ("certificate expired", "the certificate of the agent has expired, and must be renewed there"),
    (
        "not valid for name",
        "the certificate is for another host: name the agent by a host of its certificate",
    ),
    ("timed out", "the host does not answer: check the address, or raise --request-timeout"),
    ("corrupt message", "the server does not speak TLS at that port: name the agent with http://"),
];

/// What to do about a failed connection.
pub(crate) fn connection_hint(error: &(dyn Error + 'static)) -> &'static str {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(hint) = hint(error) {
            return hint;
        }
        cause = error.source();
    }
    "check the address and that the agent is running"
}

fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            return Some(
                "nothing listens at that address: check host and port, and that the agent is \
                 running",
            );
        }
        Some(io::ErrorKind::TimedOut) => {
            return Some("the host does not answer: check the address, or raise --request-timeout");
        }
        _ => {}
    }
    let message = error.to_string();
    BY_MESSAGE.iter().find(|(part, _)| message.contains(part)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_names_the_next_step_for_each_cause() {
        for (error, expected) in [
            (io::Error::from(io::ErrorKind::ConnectionRefused), "nothing listens"),
            (io::Error::from(io::ErrorKind::TimedOut), "--request-timeout"),
            (io::Error::other("failed to lookup address information: x"), "spelling"),
            (io::Error::other("invalid peer certificate: UnknownIssuer"), "--ca-cert"),
            (
                io::Error::other("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))"),
                "--pin-sha256",
            ),
            (io::Error::other("received corrupt message of type X"), "http://"),
            (io::Error::other("something else"), "agent is running"),
        ] {
            let hint = connection_hint(&error);
            assert!(hint.contains(expected), "{error}: {hint}");
        }
    }
}
