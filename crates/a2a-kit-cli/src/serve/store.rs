//! The store of a server: memory, a file, or a database shared by nodes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(feature = "postgres")]
use a2a_kit_operations::store::LeaseStore as _;
use a2a_kit_operations::{
    Store,
    store::{DeadLetter, DeadLetterQuery},
};
#[cfg(feature = "nats")]
use a2a_kit_store::nats::{Clustered, NatsConfig};
#[cfg(feature = "postgres")]
use a2a_kit_store::postgres::{PostgresConfig, PostgresStore};
#[cfg(feature = "sqlite")]
use a2a_kit_store::sqlite::{SqliteOptions, SqliteStore};
use a2a_kit_store::{SecretKey, SecretKeys};
use url::Url;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use super::chain;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::failure::Code;
use crate::{failure::Failure, settings::serve::Serve};

/// The default file of an agent, and of a proxy.
const FILE: &str = "a2a.db";
pub(super) const GATEWAY_FILE: &str = "a2a-gateway.db";
/// The variable with the secret keys, in place of a file.
const KEYS: &str = "A2ACLI_SECRET_KEY";
const KEY_HINT: &str = "create a key with: openssl rand -base64 32; the newest key comes first";
const FORMATS: &str = "expected memory, the path of a file, or postgres://user@host/database";
/// Words of the connection strings of PostgreSQL and of other drivers.
const CONNECTION_WORDS: [&str; 5] = ["host=", "dbname=", "user=", "server=", "data source="];

/// The configuration of a store.
#[derive(Debug)]
pub(super) struct StoreConfig {
    place: Location,
    keys: SecretKeys,
}

#[derive(Debug, PartialEq, Eq)]
enum Location {
    Memory,
    File(PathBuf),
    Database { url: String, cluster: Option<String>, node: Option<String> },
}

/// An open store, and its description for the startup message.
#[derive(Debug, Default)]
pub(super) struct OpenedStore {
    /// `None` for a store in memory, and for an agent without tasks of its own.
    pub(super) store: Option<Arc<dyn Store>>,
    /// Labels and values.
    pub(super) lines: Vec<(&'static str, String)>,
}

impl StoreConfig {
    /// Reads the settings; `None` for an agent without tasks of its own.
    pub(super) fn new(serve: &Serve) -> Result<Option<Self>, Failure> {
        let settings = &serve.store;
        if let Some(mode) = serve.without_engine().filter(|_| !serve.has_index()) {
            let given = [
                ("--store", settings.location.is_some()),
                ("--cluster", settings.cluster.is_some()),
                ("--node", settings.node.is_some()),
                ("--secret-key-file", settings.secret_key_file.is_some()),
                ("--retention", settings.retention.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(Failure::usage(format!("{flag} can't be used with {mode}"))
                    .with_hint(
                        "only an agent that this server runs, and a proxy with \
                         --proxy-isolation store, have tasks to store",
                    )),
                None => Ok(None),
            };
        }
        let location = settings.location.as_ref().map(|address| address.0.as_str());
        let cluster = settings.cluster.as_ref().map(|address| address.0.as_str());
        let file = match serve.has_index() {
            _ if !cfg!(feature = "sqlite") => "memory",
            true => GATEWAY_FILE,
            false => FILE,
        };
        let place = place(location.unwrap_or(file), cluster, settings.node.as_deref())?;
        let keys = match place {
            Location::Memory if settings.secret_key_file.is_some() => {
                return Err(Failure::usage("--secret-key-file can't be used with --store memory")
                    .with_hint("the memory store writes nothing to disk"));
            }
            Location::Memory => SecretKeys::default(),
            Location::File(_) | Location::Database { .. } => {
                keys(settings.secret_key_file.as_deref())?
            }
        };
        Ok(Some(Self { place, keys }))
    }

    /// Reads the dead letters of a file that a server may have open; `None` for another store.
    pub(super) async fn dead_letters(
        &self,
        query: &DeadLetterQuery,
    ) -> Option<Result<Vec<DeadLetter>, Failure>> {
        match &self.place {
            #[cfg(feature = "sqlite")]
            Location::File(path) => {
                let letters = SqliteStore::read_dead_letters(path, query).await;
                Some(
                    letters
                        .map_err(|error| Failure::internal(format!("--store: {}", chain(&error)))),
                )
            }
            _ => None,
        }
    }

    /// Opens the store.
    /// Errors: a failure that names the flag, for a store that can't be opened or reached.
    pub(super) async fn open(self) -> Result<OpenedStore, Failure> {
        match self.place {
            Location::Memory => {
                let description = "memory (tasks are lost at exit)".to_owned();
                Ok(OpenedStore { store: None, lines: vec![("Store", description)] })
            }
            Location::File(path) => file(&path, self.keys).await,
            Location::Database { url, cluster, node } => {
                database(&url, cluster.as_deref(), node, self.keys).await
            }
        }
    }
}

/// The store at a location, which must exist.
pub(super) fn existing(location: Option<&str>) -> Result<StoreConfig, Failure> {
    let place = place(location.unwrap_or(FILE), None, None)?;
    if let Location::File(path) = &place
        && !path.exists()
    {
        return Err(
            Failure::usage(format!("--store {}: no such file", path.display())).with_hint(FORMATS)
        );
    }
    Ok(StoreConfig { place, keys: SecretKeys::default() })
}

fn place(store: &str, cluster: Option<&str>, node: Option<&str>) -> Result<Location, Failure> {
    let scheme = store.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let place = match scheme.as_deref() {
        Some("postgres" | "postgresql") => {
            if let Some(cluster) = cluster {
                check_cluster(cluster)?;
            }
            let (cluster, node) = (cluster.map(str::to_owned), node.map(str::to_owned));
            return Ok(Location::Database { url: store.to_owned(), cluster, node });
        }
        Some(_) => {
            let shown = without_secrets(store);
            return Err(Failure::usage(format!("--store {shown}: unknown kind of store"))
                .with_hint(FORMATS));
        }
        None if store.is_empty() => {
            return Err(Failure::usage("--store is empty").with_hint(FORMATS));
        }
        None if ["memory", ":memory:"].iter().any(|word| store.eq_ignore_ascii_case(word)) => {
            Location::Memory
        }
        None if is_connection_string(store) => {
            return Err(Failure::usage("--store is a connection string, and must be a URL")
                .with_hint(FORMATS));
        }
        None => Location::File(store.into()),
    };
    for (flag, is_given) in [("--cluster", cluster.is_some()), ("--node", node.is_some())] {
        if is_given {
            return Err(Failure::usage(format!("{flag} requires --store postgres://…"))
                .with_hint(format!("--store {store} serves a single process")));
        }
    }
    Ok(place)
}

/// Returns whether a location is no path but words such as `host=db dbname=a2a`, or a scheme without
/// slashes, such as `sqlite:`.
fn is_connection_string(store: &str) -> bool {
    let text = store.to_ascii_lowercase();
    let has_scheme = ["sqlite:", "file:", "postgres:", "postgresql:", "jdbc:"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    let mut words = text.split([' ', ';']).map(str::trim);
    has_scheme || words.any(|word| CONNECTION_WORDS.iter().any(|start| word.starts_with(start)))
}

fn check_cluster(cluster: &str) -> Result<(), Failure> {
    let is_nats = cluster.split(',').all(|server| {
        Url::parse(server.trim()).is_ok_and(|url| matches!(url.scheme(), "nats" | "tls"))
    });
    if is_nats {
        return Ok(());
    }
    let shown = without_secrets(cluster);
    Err(Failure::usage(format!("--cluster {shown}: unknown kind of cluster"))
        .with_hint("expected nats://host or tls://host, several separated by commas"))
}

fn keys(file: Option<&Path>) -> Result<SecretKeys, Failure> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (text, source) = match file {
        Some(path) => {
            let source = format!("--secret-key-file {}", path.display());
            let text = fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("failed to read {source}: {error}")))?;
            (text, source)
        }
        None => match variable(KEYS) {
            Some(text) => (text, KEYS.to_owned()),
            None => return Ok(SecretKeys::default()),
        },
    };
    let unusable = |problem: String| Failure::usage(problem).with_hint(KEY_HINT);
    let words = text.split([',', ' ', '\n', '\r', '\t']).filter(|word| !word.is_empty());
    let keys = words.map(str::parse::<SecretKey>).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|error| unusable(format!("{source}: {error}")))?;
    if keys.is_empty() {
        return Err(unusable(format!("{source} contains no key")));
    }
    Ok(SecretKeys::new(keys))
}

#[cfg(not(feature = "sqlite"))]
async fn file(path: &Path, _: SecretKeys) -> Result<OpenedStore, Failure> {
    Err(missing(&format!("--store {}", path.display()), "sqlite"))
}

#[cfg(not(feature = "postgres"))]
async fn database(
    url: &str,
    _: Option<&str>,
    _: Option<String>,
    _: SecretKeys,
) -> Result<OpenedStore, Failure> {
    Err(missing(&format!("--store {}", without_secrets(url)), "postgres"))
}

/// The failure of a setting whose feature is not compiled in.
#[cfg(not(all(feature = "nats", feature = "postgres", feature = "sqlite")))]
fn missing(setting: &str, feature: &str) -> Failure {
    Failure::usage(format!("{setting}: not supported by this build"))
        .with_hint(format!("build a2a with the feature {feature}"))
}

#[cfg(feature = "sqlite")]
async fn file(path: &Path, keys: SecretKeys) -> Result<OpenedStore, Failure> {
    let options = SqliteOptions::default().with_secret_keys(keys);
    let store = SqliteStore::open_with(path, options).await.map_err(|error| {
        Failure::new(Code::Internal, format!("--store: {}", chain(&error)))
            .with_hint("stop the process that has it, or choose another file with --store <path>")
    })?;
    let place = std::path::absolute(path).unwrap_or_else(|_no_folder| path.to_owned());
    let lines = vec![("Store", format!("SQLite {}", place.display()))];
    Ok(OpenedStore { store: Some(Arc::new(store)), lines })
}

#[cfg(feature = "postgres")]
async fn database(
    url: &str,
    cluster: Option<&str>,
    node: Option<String>,
    keys: SecretKeys,
) -> Result<OpenedStore, Failure> {
    let place = without_secrets(url);
    let mut config = PostgresConfig::default()
        .with_secret_keys(keys)
        // In a cluster, nodes exchange signals through it.
        .with_notify(cluster.is_none());
    if let Some(node) = node {
        // A restarted node is a new node, even under the same name.
        let id = a2a_core::fresh_id();
        config = config.with_node(format!("{node}.{}", id.get(..8).unwrap_or(&id)));
    }
    let store = PostgresStore::connect_with(url, config)
        .await
        .map_err(|error| unreachable("--store", &place, &error))?;
    let mut lines = vec![("Store", format!("PostgreSQL {place}"))];
    lines.push(("Node", store.node().to_owned()));
    let store: Arc<dyn Store> = Arc::new(store);
    let Some(cluster) = cluster else {
        return Ok(OpenedStore { store: Some(store), lines });
    };
    joined(store, lines, cluster).await
}

#[cfg(all(feature = "postgres", not(feature = "nats")))]
async fn joined(
    _: Arc<dyn Store>,
    _: Vec<(&'static str, String)>,
    cluster: &str,
) -> Result<OpenedStore, Failure> {
    Err(missing(&format!("--cluster {}", without_secrets(cluster)), "nats"))
}

/// Joins the cluster of nodes that share a database.
#[cfg(all(feature = "postgres", feature = "nats"))]
async fn joined(
    store: Arc<dyn Store>,
    mut lines: Vec<(&'static str, String)>,
    cluster: &str,
) -> Result<OpenedStore, Failure> {
    let shown = without_secrets(cluster);
    let (servers, name) = named(cluster);
    let mut config = NatsConfig::new(servers);
    if let Some(name) = name {
        config = config.with_cluster(name);
    }
    let store = Clustered::connect(store, config)
        .await
        .map_err(|error| unreachable("--cluster", &shown, &error))?;
    lines.push(("Cluster", format!("NATS {shown}")));
    Ok(OpenedStore { store: Some(Arc::new(store)), lines })
}

/// The servers of a cluster, and its name: the path of a URL, as for a database.
#[cfg(any(test, feature = "nats"))]
fn named(cluster: &str) -> (String, Option<String>) {
    let mut name = None;
    let servers = cluster.split(',').map(|server| {
        let start = server.find("://").map_or(0, |colon| colon + "://".len());
        match server.get(start..).and_then(|rest| rest.split_once('/')) {
            Some((host, path)) => {
                let path = path.trim_matches('/');
                name =
                    Some(path).filter(|path| !path.is_empty()).map(str::to_owned).or(name.take());
                format!("{}{host}", server.get(..start).unwrap_or_default())
            }
            None => server.to_owned(),
        }
    });
    let servers = servers.collect::<Vec<_>>().join(",");
    (servers, name)
}

#[cfg(feature = "postgres")]
fn unreachable(flag: &str, place: &str, error: &dyn std::error::Error) -> Failure {
    Failure::new(Code::Unreachable, format!("{flag} {place}: {}", chain(error))).with_hint(
        "check its address and credentials, and that it runs and may be reached from here",
    )
}

/// An address without user, password and parameters.
pub(super) fn without_secrets(url: &str) -> String {
    let one = |url: &str| {
        let url = url.trim();
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let colon = if scheme.is_empty() { "" } else { "://" };
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{scheme}{colon}{host}{slash}{path}")
    };
    url.split(',').map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_determines_the_kind_of_store() {
        let of = |store| place(store, None, None).unwrap();
        assert_eq!(of(FILE), Location::File(FILE.into()));
        for memory in ["memory", ":memory:", "Memory"] {
            assert_eq!(of(memory), Location::Memory);
        }
        assert_eq!(of("./memory"), Location::File("./memory".into()));
        let url = "postgres://me@db/tasks";
        let shared = Location::Database { url: url.into(), cluster: None, node: None };
        assert_eq!(of(url), shared);
    }

    #[test]
    fn each_wrong_use_names_its_flag() {
        let url = "postgres://db/tasks";
        for (store, cluster, node, flag) in [
            ("mysql://me:secret@db/tasks", None, None, "--store mysql://db/tasks"),
            ("", None, None, "--store"),
            ("host=db dbname=a2a password=secret", None, None, "--store is a connection string"),
            ("Server=db;User=me", None, None, "--store is a connection string"),
            ("sqlite::memory:", None, None, "--store is a connection string"),
            ("memory", Some("nats://bus"), None, "--cluster"),
            (FILE, None, Some("one"), "--node"),
            (url, Some("redis://me:secret@bus"), None, "--cluster redis://bus"),
            (url, Some("bus:4222"), None, "--cluster bus:4222"),
        ] {
            let failure = place(store, cluster, node).unwrap_err();
            assert!(failure.message().starts_with(flag), "{flag}: {failure}");
            assert!(!failure.to_string().contains("secret"), "{failure}");
            assert_eq!(failure.code.exit(), 2, "{flag}");
        }
    }

    #[test]
    fn a_file_of_keys_is_read_or_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        let with = |text: &str| {
            fs::write(&path, text).unwrap();
            keys(Some(&path))
        };
        let key = "07".repeat(32);
        assert!(with(&format!("{key}\n{}\n", "08".repeat(32))).is_ok());
        for text in ["", "short"] {
            let failure = with(text).unwrap_err();
            assert!(failure.message().contains("--secret-key-file"), "{failure}");
        }
    }

    #[test]
    fn a_cluster_has_the_name_that_its_address_ends_with() {
        for (cluster, servers, name) in [
            ("nats://bus:4222", "nats://bus:4222", None),
            ("nats://bus/", "nats://bus", None),
            (
                "nats://me:secret@one/weather,tls://two",
                "nats://me:secret@one,tls://two",
                Some("weather"),
            ),
        ] {
            assert_eq!(named(cluster), (servers.to_owned(), name.map(str::to_owned)), "{cluster}");
        }
    }

    #[test]
    fn urls_are_shown_without_users_and_passwords() {
        for (url, shown) in [
            ("postgres://me:secret@db:5432/tasks?sslmode=require", "postgres://db:5432/tasks"),
            ("nats://a:b@one,tls://token@two:4222", "nats://one,tls://two:4222"),
            ("postgres://db", "postgres://db"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
