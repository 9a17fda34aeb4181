//! Instances of `a2a serve` for attacks.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use a2a_test_certificates::Authority;
use rustix::process::{Pid, Signal, kill_process};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{
    Canary, Environment, Issuer, Process, amplification::RECEIVERS, authentication::FREE_FAILURES,
    webhook::ALLOWED,
};
use crate::chaos::free_port;

const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(30);
/// The token of a server without authentication settings.
const SHARED_TOKEN: &str = "shared-token";

/// A server, killed on drop.
#[derive(Debug)]
pub struct Started {
    pub env: Environment,
    /// The manner of authentication.
    pub manner: &'static str,
    child: Child,
    _folder: TempDir,
}

impl Started {
    /// Starts a server over TLS that trusts an issuer.
    ///
    /// # Errors
    ///
    /// The log, if the server does not start.
    pub async fn start(binary: &Path) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let issuer = Issuer::default();
        let keys = issuer.jwks().to_string();
        let keys = Canary::start(
            "127.0.0.1",
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{keys}",
                keys.len()
            ),
        )
        .await;
        let port = free_port();
        let roots = Arc::new(certificates(folder.path())?);
        let authority = trusting(&roots)?;
        let settings = folder.path().join("settings.toml");
        fs::write(&settings, settings_of(folder.path(), port, &keys)).map_err(|e| e.to_string())?;
        let log = folder.path().join("server.log");
        let is_secure = checks(binary, &settings);
        let mut command = clean(binary);
        command.arg("serve").current_dir(folder.path());
        if is_secure {
            command.arg("--settings").arg(&settings);
        } else {
            command.args(["--require-bearer", SHARED_TOKEN]);
            command.args(["--port", &port.to_string(), "--allow-webhook", ALLOWED]);
            command.args(["--allow-webhook", RECEIVERS]);
        }
        let child = spawn(command, &log)?;
        let process = Some(Process { id: child.id(), log });
        let env = Environment {
            address: ([127, 0, 0, 1], port).into(),
            tls: is_secure.then_some(authority),
            roots,
            ann: if is_secure { issuer.token("ann") } else { SHARED_TOKEN.to_owned() },
            bob: is_secure.then(|| issuer.token("bob")),
            keys: is_secure.then_some(keys),
            issuer,
            canary: Canary::start("127.0.0.1", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await,
            process,
        };
        let manner = match is_secure {
            true => "over TLS, with the tokens of an issuer",
            false => "in plaintext, with one token: it reads no settings of TLS and tokens",
        };
        Ok(Self { env, manner, child, _folder: folder })
    }

    /// Starts the attacked program again, in plaintext, with a settings file and variables.
    ///
    /// # Errors
    ///
    /// The log, if the server does not start.
    pub(super) async fn with_settings(
        attacked: &Environment,
        settings: &str,
        environment: &[(&str, &str)],
    ) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let file = folder.path().join("settings.toml");
        fs::write(&file, settings).map_err(|error| error.to_string())?;
        let file = file.to_string_lossy();
        let arguments: [&str; 4] = ["--store", "memory", "--settings", &file];
        Self::again(attacked, folder, &arguments, environment).await
    }

    /// Starts the attacked program again, in plaintext, with a settings file and these arguments.
    ///
    /// # Errors
    ///
    /// The log, if the server does not start.
    pub(super) async fn with_file(
        attacked: &Environment,
        settings: &str,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let file = folder.path().join("settings.toml");
        fs::write(&file, settings).map_err(|error| error.to_string())?;
        let file = file.to_string_lossy();
        let arguments = [&["--settings", &*file], arguments].concat();
        Self::again(attacked, folder, &arguments, &[]).await
    }

    /// Starts the attacked program again, in plaintext, with these arguments.
    ///
    /// # Errors
    ///
    /// The log, if the server does not start.
    pub(super) async fn with_arguments(
        attacked: &Environment,
        arguments: &[&str],
    ) -> Result<Self, String> {
        Self::with_variables(attacked, arguments, &[]).await
    }

    /// The same, with variables.
    pub(super) async fn with_variables(
        attacked: &Environment,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        Self::again(attacked, folder, arguments, environment).await
    }

    async fn again(
        attacked: &Environment,
        folder: TempDir,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self, String> {
        let binary = binary(attacked)?;
        let port = free_port();
        let mut command = clean(&binary);
        command.arg("serve").current_dir(folder.path()).envs(environment.iter().copied());
        command.args(["--port", &port.to_string()]).args(arguments);
        let log = folder.path().join("server.log");
        let child = spawn(command, &log)?;
        let env = Environment {
            address: ([127, 0, 0, 1], port).into(),
            tls: None,
            roots: Arc::clone(&attacked.roots),
            issuer: Issuer::default(),
            ann: String::new(),
            bob: None,
            keys: None,
            canary: Canary::start("127.0.0.1", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await,
            process: Some(Process { id: child.id(), log }),
        };
        Ok(Self { env, manner: "plaintext, with separate settings", child, _folder: folder })
    }

    /// Stops the server and waits for its exit.
    pub(super) async fn stop(&mut self) -> Result<(), String> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.ok_or("the server is no process")?, Signal::TERM)
            .map_err(|error| format!("the server can't be stopped: {error}"))?;
        let end = Instant::now() + STOP;
        while self.child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if Instant::now() > end {
                return Err(format!("the server did not stop: {}", self.last_lines()));
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The last lines of the server's log, for diagnostics.
    pub fn last_lines(&self) -> String {
        let logged = self.env.process.as_ref().map(Process::logged).unwrap_or_default();
        let lines: Vec<_> = logged.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Another server on loopback, plaintext and without authentication.
#[derive(Debug)]
pub struct Alone {
    /// Its URL with a trailing slash.
    pub url: String,
    child: Child,
}

impl Alone {
    /// Starts a server in a directory.
    ///
    /// # Errors
    ///
    /// The log, if the server does not start.
    pub fn start(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self, String> {
        let port = free_port();
        let mut command = clean(binary);
        command.arg("serve").current_dir(folder);
        command.args(["--port", &port.to_string()]).args(arguments);
        let log = folder.join(format!("server-{port}.log"));
        let child = spawn(command, &log)?;
        Ok(Self { url: format!("http://127.0.0.1:{port}/"), child })
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// A running `a2a listen` without a token.
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    child: Child,
    _folder: TempDir,
}

impl Listener {
    /// Starts it from the attacked program.
    pub(super) fn start(attacked: &Environment) -> Result<Self, String> {
        let binary = binary(attacked)?;
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = clean(&binary);
        command.args(["listen", "--port", &address.port().to_string()]);
        let child = spawn(command, &folder.path().join("listen.log"))?;
        Ok(Self { address, child, _folder: folder })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The program of the attacked server.
pub(super) fn binary(attacked: &Environment) -> Result<PathBuf, String> {
    let process = attacked.process.as_ref().ok_or("which program it is, is not known")?;
    fs::read_link(format!("/proc/{}/exe", process.id))
        .map_err(|error| format!("which program it is, is not known: {error}"))
}

/// A command without the `A2ACLI_` variables of this process.
pub(super) fn clean(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("A2ACLI_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Writes a server certificate and its key, and returns the certificate authority.
fn certificates(folder: &Path) -> Result<RootCertStore, String> {
    let authority = Authority::new("root");
    authority.for_this_machine("server").write(folder, "server");
    let root = CertificateDer::from_pem_slice(authority.root().as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(root.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    Ok(roots)
}

/// A client that trusts these authorities.
fn trusting(roots: &Arc<RootCertStore>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(Arc::clone(roots))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn settings_of(folder: &Path, port: u16, keys: &Canary) -> String {
    let (issuer, audience) = (Issuer::NAME, Issuer::AUDIENCE);
    let (folder, keys) = (folder.display(), keys.url());
    format!(
        r#"
[listen]
port = {port}

[tls]
cert_file = "{folder}/server.crt"
key_file = "{folder}/server.key"

[webhooks]
allow = ["{ALLOWED}", "{RECEIVERS}"]

[auth]
failures_allowed = {FREE_FAILURES}

[[auth.jwt]]
issuer = "{issuer}"
audiences = ["{audience}"]
jwks_url = "{keys}"
"#
    )
}

/// Whether a server accepts these settings.
fn checks(binary: &Path, settings: &Path) -> bool {
    let mut command = Command::new(binary);
    command.args(["serve", "--print-settings", "--settings"]).arg(settings);
    let checked = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    checked.is_ok_and(|status| status.success())
}

/// Starts a server, and waits until it listens.
fn spawn(mut command: Command, log: &Path) -> Result<Child, String> {
    let file = File::create(log).map_err(|error| error.to_string())?;
    let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
    let mut child = streams.spawn().map_err(|error| format!("can't start the server: {error}"))?;
    let output = child.stdout.take().ok_or("the server has no output")?;
    let (sender, listens) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.starts_with("Listening: ") {
                let _heard = sender.send(());
            }
        }
    });
    if listens.recv_timeout(START).is_err() {
        let _killed = child.kill();
        let _ended = child.wait();
        let log = fs::read_to_string(log).unwrap_or_default();
        return Err(format!("the server did not start: {log}"));
    }
    Ok(child)
}
