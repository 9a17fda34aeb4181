//! `a2a auth status` and `a2a auth logout`: stored tokens, without the tokens themselves.

use a2a_core::well_known::Timestamp;
use a2a_kit_client::credentials::Origin;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::{
    agent,
    failure::Failure,
    output::Text,
    settings::Settings,
    token::{Flow, StoredOrigin, StoredToken, TokenStore},
};

#[derive(Args, Debug)]
pub(crate) struct Status {
    /// Show only tokens for this security scheme
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
}

impl Status {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let store = TokenStore::of_user()?;
        store.warn_if_exposed(settings.output);
        let filter = Filter::new(self.scheme.as_deref(), settings).await?;
        let mut tokens = store.read()?;
        tokens.retain(|token| filter.matches(token));
        if tokens.is_empty() {
            settings.output.note(&format!("no stored tokens in {}", store.path.display()));
        }
        let listed: Vec<Listed<'_>> = tokens.iter().map(Listed::from).collect();
        settings.output.result(&json!({ "tokens": listed }), |text| {
            for (index, token) in listed.iter().enumerate() {
                if index > 0 {
                    text.empty_line();
                }
                token.write(text);
            }
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct Logout {
    /// Remove only the token for this security scheme
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// Remove the tokens for all agents
    #[arg(long, conflicts_with = "scheme")]
    all: bool,
}

impl Logout {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        if settings.agent_card.is_none() && !self.all {
            return Err(Failure::usage("no agent is named")
                .with_hint("name one with --agent-card (-a), or log out everywhere with --all"));
        }
        let store = TokenStore::of_user()?;
        let filter = if self.all {
            Filter::default()
        } else {
            Filter::new(self.scheme.as_deref(), settings).await?
        };
        let locked = store.lock().await?;
        let (removed, kept): (Vec<StoredToken>, Vec<StoredToken>) =
            store.read()?.into_iter().partition(|token| filter.matches(token));
        locked.write(&kept)?;
        if removed.is_empty() {
            settings.output.note("no token was stored for the agent");
        }
        let listed: Vec<Listed<'_>> = removed.iter().map(Listed::from).collect();
        settings.output.result(&json!({ "removed": listed }), |text| {
            text.line("Removed", &removed.len().to_string());
            text.line("Remaining", &kept.len().to_string());
        })
    }
}

/// Selects stored tokens by agent and scheme. Default: all.
#[derive(Debug, Default)]
struct Filter<'a> {
    card: Option<Origin>,
    scheme: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// Selects the tokens for the agent that the settings name, if they name one. Its card is read
    /// only if it is a file.
    async fn new(scheme: Option<&'a str>, settings: &Settings) -> Result<Self, Failure> {
        let card = match &settings.agent_card {
            None => None,
            Some(reference) => Some(agent::origin_of_reference(reference, settings).await?),
        };
        Ok(Self { card, scheme })
    }

    fn matches(&self, token: &StoredToken) -> bool {
        self.scheme.is_none_or(|scheme| scheme == token.scheme)
            && self.card.as_ref().is_none_or(|card| token.is_for(card, &token.scheme))
    }
}

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
        text.yes_or_no("Expired", self.is_expired);
        text.yes_or_no("Renewable", self.is_renewable);
    }
}
