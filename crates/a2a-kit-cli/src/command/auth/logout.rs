//! `a2a auth logout`.

use clap::Args;
use serde_json::json;

use super::{filter::Filter, listing::Listed};
use crate::{
    failure::Failure,
    output::{Output, Text},
    settings::Settings,
    token::{StoredToken, TokenStore},
};

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
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        if settings.agent_card.is_none() && !self.all {
            return Err(Failure::usage("no agent is named")
                .with_hint("name one with --agent-card (-a), or log out everywhere with --all"));
        }
        let store = TokenStore::of_user()?;
        let filter = if self.all {
            Filter::default()
        } else {
            Filter::new(self.scheme.as_deref(), settings, output).await?
        };
        let locked = store.lock().await?;
        let (removed, kept): (Vec<StoredToken>, Vec<StoredToken>) =
            locked.read()?.into_iter().partition(|token| filter.matches(token));
        locked.write(&kept)?;
        if removed.is_empty() {
            output.note("no token was stored for the agent");
        }
        let listed: Vec<Listed<'_>> = removed.iter().map(Listed::from).collect();
        output.result(&json!({ "removed": listed }), || {
            let mut text = Text::new();
            text.line("Removed", &removed.len().to_string());
            text.line("Remaining", &kept.len().to_string());
            text
        })
    }
}
