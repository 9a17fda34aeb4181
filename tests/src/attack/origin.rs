//! Attacks on the command line: a directory, a catalog, a card, a redirect or an authorization server
//! that leads a secret of its user elsewhere.
//!
//! The attacker records what arrives. An attack succeeds if the secret is in it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::Command,
    time::{Instant, timeout},
};
use url::Url;

use super::{
    Attack, Environment, Recorder, Verdict, attacks,
    server::{binary, clean},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "hostile directory", "a .env above the working directory names an agent or weakens TLS" => directory;
        "shared directory", "a .env that others can write, or outside of a project" => shared;
        "file named like the agent", "a file or a catalog in the directory has the name of the user's agent" => namesake;
        "hostile catalog", "a catalog names an agent of another server, or contains its card" => catalog;
        "hostile card", "a card names interfaces elsewhere, on each binding" => card;
        "card for a year", "a card over plaintext with a lifetime of a year" => year;
        "hostile redirect", "a card, a catalog, a call and a token URL redirect elsewhere" => redirect;
        "mixed authorization servers", "a card with the sign-in of an honest server" => mixed;
        "issuer of another server", "a sign-in that ends at another issuer" => issuer;
        "hostile device endpoint", "intervals of 0 and 2^64-1, and errors with the device code" => device;
    }
}

const SECRET: &str = "s3cret-of-the-user";
/// Limit of a command.
const RUN: Duration = Duration::from_secs(60);
const TOKEN: (&str, &str) = ("A2ACLI_BEARER", SECRET);

/// A user with a project, who runs the attacked program as a client.
struct User {
    program: PathBuf,
    home: TempDir,
}

/// The exit status and the output of a command.
type Ran = (Option<i32>, String);

impl User {
    fn new(env: &Environment) -> Result<Self, String> {
        let home = TempDir::new().map_err(|error| error.to_string())?;
        for folder in ["project/.git", "project/below", "config/a2a-cli"] {
            fs::create_dir_all(home.path().join(folder)).map_err(|error| error.to_string())?;
        }
        Ok(Self { program: binary(env)?, home })
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> Result<(), String> {
        let path = self.home.path().join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| error.to_string())
    }

    fn command(&self, folder: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = clean(&self.program);
        let home = self.home.path();
        command.args(arguments).current_dir(home.join(folder)).env("HOME", home);
        command.env("XDG_CONFIG_HOME", home.join("config"));
        command.env("XDG_CACHE_HOME", home.join("cache")).envs(variables.iter().copied());
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    async fn run(
        &self,
        folder: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Ran, String> {
        let output = self.command(folder, arguments, variables).output();
        let output = timeout(RUN, output).await.map_err(|_late| format!("{arguments:?} hangs"))?;
        let output = output.map_err(|error| error.to_string())?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// Sends a message to an agent.
    async fn send(&self, reference: &str, more: &[&str]) -> Result<Ran, String> {
        let send = ["send", "hi", "-a", reference, "--timeout", "10s"];
        self.run("project", &[&send, more].concat(), &[TOKEN]).await
    }
}

/// Fails if a secret is in what arrived; else returns how much did.
fn nothing_stolen(attacker: &Recorder, how: &str) -> Result<usize, String> {
    let arrived = attacker.take();
    match arrived.iter().find(|one| one.contains(SECRET)) {
        Some(_) => Err(format!("{how}: the secret arrived")),
        None => Ok(arrived.len()),
    }
}

async fn directory(env: &Environment) -> Verdict {
    let (attacker, agent) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let own = format!("A2ACLI_AGENT_CARD={}\n", agent.url);
    let hostile = format!("A2ACLI_AGENT_CARD={}\n", attacker.url);
    let endpoint = format!("A2ACLI_ENDPOINT={}\nA2ACLI_TRANSPORT=jsonrpc\n", attacker.url);
    let commands = [
        &["send", "hi"][..],
        &["task", "list"],
        &["task", "get", "t"],
        &["card", "get"],
        &["chat"],
        &["conformance"],
        &["bench", "--requests", "3", "--warmup", "0"],
        &["auth", "login", "--client-id", "c", "--flow", "client-credentials"],
    ];
    let mut refused = 0;
    for text in [&hostile, &endpoint] {
        user.write("project/.env", text, 0o600)?;
        for (global, variables) in [
            ("", &[TOKEN, ("A2ACLI_CLIENT_SECRET", SECRET)][..]),
            (&*format!("A2ACLI_BEARER={SECRET}\nA2ACLI_CLIENT_SECRET={SECRET}\n"), &[]),
        ] {
            user.write("config/a2a-cli/.env", global, 0o600)?;
            for command in commands {
                let (code, _) = user.run("project/below", command, variables).await?;
                nothing_stolen(&attacker, &format!("{text:?} {command:?}"))?;
                refused += usize::from(code != Some(0));
            }
        }
    }
    // The user's own agent, with weaker protection: nothing is sent at all.
    user.write("config/a2a-cli/.env", &own, 0o600)?;
    for weak in
        ["INSECURE=1", "CREDENTIAL_ORIGIN=http://evil.example", "CARD_AUTH=1", "GRPC_PLAINTEXT=1"]
    {
        user.write("project/.env", &format!("A2ACLI_{weak}\n"), 0o600)?;
        user.run("project/below", &["send", "hi"], &[TOKEN]).await?;
        nothing_stolen(&agent, weak)?;
        refused += 1;
    }
    user.write("project/.env", "", 0o600)?;
    let (code, text) = user.run("project/below", &["send", "hi"], &[TOKEN]).await?;
    let is_served = agent.take().iter().any(|one| one.contains(SECRET));
    match is_served && code == Some(0) {
        true => Ok(format!("{refused} commands refused; without the file the agent gets it")),
        false => Err(format!("does not call the user's own agent: {text}")),
    }
}

async fn shared(env: &Environment) -> Verdict {
    let attacker = Recorder::start().await;
    let user = User::new(env)?;
    let hostile = format!("A2ACLI_AGENT_CARD={}\nA2ACLI_BEARER={SECRET}\n", attacker.url);
    for mode in [0o620, 0o602, 0o666] {
        user.write("project/below/.env", &hostile, mode)?;
        let (_, text) = user.run("project/below", &["send", "hi"], &[]).await?;
        if !text.contains("is not read") || !attacker.take().is_empty() {
            return Err(format!("follows a file of mode {mode:o}: {text}"));
        }
    }
    // Outside of the home directory and of repositories.
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let below = folder.path().join("below");
    fs::create_dir(&below).map_err(|error| error.to_string())?;
    let above = folder.path().join(".env");
    fs::write(&above, &hostile).map_err(|error| error.to_string())?;
    fs::set_permissions(&above, fs::Permissions::from_mode(0o600)).map_err(|e| e.to_string())?;
    user.run(&below.to_string_lossy(), &["send", "hi"], &[]).await?;
    match attacker.take().len() {
        0 => Ok("4 files passed over".to_owned()),
        calls => Err(format!("follows a file above the working directory: {calls} calls")),
    }
}

async fn namesake(env: &Environment) -> Verdict {
    let (attacker, agent) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let address = agent.address();
    agent.catalog(&json!({"url": agent.url}));
    let (card, catalog) = (attacker.card(&attacker.url), format!("{address}/agents.json"));
    let named = format!("catalog+{catalog}#w");
    let files = user.home.path().join("project");
    fs::write(files.join("card.json"), card.to_string()).map_err(|error| error.to_string())?;
    let mut served = 0;
    for (file, content) in
        [(address, card.clone()), (&catalog, json!([{"name": "w", "card": card}]))]
    {
        // The catalog is in a folder that has the name of the first file.
        let _absent = fs::remove_file(files.join(address));
        let path = files.join(file);
        fs::create_dir_all(path.parent().unwrap_or(&files)).map_err(|error| error.to_string())?;
        fs::write(path, content.to_string()).map_err(|error| error.to_string())?;
        let reference = if file == address { address } else { &named };
        for command in [
            &["send", "hi"][..],
            &["task", "list"],
            &["card", "get"],
            &["conformance"],
            &["auth", "login", "--client-id", "c", "--flow", "client-credentials"],
        ] {
            let variables = [TOKEN, ("A2ACLI_CLIENT_SECRET", SECRET)];
            user.run("project", &[command, &["-a", reference]].concat(), &variables).await?;
            nothing_stolen(&attacker, &format!("{command:?} -a {reference}"))?;
            let by_variable = [TOKEN, variables[1], ("A2ACLI_AGENT_CARD", reference)];
            user.run("project", command, &by_variable).await?;
            nothing_stolen(&attacker, &format!("{command:?} with the variable {reference}"))?;
            served += agent.take().len();
        }
    }
    // A name that no host has is that of a file, but a variable means another one everywhere.
    let variables = [TOKEN, ("A2ACLI_AGENT_CARD", "card.json")];
    let (code, text) = user.run("project", &["send", "hi"], &variables).await?;
    nothing_stolen(&attacker, "card.json")?;
    match code == Some(2) && served > 0 {
        true => Ok(format!("the user's own agent got {served} requests")),
        false => Err(format!("{served} requests of the user's own agent, then {text}")),
    }
}

async fn catalog(env: &Environment) -> Verdict {
    let (attacker, registry) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let mut requests = 0;
    for entry in [json!({"url": attacker.url}), json!({"card": registry.card(&attacker.url)})] {
        for more in [&[][..], &["--card-auth"], &["--transport", "jsonrpc"]] {
            let (code, text) = user.send(&registry.catalog(&entry), more).await?;
            requests += nothing_stolen(&attacker, &format!("{entry} {more:?}"))?;
            if code == Some(0) {
                return Err(format!("was not refused: {text}"));
            }
        }
    }
    // A card that asks for the credential.
    let path = "/.well-known/agent-card.json";
    attacker.answer(path, 401, &[("www-authenticate", "Bearer".to_owned())], "");
    user.send(&registry.catalog(&json!({"url": attacker.url})), &[]).await?;
    requests += nothing_stolen(&attacker, "a challenge")?;
    Ok(format!("7 refused, {requests} requests without the secret"))
}

async fn card(env: &Environment) -> Verdict {
    let (attacker, agent) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let token = json!({
        "card": agent.url, "scheme": "login", "hosts": [agent.url], "flow": "client-credentials",
        "clientId": "c", "scopes": [], "tokenUrl": format!("{}/token", agent.url),
        "accessToken": SECRET,
    });
    let mut requests = 0;
    for (binding, url) in
        [("JSONRPC", &*attacker.url), ("HTTP+JSON", &attacker.url), ("GRPC", attacker.address())]
    {
        let mut card = agent.card(url);
        card["supportedInterfaces"][0]["protocolBinding"] = binding.into();
        agent.answer("/.well-known/agent-card.json", 200, &[], &card.to_string());
        for command in [&["send", "hi"][..], &["task", "get", "t"], &["conformance"]] {
            let arguments = [command, &["-a", &agent.url, "--timeout", "10s"]].concat();
            user.run("project", &arguments, &[TOKEN]).await?;
            requests += nothing_stolen(&attacker, &format!("{binding} {command:?}"))?;
            let stored = json!({"version": 1, "tokens": [token]}).to_string();
            user.write("config/a2a-cli/credentials.json", &stored, 0o600)?;
            user.run("project", &arguments, &[]).await?;
            requests += nothing_stolen(&attacker, &format!("{binding} {command:?} stored"))?;
            user.write(
                "config/a2a-cli/credentials.json",
                r#"{"version": 1, "tokens": []}"#,
                0o600,
            )?;
        }
    }
    Ok(format!("18 commands, {requests} requests without the secret"))
}

async fn year(env: &Environment) -> Verdict {
    let (attacker, agent) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let path = "/.well-known/agent-card.json";
    let forever = [("cache-control", "max-age=31536000".to_owned()), ("etag", "\"1\"".to_owned())];
    agent.answer(path, 200, &forever, &agent.card(&attacker.url).to_string());
    user.run("project", &["card", "get", "-a", &agent.url], &[]).await?;
    agent.serve_card_of(&agent.url);
    let (_, text) = user.run("project", &["send", "hi", "-a", &agent.url], &[]).await?;
    match attacker.take().len() {
        0 if !user.home.path().join("cache/a2a-cli/cards").exists() => {
            Ok("asked for again, and not stored".to_owned())
        }
        calls => Err(format!("{calls} calls by the old card: {text}")),
    }
}

async fn redirect(env: &Environment) -> Verdict {
    let (attacker, agent) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let path = "/.well-known/agent-card.json";
    for more in [&[][..], &["--card-auth"]] {
        agent.redirect(path, &attacker);
        user.send(&agent.url, more).await?;
        agent.redirect("/agents.json", &attacker);
        user.send(&format!("catalog+{}/agents.json#w", agent.url), more).await?;
        agent.serve_card_of(&format!("{}/rpc", agent.url));
        agent.redirect("/rpc", &attacker);
        user.send(&agent.url, more).await?;
    }
    agent.redirect("/token", &attacker);
    let login = ["auth", "login", "--client-id", "c", "--flow", "client-credentials"];
    let login = [&login[..], &["-a", &agent.url]].concat();
    user.run("project", &login, &[("A2ACLI_CLIENT_SECRET", SECRET)]).await?;
    let asked = agent.take().iter().filter(|one| one.contains(SECRET)).count();
    match (attacker.take().len(), asked) {
        (0, 0) => Err("the honest server was not called".to_owned()),
        (0, asked) => Ok(format!("{asked} redirects of requests with a secret, none followed")),
        (calls, _) => Err(format!("{calls} redirects were followed")),
    }
}

/// The card of an agent with an OAuth flow.
fn oauth(agent: &Recorder, flow: &Value) {
    let mut card = agent.card(&agent.url);
    card["securitySchemes"] = json!({"login": {"oauth2SecurityScheme": {"flows": flow}}});
    agent.answer("/.well-known/agent-card.json", 200, &[], &card.to_string());
}

fn code_flow(sign_in: &Recorder, token: &Recorder) -> Value {
    json!({"authorizationCode": {
        "authorizationUrl": format!("{}/authorize", sign_in.url),
        "tokenUrl": format!("{}/token", token.url), "scopes": {}, "pkceRequired": true,
    }})
}

/// Logs in. The page of a sign-in redirects the browser to the program, with a code and `more`.
async fn log_in(user: &User, agent: &Recorder, more: &str) -> Result<Ran, String> {
    let login = ["auth", "login", "--client-id", "c", "--no-browser", "--timeout", "5s"];
    let login = [&login[..], &["-a", &agent.url]].concat();
    let mut child = user.command("project", &login, &[]).spawn().map_err(|e| e.to_string())?;
    let mut lines = BufReader::new(child.stderr.take().ok_or("no stderr")?).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        if let Some(url) = line.strip_prefix("Open: ") {
            let page: Url = url.parse().map_err(|_error| format!("no URL: {line}"))?;
            if page.path() == "/authorize" {
                return_code(&page, more).await?;
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    let status = timeout(RUN, child.wait()).await.map_err(|_late| "the login hangs".to_owned())?;
    Ok((status.map_err(|error| error.to_string())?.code(), text))
}

/// Redirects the browser of the user to the program, with a code.
async fn return_code(page: &Url, more: &str) -> Result<(), String> {
    let parameter = |name: &str| {
        let mut pairs = page.query_pairs();
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let (to, state) = parameter("redirect_uri").zip(parameter("state")).ok_or("no redirect")?;
    let to: Url = to.parse().map_err(|_error| format!("no URL: {to}"))?;
    let address = to.socket_addrs(|| None).map_err(|error| error.to_string())?;
    let mut stream = TcpStream::connect(&address[..]).await.map_err(|error| error.to_string())?;
    let path = to.path();
    let request = format!(
        "GET {path}?state={state}&code={SECRET}{more} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let _read = stream.read_to_end(&mut Vec::new()).await;
    Ok(())
}

async fn mixed(env: &Environment) -> Verdict {
    let (attacker, honest) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    let mut refresh = code_flow(&honest, &honest);
    refresh["authorizationCode"]["refreshUrl"] = format!("{}/refresh", attacker.url).into();
    let device = json!({"deviceCode": {
        "deviceAuthorizationUrl": format!("{}/device", honest.url),
        "tokenUrl": format!("{}/token", attacker.url), "scopes": {},
    }});
    let code = json!({
        "device_code": SECRET, "user_code": "U", "expires_in": 60, "interval": 1,
        "verification_uri": format!("{}/page", honest.url),
    });
    honest.answer("/device", 200, &[], &code.to_string());
    for flow in [code_flow(&honest, &attacker), refresh, device] {
        oauth(&attacker, &flow);
        let (code, text) = log_in(&user, &attacker, "").await?;
        nothing_stolen(&attacker, &flow.to_string())?;
        if code != Some(4) || !text.contains(&honest.url) || !text.contains(&attacker.url) {
            return Err(format!("was not refused by name: {text}"));
        }
    }
    Ok("3 flows refused, both servers named".to_owned())
}

async fn issuer(env: &Environment) -> Verdict {
    let (attacker, honest) = (Recorder::start().await, Recorder::start().await);
    let user = User::new(env)?;
    oauth(&attacker, &code_flow(&attacker, &attacker));
    // The page of the attacker sends the user on to the honest server, which returns the code.
    let returned = format!("&iss={}", honest.url);
    for more in [returned.clone(), format!("&iss={}{returned}", attacker.url)] {
        log_in(&user, &attacker, &more).await?;
        nothing_stolen(&attacker, &more)?;
    }
    log_in(&user, &attacker, "").await?;
    match attacker.take().iter().any(|one| one.contains(SECRET)) {
        true => Ok("2 redirects rejected; its own is served".to_owned()),
        false => Err("no code reaches the server that issued it".to_owned()),
    }
}

async fn device(env: &Environment) -> Verdict {
    let attacker = Recorder::start().await;
    let user = User::new(env)?;
    oauth(
        &attacker,
        &json!({"deviceCode": {
            "deviceAuthorizationUrl": format!("{}/device", attacker.url),
            "tokenUrl": format!("{}/token", attacker.url), "scopes": {},
        }}),
    );
    let mut most = 0;
    for (interval, error) in
        [(0, "authorization_pending"), (0, "slow_down"), (u64::MAX, "slow_down")]
    {
        // The error contains the device code.
        let code = json!({
            "device_code": "d", "user_code": "U", "expires_in": u64::MAX, "interval": interval,
            "verification_uri": format!("{}/page", attacker.url),
        });
        attacker.answer("/device", 200, &[], &code.to_string());
        attacker.answer("/token", 400, &[], &json!({"error": error}).to_string());
        let start = Instant::now();
        let (code, text) = log_in(&user, &attacker, "").await?;
        let polls = attacker.take().iter().filter(|one| one.starts_with("POST /token")).count();
        most = most.max(polls);
        // A second each, within the timeout of 5 s.
        if polls > 5 {
            return Err(format!(
                "{polls} polls in {:?} with an interval of {interval}",
                start.elapsed()
            ));
        }
        if code != Some(5) {
            return Err(format!("{interval} {error}: ended with {code:?}: {text}"));
        }
    }
    Ok(format!("at most {most} polls in 5 s, and no panic"))
}
