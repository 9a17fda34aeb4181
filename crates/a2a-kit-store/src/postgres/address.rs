//! The database URL, and the TLS configuration that it asks for.

use std::{path::PathBuf, str::FromStr, time::Duration};

use a2a_kit_tls::{ClientTls, Pem, TlsError};
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// A parsed URL, in libpq terms.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    verify: Verify,
    /// The file of the trusted certificate authorities. Default: those of the system.
    pub(super) roots: Option<PathBuf>,
    /// The schema of the tables.
    pub(super) schema: Option<String>,
}

/// Verification of the server certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verify {
    /// None: the connection is encrypted, but the server is not authenticated.
    Nothing,
    /// The certificate authority.
    Signature,
    /// The certificate authority and the host name.
    Full,
}

impl Address {
    /// Parses a URL, or a libpq key/value string.
    pub(super) fn parse(url: &str) -> Result<Self, PostgresError> {
        let mut settings = Settings::default();
        let plain = match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => settings.take_from_url(url)?,
            Some(_) => return Err(PostgresError::Address("the scheme is not postgres://".into())),
            None => url.to_owned(),
        };
        // A parser error may quote its input, which may contain the password.
        let mut config = Config::from_str(&plain)
            .map_err(|error| PostgresError::Address(reason_of(&error, &plain)))?;
        let verify = settings.ssl(&mut config)?;
        let roots = settings.roots.filter(|roots| roots != "system").map(PathBuf::from);
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        if config.get_user().is_none() {
            config.user("postgres");
        }
        if config.get_application_name().is_none() {
            config.application_name("a2a");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        // Detects dead peers within half a minute instead of two hours.
        config.keepalives_idle(Duration::from_secs(10));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(15));
        Ok(Self { config, verify, roots, schema: settings.schema })
    }

    /// The configuration of TLS.
    pub(super) fn tls(&self) -> Result<MakeRustlsConnect, PostgresError> {
        let config = self.client_tls().and_then(|tls| tls.config()).map_err(|source| {
            let place = self.roots.as_ref().map(|path| path.display().to_string());
            let place = place.unwrap_or_else(|| "the system".to_owned());
            PostgresError::Roots { place, source: source.into() }
        })?;
        Ok(MakeRustlsConnect::new(config))
    }

    fn client_tls(&self) -> Result<ClientTls, TlsError> {
        let tls = match &self.roots {
            // Root certificates are not needed without verification.
            Some(path) if self.verify != Verify::Nothing => {
                ClientTls::new().with_roots(&Pem::file(path))?
            }
            _ => ClientTls::new(),
        };
        Ok(match self.verify {
            // Encrypted but not authenticated, as requested.
            Verify::Nothing => tls.without_verification(),
            Verify::Signature => tls.without_names(),
            Verify::Full => tls,
        })
    }

    /// Host and port, for messages.
    pub(super) fn host(&self) -> String {
        let ports = self.config.get_ports();
        let mut hosts: Vec<String> = Vec::new();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let name = match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            };
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            hosts.push(format!("{name}:{port}"));
        }
        if hosts.is_empty() {
            hosts.extend(self.config.get_hostaddrs().iter().map(ToString::to_string));
        }
        hosts.join(",")
    }

    /// The name of the database, for messages.
    pub(super) fn database(&self) -> String {
        let name = self.config.get_dbname().or(self.config.get_user());
        name.unwrap_or_default().to_owned()
    }
}

/// Parameters unknown to tokio-postgres.
#[derive(Default)]
struct Settings {
    ssl_mode: Option<String>,
    roots: Option<String>,
    schema: Option<String>,
}

impl Settings {
    /// Removes our parameters from the query of a URL, and returns the rest.
    fn take_from_url(&mut self, url: &str) -> Result<String, PostgresError> {
        let Some((base, query)) = url.split_once('?') else { return Ok(url.to_owned()) };
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let slot = match name {
                "sslmode" => &mut self.ssl_mode,
                "sslrootcert" => &mut self.roots,
                "schema" => &mut self.schema,
                _ => {
                    rest.push(pair);
                    continue;
                }
            };
            *slot = Some(
                decode(value)
                    .ok_or_else(|| PostgresError::Address(format!("invalid parameter {name}")))?,
            );
        }
        if rest.is_empty() {
            return Ok(base.to_owned());
        }
        Ok(format!("{base}?{}", rest.join("&")))
    }

    fn ssl(&self, config: &mut Config) -> Result<Verify, PostgresError> {
        let (mode, verify) = match self.ssl_mode.as_deref() {
            None if self.roots.is_some() => (SslMode::Require, Verify::Full),
            None => (config.get_ssl_mode(), Verify::Nothing),
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            Some("allow" | "prefer") => (SslMode::Prefer, Verify::Nothing),
            // As in libpq: with root certificates, they are verified.
            Some("require") if self.roots.is_some() => (SslMode::Require, Verify::Signature),
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Signature),
            Some("verify-full") => (SslMode::Require, Verify::Full),
            Some(other) => {
                return Err(PostgresError::Address(format!("unknown sslmode {other:?}")));
            }
        };
        config.ssl_mode(mode);
        Ok(verify)
    }
}

/// Decodes percent-encoding.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

fn reason_of(error: &tokio_postgres::Error, url: &str) -> String {
    use std::error::Error as _;
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let secret = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    match secret.and_then(|(login, _)| login.split_once(':')) {
        Some((_, password)) if !password.is_empty() && reason.contains(password) => {
            "malformed".into()
        }
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn sslmode_matches_libpq() {
        let cases = [
            ("", SslMode::Prefer, Verify::Nothing),
            ("?sslmode=disable", SslMode::Disable, Verify::Nothing),
            ("?sslmode=prefer", SslMode::Prefer, Verify::Nothing),
            ("?sslmode=require", SslMode::Require, Verify::Nothing),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Verify::Signature),
            ("?sslmode=verify-ca", SslMode::Require, Verify::Signature),
            ("?connect_timeout=3&sslmode=verify-full", SslMode::Require, Verify::Full),
            ("?sslrootcert=system", SslMode::Require, Verify::Full),
        ];
        for (query, mode, verify) in cases {
            let address = Address::parse(&format!("postgres://ann@db/tasks{query}")).unwrap();
            assert_eq!(address.config.get_ssl_mode(), mode, "{query}");
            assert_eq!(address.verify, verify, "{query}");
        }
    }

    #[test]
    fn host_and_database_are_named() {
        let address = Address::parse("postgresql://ann:secret@db:6000/tasks").unwrap();
        assert_eq!((address.host().as_str(), address.database().as_str()), ("db:6000", "tasks"));
        let address = Address::parse("host=/run/postgresql user=ann").unwrap();
        assert_eq!(address.host(), "/run/postgresql:5432");
        assert_eq!(address.database(), "ann");
    }

    #[test]
    fn schema_is_read_from_the_url() {
        let address = Address::parse("postgres://db/tasks?schema=my%20agent").unwrap();
        assert_eq!(address.schema.as_deref(), Some("my agent"));
    }

    #[test]
    fn errors_never_contain_the_password() {
        for url in [
            "postgres://ann:hunter2@db:port/tasks",
            "postgres://ann:hunter2@db/tasks?sslmode=often",
            "postgres://ann:hunter2@db/tasks?nonsense=1",
            "mysql://ann:hunter2@db/tasks",
            "host=db password=hunter2 nonsense=1",
        ] {
            let Err(error) = Address::parse(url) else { panic!("{url} is not an address") };
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
