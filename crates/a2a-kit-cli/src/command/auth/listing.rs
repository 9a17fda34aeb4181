//! Stored tokens as output, without the tokens themselves.

use a2a_core::well_known::Timestamp;
use serde::Serialize;

use crate::{
    output::Text,
    token::{Flow, StoredOrigin, StoredToken},
};

/// What is shown of a stored token.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed<'a> {
    scheme: &'a str,
    card: &'a StoredOrigin,
    hosts: &'a [StoredOrigin],
    flow: Flow,
    client_id: &'a str,
    scopes: &'a [String],
    expires_at: Option<Timestamp>,
    is_expired: bool,
    is_renewable: bool,
}

impl<'a> From<&'a StoredToken> for Listed<'a> {
    fn from(token: &'a StoredToken) -> Self {
        Self {
            scheme: &token.scheme,
            card: &token.card,
            hosts: &token.hosts,
            flow: token.flow,
            client_id: &token.client_id,
            scopes: &token.scopes,
            expires_at: token.expires_at,
            is_expired: token.is_expired(),
            is_renewable: token.is_renewable(),
        }
    }
}

impl Listed<'_> {
    /// Adds the token to a text, without an empty line after it.
    pub(super) fn write(&self, text: &mut Text) {
        text.line("Scheme", self.scheme);
        text.line("Card", &self.card.to_string());
        for host in self.hosts {
            text.line("Host", &host.to_string());
        }
        text.line("Flow", self.flow.name());
        text.line("Client ID", self.client_id);
        text.line_if_any("Scope", &self.scopes.join(" "));
        let expiry = self.expires_at.map_or_else(|| "unknown".to_owned(), |time| time.to_string());
        text.line("Expires", &expiry);
        text.line("Expired", yes_or_no(self.is_expired));
        text.line("Renewable", yes_or_no(self.is_renewable));
    }
}

const fn yes_or_no(is_true: bool) -> &'static str {
    if is_true { "yes" } else { "no" }
}
