//! Saving artifacts: what fetches the files of their URLs, and what is printed.

use a2a_core::host;
use a2a_kit_artifacts::{Downloaded, FetchError, Fetcher, SaveError, SavedFile};
use a2a_kit_http::{WebhookPolicy, client::ClientSettings, uri};

use crate::{
    agent::RemoteAgent,
    failure::{Code, Failure, chain},
    output::{Output, Text},
    settings::Settings,
};

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        const LESS: &str = "raise --max-bytes, or select artifacts with --artifact";
        let message = error.to_string();
        match error {
            SaveError::NoArtifact { .. } => {
                Self::usage(message).with_hint("list the artifacts with `a2a task get`")
            }
            SaveError::TooManyFiles { .. } | SaveError::Directory { .. } => Self::usage(message),
            SaveError::Exists(_) => {
                Self::usage(message).with_hint("use --overwrite, or another directory with --out")
            }
            SaveError::TooLarge(limit) => {
                Self::usage(format!("the artifacts exceed --max-bytes ({limit})")).with_hint(LESS)
            }
            SaveError::Fetch { url, error: FetchError::TooLarge } => {
                Self::usage(format!("failed to fetch {url}: exceeds --max-bytes")).with_hint(LESS)
            }
            SaveError::Fetch { error: FetchError::Refused(_), .. } => {
                Self::usage(message).with_hint("omit --fetch-urls to list URLs without fetching")
            }
            SaveError::Fetch { error: FetchError::Unreachable(_), .. } => {
                Self::new(Code::Unreachable, message)
            }
            _ => Self::internal(message),
        }
    }
}

/// Creates a fetcher for the URLs of an agent. Unless the agent is on this machine, it fetches only
/// from public addresses: a remote agent must not reach what only this machine can.
pub(crate) fn fetcher(agent: &RemoteAgent, settings: &Settings) -> Result<Fetcher, Failure> {
    let interface = agent.client.selected_interface();
    let is_local = interface.is_some_and(|selected| is_local(&selected.interface.url));
    let policy = (!is_local).then(WebhookPolicy::default);
    let tls = settings.trust.clone();
    let settings = ClientSettings::default()
        .with_connect_timeout(settings.request_timeout)
        .with_idle_timeout(settings.request_timeout)
        .with_tls(if settings.insecure { tls.without_verification() } else { tls })
        .with_policy(policy);
    Fetcher::new(settings).map_err(|error| {
        Failure::internal(format!("failed to set up downloads: {}", chain(&error)))
    })
}

/// Whether the address of an interface is on this machine.
fn is_local(address: &str) -> bool {
    // That of a gRPC interface may have no scheme.
    let url = if address.contains("://") { address } else { &format!("http://{address}") };
    uri::parse(url).is_ok_and(|url| url.host().is_some_and(host::is_loopback))
}

/// Writes a line for each file and URL.
pub(crate) fn write(text: &mut Text, files: &Downloaded) {
    for saved in &files.saved {
        text.line("Saved", &describe(saved));
    }
    for skipped in &files.skipped {
        text.line("URL", &skipped.url);
    }
}

/// Notes each file on stderr.
pub(crate) fn note_saved(files: &Downloaded, output: Output) {
    for saved in &files.saved {
        output.note(&format!("saved {}", describe(saved)));
    }
}

/// Notes each URL that was not fetched on stderr.
pub(crate) fn note_skipped(files: &Downloaded, output: Output) {
    for skipped in &files.skipped {
        output.note(&format!("not fetched: {}", skipped.url));
    }
}

fn describe(saved: &SavedFile) -> String {
    let media_type = if saved.media_type.is_empty() { "unknown type" } else { &saved.media_type };
    format!("{} ({media_type}, {} bytes)", saved.path, saved.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_on_this_machine() {
        for (address, expected) in [
            ("http://127.0.0.1:8080", true),
            ("localhost:50051", true),
            ("https://[::1]/a2a", true),
            ("https://agent.example", false),
            ("http://localhost.agent.example", false),
            ("http://10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_local(address), expected, "{address}");
        }
    }
}
