//! A user who logs in, and agents that verify the tokens.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, ChildStderr, Command, Stdio},
};

use a2a_kit_http::client::{ClientSettings, HttpClient};
use bytes::Bytes;
use http::{Request, header::LOCATION};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Run, Server, command};

/// A user with a home directory.
#[derive(Debug)]
pub struct User {
    folder: TempDir,
}

/// An agent that requires a token of an issuer.
#[derive(Debug)]
pub struct Agent {
    pub server: Server,
    _folder: TempDir,
}

/// A login in progress.
#[derive(Debug)]
pub struct Login {
    child: Child,
    stderr: BufReader<ChildStderr>,
    seen: String,
}

impl User {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directory of the token store.
    pub fn config(&self) -> PathBuf {
        self.path("config/a2a-cli")
    }

    pub fn store(&self) -> PathBuf {
        self.config().join("credentials.json")
    }

    /// The content of the token store.
    pub fn tokens(&self) -> Value {
        let json = fs::read(self.store()).unwrap();
        serde_json::from_slice::<Value>(&json).unwrap()["tokens"].clone()
    }

    /// Changes the stored tokens.
    pub fn edit(&self, change: impl Fn(&mut Value)) {
        let mut store: Value = serde_json::from_slice(&fs::read(self.store()).unwrap()).unwrap();
        store["tokens"].as_array_mut().unwrap().iter_mut().for_each(change);
        fs::write(self.store(), store.to_string()).unwrap();
    }

    /// Makes all stored tokens expire.
    pub fn expire(&self) {
        self.edit(|token| token["expiresAt"] = "2020-01-01T00:00:00Z".into());
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command
            .args(arguments)
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("A2ACLI_POLL_INTERVAL", "100ms")
            .current_dir(self.folder.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    /// Starts a login.
    pub fn login(&self, arguments: &[&str]) -> Login {
        Login::start(self.command(&["auth", "login"]).args(arguments))
    }
}

impl Login {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, seen: String::new() }
    }

    /// Waits for a line on stderr, and returns what follows its label.
    pub fn label(&mut self, label: &str) -> String {
        let start = format!("{label}: ");
        loop {
            let mut line = String::new();
            let length = self.stderr.read_line(&mut line).unwrap();
            assert!(length > 0, "no {label}: {}", self.seen);
            self.seen.push_str(&line);
            if let Some(value) = line.strip_prefix(&start) {
                return value.trim_end().to_owned();
            }
        }
    }

    /// Waits for the end of the login.
    pub fn end(mut self) -> Run {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut self.seen).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Run { code, stdout, stderr: self.seen }
    }
}

impl Agent {
    /// Starts an agent that requires a token of `issuer` for the scheme `login`.
    pub fn start(issuer: &str, scheme: &Value) -> Self {
        Self::start_with(issuer, scheme, &[])
    }

    /// The same with more arguments.
    pub fn start_with(issuer: &str, scheme: &Value, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let card = json!({
            "name": "Guarded", "description": "Requires a token", "version": "1",
            "supportedInterfaces": [], "capabilities": {"streaming": true, "extendedAgentCard": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}],
            "securitySchemes": { "login": scheme },
            "securityRequirements": [{ "schemes": { "login": { "list": ["read"] } } }],
        });
        let card = write("card.json", &card.to_string());
        let verifier = if scheme["openIdConnectSecurityScheme"].is_object() {
            format!("[[auth.oidc]]\nurl = \"{issuer}/.well-known/openid-configuration\"\n")
        } else {
            format!("[[auth.jwt]]\nissuer = \"{issuer}\"\njwks_url = \"{issuer}/jwks\"\n")
        };
        let settings = format!("{verifier}audiences = [\"agent\"]\nleeway = \"0s\"\n");
        let settings = write("a2a.toml", &settings);
        let arguments = [&["--settings", &settings, "--card", &card][..], more].concat();
        Self { server: Server::start(&arguments), _folder: folder }
    }

    pub fn address(&self) -> &str {
        &self.server.address
    }
}

/// What the user answers to the questions of the authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Agree,
    Deny,
}

/// Follows redirects like a browser, with its cookies, and returns the last status.
pub fn browse(url: &str) -> u16 {
    browse_and(url, Answer::Agree)
}

/// The same, with an answer to each form.
pub fn browse_and(url: &str, answer: Answer) -> u16 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = HttpClient::new(ClientSettings::default().with_max_redirects(0)).unwrap();
        let mut url = url::Url::parse(url).unwrap();
        let mut cookies = std::collections::BTreeMap::new();
        let mut form: Option<String> = None;
        loop {
            let jar: Vec<_> =
                cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let request = Request::builder()
                .method(if form.is_some() { "POST" } else { "GET" })
                .uri(url.as_str())
                .header("cookie", jar.join("; "))
                .header("content-type", "application/x-www-form-urlencoded");
            let body = Bytes::from(form.take().unwrap_or_default());
            let response = client.send(request.body(body).unwrap()).await.unwrap();
            for cookie in response.headers().get_all("set-cookie") {
                let pair = cookie.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                cookies.insert(name.to_owned(), value.to_owned());
            }
            if let Some(location) = response.headers().get(LOCATION) {
                url = url.join(location.to_str().unwrap()).unwrap();
                continue;
            }
            let page = String::from_utf8_lossy(response.body());
            match filled_form(&page, answer) {
                None => return response.status().as_u16(),
                Some((action, filled)) => {
                    url = url.join(&action).unwrap();
                    form = Some(filled);
                }
            }
        }
    })
}

/// The first form of a page with hidden fields only: its URL and its content.
fn filled_form(page: &str, answer: Answer) -> Option<(String, String)> {
    let (_, form) = page.split_once("<form")?;
    let attribute = |tag: &str, name: &str| {
        let (_, value) = tag.split_once(&format!("{name}=\""))?;
        Some(value.split('"').next()?.to_owned())
    };
    if form.contains("type=\"text\"") {
        return None;
    }
    let action = attribute(form.split('>').next()?, "action")?;
    let mut filled = url::form_urlencoded::Serializer::new(String::new());
    let mut is_empty = true;
    for tag in form.split("<input").skip(1).filter(|tag| tag.contains("type=\"hidden\"")) {
        let tag = tag.split('>').next()?;
        let value = attribute(tag, "value").unwrap_or_default();
        filled.append_pair(&attribute(tag, "name")?, &value);
        is_empty = false;
    }
    if answer == Answer::Deny && form.contains("name=\"abort\"") {
        filled.append_pair("abort", "yes");
    }
    (!is_empty).then(|| (action, filled.finish()))
}
