//! Fetching the files that artifacts refer to by URL.

use std::{fs::File, io::Write as _};

use a2a_core::{ErrorKind, Result as CallResult};
use a2a_kit_http::{
    client::{ClientSettings, HttpClient},
    uri,
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, header::CONTENT_TYPE};

use crate::FetchError;

/// Fetches files over HTTP, without the credentials for the agent. Redirects to other origins are
/// not followed.
#[derive(Debug)]
pub struct Fetcher(HttpClient);

impl Fetcher {
    /// Creates a fetcher with these settings, whose [policy](ClientSettings::policy) should leave out
    /// what only this machine can reach: agents choose the URLs.
    ///
    /// # Errors
    ///
    /// The error of the HTTP client.
    pub fn new(settings: ClientSettings) -> CallResult<Self> {
        HttpClient::new(settings).map(Self)
    }

    /// Fetches a file of at most `limit` bytes, and returns its length and media type.
    pub(crate) async fn fetch(
        &self,
        url: &str,
        limit: u64,
        file: &mut File,
    ) -> Result<(u64, Option<String>), FetchError> {
        if !["http://", "https://"].iter().any(|scheme| starts_with(url, scheme)) {
            let why = "must have the scheme http or https";
            return Err(FetchError::Refused(why.to_owned()));
        }
        let parsed = uri::parse(url).map_err(|error| FetchError::Refused(error.to_string()))?;
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = parsed;
        let of_error = |error: a2a_core::Error| match error.kind() {
            ErrorKind::InvalidParams => FetchError::Refused(error.message().to_owned()),
            _ => FetchError::Unreachable(error),
        };
        let response = self.0.open(request).await.map_err(of_error)?;
        let status = response.status();
        if !status.is_success() {
            return Err(FetchError::Status(status));
        }
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.map(str::to_owned);
        let mut body = response.into_body();
        let mut length: u64 = 0;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(of_error)?;
            length = length.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            if length > limit {
                return Err(FetchError::TooLarge);
            }
            file.write_all(&chunk)?;
        }
        Ok((length, media_type))
    }
}

/// Whether a URL starts with a scheme, in any case.
fn starts_with(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use a2a_kit_http::WebhookPolicy;

    use super::*;

    #[tokio::test]
    async fn urls_of_a_remote_agent_must_be_public() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = ClientSettings::default().with_policy(WebhookPolicy::default());
        let fetcher = Fetcher::new(settings).unwrap();
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
            assert!(matches!(failure, FetchError::Refused(_)), "{url}: {failure}");
        }
    }
}
