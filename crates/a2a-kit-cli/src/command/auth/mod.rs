//! `a2a auth`: logging in to agents, and tools for authentication.

mod hash_password;
mod login;
mod login_scheme;
mod tokens;

use clap::Subcommand;

use crate::{failure::Failure, settings::Settings};

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Log in to an agent: obtain a token by OAuth 2.0 or OpenID Connect, and store it
    Login(login::Login),
    /// Show the stored tokens: schemes, hosts and expiry, never the tokens themselves
    Status(tokens::Status),
    /// Remove stored tokens
    Logout(tokens::Logout),
    /// Hash a password with Argon2id, for [[auth.basic]] in the settings of a server
    HashPassword(hash_password::HashPassword),
}

impl AuthCommand {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        match self {
            Self::Login(login) => login.run(settings).await,
            Self::Status(status) => status.run(settings).await,
            Self::Logout(logout) => logout.run(settings).await,
            Self::HashPassword(hash) => hash.run(settings.output),
        }
    }
}
