//! Keys at URLs that signatures name (`jku`).

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use a2a_kit_http::{client::HttpClient, tls::ClientTls, uri};
use http::Uri;
use tokio::time::Instant;

use crate::{
    SetupError, fetch,
    jose::{Jwk, KeySource as _, MissingKey, RemoteKeys},
};

/// The URL of a key set on a trusted host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(Arc<str>);

impl Address {
    /// Normalizes a host for comparison with URLs.
    pub(super) fn host(text: &str) -> Option<String> {
        if text.contains(['/', '?', '#', '@']) {
            return None;
        }
        authority(&uri::parse(&format!("https://{text}")).ok()?)
    }

    /// Parses a URL; `None` unless it is secure and on a trusted host.
    pub(super) fn read(text: &str, hosts: &BTreeSet<String>) -> Option<Self> {
        let url = uri::parse(text).ok()?;
        if !fetch::is_secure(&url)
            || uri::has_credentials(&url)
            || !hosts.contains(&authority(&url)?)
        {
            return None;
        }
        Some(Self(url.to_string().into()))
    }
}

fn authority(url: &Uri) -> Option<String> {
    Some(url.authority()?.as_str().to_owned())
}

/// Maximum number of URLs whose keys are cached.
const MAX_ADDRESSES: usize = 32;
/// A URL used within this time is not evicted, so that forged URLs on a trusted host cause at most
/// 32 requests in it.
const MIN_CACHE_TIME: Duration = Duration::from_secs(30);

/// The key sets of recently used URLs.
#[derive(Debug)]
pub(super) struct JkuKeys {
    client: HttpClient,
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    address: Address,
    keys: Arc<RemoteKeys>,
    used: Instant,
}

impl JkuKeys {
    pub(super) fn new(tls: ClientTls) -> Result<Self, SetupError> {
        Ok(Self { client: fetch::client(tls)?, known: Mutex::default() })
    }

    pub(super) async fn key(&self, address: &Address, id: &str) -> Result<Jwk, MissingKey> {
        let busy = || MissingKey::Unavailable(Some("too many key set URLs".into()));
        self.at(address).ok_or_else(busy)?.key(id).await
    }

    fn at(&self, address: &Address) -> Option<Arc<RemoteKeys>> {
        let now = Instant::now();
        // A panic can't leave the list half changed.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter_mut().find(|known| known.address == *address) {
            known.used = now;
            return Some(Arc::clone(&known.keys));
        }
        if known.len() >= MAX_ADDRESSES {
            let oldest = known.iter().enumerate().min_by_key(|(_, known)| known.used)?.0;
            if known[oldest].used.elapsed() < MIN_CACHE_TIME {
                return None;
            }
            known.swap_remove(oldest);
        }
        let url = Arc::clone(&address.0);
        let keys = Arc::new(RemoteKeys::fetched_by(self.client.clone(), url));
        known.push(Known { address: address.clone(), keys: Arc::clone(&keys), used: now });
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn key_urls_must_be_secure_and_on_a_trusted_host() {
        let hosts = ["keys.example", "other.example:8443", "127.0.0.1:80", "[::1]:9", "LOCALHOST"];
        let hosts = hosts.iter().map(|host| Address::host(host).unwrap()).collect();
        for (url, is_fine) in [
            ("https://keys.example/a.json", true),
            ("https://KEYS.example:443/a.json#x", true),
            ("https://other.example:8443/", true),
            ("https://localhost/", true),
            ("http://localhost/", true),
            ("http://[::1]:9/keys", true),
            ("http://127.0.0.1:80/", false),
            ("http://keys.example/a.json", false),
            ("https://keys.example:8443/", false),
            ("https://other.example/", false),
            ("https://sub.keys.example/", false),
            ("https://keys.example.evil/", false),
            ("https://keys.example@evil.example/", false),
            ("https://user:pass@keys.example/", false),
            ("https://keys.example\\@evil.example/", false),
            ("https://evil.example#@keys.example/", false),
            ("https://keys.example:0443/", true),
            ("https:/keys.example/", false),
            ("https://keys.example./", false),
            ("https://%6beys.example/", false),
            ("http://2130706433/", false),
            ("ftp://keys.example/", false),
            ("file:///etc/passwd", false),
            ("//keys.example/", false),
            ("", false),
        ] {
            assert_eq!(Address::read(url, &hosts).is_some(), is_fine, "{url}");
        }
        for host in ["", "a b", "https://keys.example", "keys.example/", "u@keys.example", "a?b"] {
            assert!(Address::host(host).is_none(), "{host:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cached_urls_are_bounded() {
        let remote = JkuKeys::new(ClientTls::new()).unwrap();
        let hosts = BTreeSet::from(["keys.example".to_owned()]);
        let address = |number: usize| {
            Address::read(&format!("https://keys.example/{number}"), &hosts).unwrap()
        };
        for number in 0..MAX_ADDRESSES {
            assert!(remote.at(&address(number)).is_some());
        }
        assert!(remote.at(&address(MAX_ADDRESSES)).is_none());
        assert!(remote.at(&address(0)).is_some());
        tokio::time::advance(MIN_CACHE_TIME).await;
        assert!(remote.at(&address(0)).is_some());
        assert!(remote.at(&address(MAX_ADDRESSES)).is_some());
        let known = remote.known.lock().unwrap();
        assert_eq!(known.len(), MAX_ADDRESSES);
        assert!(known.iter().any(|known| known.address == address(0)));
    }
}
