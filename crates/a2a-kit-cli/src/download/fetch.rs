//! Fetching the files that artifacts refer to by URL.

use std::{fs::File, io::Write as _};

use a2a_core::{ErrorKind, host};
use a2a_kit_http::{
    WebhookPolicy,
    client::{ClientSettings, HttpClient},
    uri,
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, header::CONTENT_TYPE};

use crate::{
    agent::RemoteAgent,
    failure::{Code, Failure, chain},
    settings::Settings,
};

/// Fetches files over HTTP, without the credentials for the agent. Redirects to other origins are
/// not followed.
#[derive(Debug)]
pub(crate) struct Fetcher(HttpClient);

impl Fetcher {
    /// Creates a fetcher for the URLs of an agent. Unless the agent is on this machine, it fetches
    /// only from public addresses: a remote agent must not reach what only this machine can.
    pub(crate) fn new(agent: &RemoteAgent, settings: &Settings) -> Result<Self, Failure> {
        let interface = agent.client().selected_interface();
        let is_local = interface.is_some_and(|selected| is_local(&selected.interface.url));
        let policy = (!is_local).then(WebhookPolicy::default);
        let tls = settings.trust.clone();
        let settings = ClientSettings::default()
            .with_connect_timeout(settings.request_timeout)
            .with_idle_timeout(settings.request_timeout)
            .with_tls(if settings.insecure { tls.without_verification() } else { tls })
            .with_policy(policy);
        Self::with(settings)
    }

    fn with(settings: ClientSettings) -> Result<Self, Failure> {
        HttpClient::new(settings).map(Self).map_err(|error| {
            Failure::internal(format!("failed to set up downloads: {}", chain(&error)))
        })
    }

    /// Fetches a file of at most `limit` bytes, and returns its length and media type.
    pub(super) async fn fetch(
        &self,
        url: &str,
        limit: u64,
        file: &mut File,
    ) -> Result<(u64, Option<String>), Failure> {
        let failed =
            |code, why: String| Failure::new(code, format!("failed to fetch {url}: {why}"));
        let refused = |why: String| {
            failed(Code::Usage, why).with_hint("omit --fetch-urls to list URLs without fetching")
        };
        if !["http://", "https://"].iter().any(|scheme| starts_with(url, scheme)) {
            return Err(refused("must have the scheme http or https".to_owned()));
        }
        let parsed = uri::parse(url).map_err(|error| refused(error.to_string()))?;
        let request = Request::get(parsed).body(Bytes::new());
        let request = request.map_err(|error| refused(error.to_string()))?;
        let of_error = |error: a2a_core::Error| match error.kind() {
            ErrorKind::InvalidParams => refused(error.message().to_owned()),
            _ => failed(Code::Unreachable, chain(&error)),
        };
        let response = self.0.open(request).await.map_err(of_error)?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(Code::Internal, format!("status {status}")));
        }
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.map(str::to_owned);
        let mut body = response.into_body();
        let mut length: u64 = 0;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(of_error)?;
            length = length.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            if length > limit {
                return Err(failed(Code::Usage, "exceeds --max-bytes".to_owned())
                    .with_hint("raise --max-bytes, or select artifacts with --artifact"));
            }
            file.write_all(&chunk).map_err(|error| failed(Code::Internal, error.to_string()))?;
        }
        Ok((length, media_type))
    }
}

/// Whether a URL starts with a scheme, in any case.
fn starts_with(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// Whether the address of an interface is on this machine.
fn is_local(address: &str) -> bool {
    // That of a gRPC interface may have no scheme.
    let url = if address.contains("://") { address } else { &format!("http://{address}") };
    uri::parse(url).is_ok_and(|url| url.host().is_some_and(host::is_loopback))
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

    #[tokio::test]
    async fn urls_of_a_remote_agent_must_be_public() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = ClientSettings::default().with_policy(WebhookPolicy::default());
        let fetcher = Fetcher::with(settings).unwrap();
        for url in [
            format!("http://{address}/file"),
            format!("http://localhost:{}/file", address.port()),
            "http://10.0.0.1/".to_owned(),
            "http://192.168.1.1/".to_owned(),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "http://[::1]/".to_owned(),
            "http://[fd00::1]/".to_owned(),
            "http://2130706433/".to_owned(),
            "file:///etc/passwd".to_owned(),
            "data:text/plain,x".to_owned(),
            "https://user:password@agent.example/".to_owned(),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            let failure = fetcher.fetch(&url, 100, &mut file).await.unwrap_err();
            assert_eq!(failure.code, Code::Usage, "{url}: {failure}");
            assert!(failure.message().contains(&url), "{url}: {failure}");
        }
    }
}
