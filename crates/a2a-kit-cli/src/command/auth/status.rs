//! `a2a auth status`.

use clap::Args;
use serde_json::json;

use super::{filter::Filter, listing::Listed};
use crate::{
    failure::Failure,
    output::{Output, Text},
    settings::Settings,
    token::TokenStore,
};

#[derive(Args, Debug)]
pub(crate) struct Status {
    /// Show only tokens for this security scheme
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
}

impl Status {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let store = TokenStore::of_user()?;
        store.warn_if_exposed(output);
        let filter = Filter::new(self.scheme.as_deref(), settings, output).await?;
        let mut tokens = store.read()?;
        tokens.retain(|token| filter.matches(token));
        if tokens.is_empty() {
            output.note(&format!("no stored tokens in {}", store.path().display()));
        }
        let listed: Vec<Listed<'_>> = tokens.iter().map(Listed::from).collect();
        output.result(&json!({ "tokens": listed }), || {
            let mut text = Text::new();
            for (index, token) in listed.iter().enumerate() {
                if index > 0 {
                    text.empty_line();
                }
                token.write(&mut text);
            }
            text
        })
    }
}
