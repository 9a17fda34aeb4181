//! Keys of issuers, and credentials outside of the usual layer.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    Attack, Environment, Issuer, Process, Started, Verdict, attacks,
    environment::{JSON, at_once, bearer, waiting},
    issuer::now,
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "slow issuer", "an unknown key id, while the issuer does not respond" => slow_issuer;
        "hidden rotation", "a flood of unknown key ids while the issuer rotates its key" => rotation;
        "expired key", "a token of a key that has expired" => expired_key;
        "key no. 150", "a token of the last of 150 keys" => many_keys;
        "guesses and signed tokens", "30 guessed tokens, then fresh signed ones" => guesses;
        "tenants named grpc.", "valid and invalid credentials for tenants that begin with grpc." => tenants;
        "key in an A2A header", "an API key in A2A-Key, through a gateway" => forwarded_key;
        "guessed card token", "60 guesses of the token of the extended card, and two in one request" => card_token;
    }
}

/// Timeout of expected events.
const SOON: Duration = Duration::from_secs(20);
/// Maximum delay of a rotation: the interval for unknown ids, with a margin for a busy machine.
const ROTATION: Duration = Duration::from_secs(10);

/// Responds with the same document, if permitted, and records requests.
struct Publisher {
    address: SocketAddr,
    document: Arc<Mutex<String>>,
    heard: Arc<Mutex<Vec<u8>>>,
    asked: Arc<AtomicUsize>,
    /// A response takes one permit; there are enough until they are removed.
    gate: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Publisher {
    async fn start(document: impl FnOnce(SocketAddr) -> Value) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let document = Arc::new(Mutex::new(document(address).to_string()));
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let asked = Arc::<AtomicUsize>::default();
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS >> 1));
        let shared =
            (Arc::clone(&document), Arc::clone(&heard), Arc::clone(&asked), Arc::clone(&gate));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (document, heard, asked, gate) = shared.clone();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 64 << 10];
                    // A head and its body may arrive separately.
                    while let Ok(Ok(length @ 1..)) =
                        timeout(Duration::from_millis(50), stream.read(&mut buffer)).await
                    {
                        heard
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend(&buffer[..length]);
                    }
                    asked.fetch_add(1, Ordering::SeqCst);
                    let Ok(permit) = gate.acquire().await else { return };
                    permit.forget();
                    let body = document.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                    );
                    let _written = stream.write_all(answer.as_bytes()).await;
                    let _closed = stream.shutdown().await;
                });
            }
        });
        Ok(Self { address, document, heard, asked, gate, task })
    }

    async fn of_keys(keys: &[Value]) -> Result<Self, String> {
        let document = json!({ "keys": keys });
        Self::start(|_| document).await
    }

    fn publish(&self, keys: &[Value]) {
        let document = json!({ "keys": keys }).to_string();
        *self.document.lock().unwrap_or_else(PoisonError::into_inner) = document;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The settings of a server that trusts this issuer.
    fn settings(&self) -> String {
        let (issuer, audience, address) = (Issuer::NAME, Issuer::AUDIENCE, self.address);
        format!(
            "[[auth.jwt]]\nissuer = {issuer:?}\naudiences = [{audience:?}]\njwks_url = \"http://{address}/\"\n"
        )
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A token signed by an issuer's key, with a key id.
fn token(issuer: &Issuer, id: &str) -> String {
    issuer.signed(&json!({"alg": "ES256", "typ": "JWT", "kid": id}), &Issuer::claims("ann"))
}

fn named(issuer: &Issuer, id: &str) -> Value {
    let mut key = issuer.jwk();
    key["kid"] = json!(id);
    key
}

/// The status of a send.
async fn send(server: &Environment, token: &str) -> Result<u16, String> {
    Ok(server.call(token, "SendMessage", waiting("echo hello")).await?.0)
}

async fn lets_in(server: &Environment, token: &str) -> Result<(), String> {
    match send(server, token).await? {
        200 => Ok(()),
        status => Err(format!("an authorized caller got {status}")),
    }
}

async fn slow_issuer(env: &Environment) -> Verdict {
    let issuer = Issuer::default();
    let publisher = Publisher::of_keys(&[issuer.jwk()]).await?;
    let server = Started::with_settings(env, &publisher.settings(), &[]).await?;
    let (server, good) = (&server.env, issuer.token("ann"));
    lets_in(server, &good).await?;
    publisher.gate.forget_permits(usize::MAX);
    let fetched = publisher.asked();
    let made_up = token(&issuer, "made up");
    let stranger = send(server, &made_up);
    tokio::pin!(stranger);
    let callers = async {
        let end = Instant::now() + SOON;
        while publisher.asked() == fetched {
            if Instant::now() > end {
                return Err("the issuer was not queried for an unknown key".to_owned());
            }
            sleep(Duration::from_millis(10)).await;
        }
        let started = Instant::now();
        for _ in 0..10 {
            lets_in(server, &good).await?;
        }
        Ok(started.elapsed())
    };
    tokio::select! {
        status = &mut stranger => Err(format!("the unknown key was rejected first: {status:?}")),
        took = timeout(SOON, callers) => match took {
            Ok(took) => Ok(format!("10 known callers were served in {:.0?} meanwhile", took?)),
            Err(_) => Err("known callers waited for the issuer".to_owned()),
        },
    }
}

async fn rotation(env: &Environment) -> Verdict {
    let (old, new) = (Issuer::default(), Issuer::default());
    let publisher = Publisher::of_keys(&[named(&old, "old")]).await?;
    let server = Started::with_settings(env, &publisher.settings(), &[]).await?;
    let server = &server.env;
    lets_in(server, &token(&old, "old")).await?;
    let mut sent = 0;
    // The issuer was just queried for the unknown key when it rotates its key.
    send(server, &token(&old, "first")).await?;
    publisher.publish(&[named(&old, "old"), named(&new, "new")]);
    let (started, rotated) = (Instant::now(), token(&new, "new"));
    loop {
        match send(server, &rotated).await? {
            200 => break,
            401 | 503 if started.elapsed() < ROTATION => {}
            status => {
                return Err(format!("the new key gets {status} after {:.1?}", started.elapsed()));
            }
        }
        for _ in 0..5 {
            sent += 1;
            send(server, &token(&old, &format!("made up {sent}"))).await?;
        }
        lets_in(server, &token(&old, "old")).await?;
    }
    let (took, asked) = (started.elapsed(), publisher.asked());
    match asked {
        0..=5 => Ok(format!(
            "found the new key after {took:.1?} and {sent} made-up ids; asked {asked} times"
        )),
        _ => Err(format!("queried the issuer {asked} times in {took:.1?}")),
    }
}

async fn expired_key(env: &Environment) -> Verdict {
    let issuer = Issuer::default();
    let (mut expired, mut future) = (named(&issuer, "expired"), named(&issuer, "future"));
    expired["exp"] = json!(now() - 3_600);
    future["nbf"] = json!(now() + 3_600);
    let publisher = Publisher::of_keys(&[expired, future, named(&issuer, "good")]).await?;
    let server = Started::with_settings(env, &publisher.settings(), &[]).await?;
    lets_in(&server.env, &token(&issuer, "good")).await?;
    for id in ["expired", "future"] {
        match send(&server.env, &token(&issuer, id)).await? {
            401 => {}
            status => return Err(format!("the {id} key gets {status}")),
        }
    }
    Ok("401 for the expired key and for the future one".to_owned())
}

async fn many_keys(env: &Environment) -> Verdict {
    let issuer = Issuer::default();
    let keys: Vec<_> = (1..=150).map(|number| named(&issuer, &number.to_string())).collect();
    let publisher = Publisher::of_keys(&keys).await?;
    let server = Started::with_settings(env, &publisher.settings(), &[]).await?;
    for id in ["1", "101", "150"] {
        lets_in(&server.env, &token(&issuer, id)).await?;
    }
    match send(&server.env, &token(&issuer, "151")).await? {
        401 | 503 => Ok("keys no. 1, 101 and 150 are known, no. 151 is not".to_owned()),
        status => Err(format!("an unpublished key gets {status}")),
    }
}

async fn guesses(env: &Environment) -> Verdict {
    let issuer = Issuer::default();
    let publisher = Publisher::of_keys(&[issuer.jwk()]).await?;
    let settings = format!(
        "{}[[auth.bearer]]\ncaller = \"bob\"\ntoken = \"token-of-bob\"\n",
        publisher.settings()
    );
    let server = Started::with_settings(env, &settings, &[]).await?;
    let server = &server.env;
    let mut rejected = 0;
    for number in 0..30 {
        match send(server, &format!("guess-{number}")).await? {
            401 => {}
            429 => rejected += 1,
            status => return Err(format!("a guess gets {status}")),
        }
    }
    for name in ["ann", "cy", "dan"] {
        lets_in(server, &issuer.token(name)).await?;
    }
    match (rejected, send(server, "token-of-bob").await?) {
        (1.., 429) => Ok(format!("429 for {rejected} of 30 guesses, fresh signed tokens served")),
        (_, status) => Err(format!("429 for {rejected} of 30 guesses, {status} for the right one")),
    }
}

async fn tenants(env: &Environment) -> Verdict {
    let settings = "[auth]\nanonymous = true\n\
        [[auth.bearer]]\ncaller = \"ann\"\ntoken = \"token-of-ann\"\n";
    let server = Started::with_settings(env, settings, &[]).await?;
    let server = &server.env;
    let body = at_once("echo hello").to_string();
    for tenant in ["grpc.acme", "grpc.health.v1", "grpc.health.v1.Healthy"] {
        let post = format!("POST /{tenant}/message:send");
        let good = bearer("token-of-ann");
        let reply = server.request(&post, &format!("{good}{JSON}"), body.as_bytes()).await?;
        let text = reply.text();
        let answer = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let Some(id) = answer["task"]["id"].as_str() else {
            return Err(format!("{tenant}: no task with good credentials: {}", reply.summary()));
        };
        let get = format!("GET /{tenant}/tasks/{id}");
        for (line, credentials, body, expected) in [
            (&get, good.clone(), "", 200),
            (&get, String::new(), "", 404),
            (&get, bearer("wrong"), "", 401),
            (&post, bearer("wrong"), &*body, 401),
        ] {
            let headers = format!("{credentials}{JSON}");
            let reply = server.request(line, &headers, body.as_bytes()).await?;
            if reply.status() != Some(expected) {
                return Err(format!("{line} gets {} instead of {expected}", reply.summary()));
            }
        }
        let params = json!({"tenant": tenant, "id": id});
        let (status, answer) = server.call("token-of-ann", "GetTask", params).await?;
        if answer["result"]["id"] != id {
            return Err(format!(
                "{tenant}: JSON-RPC does not find the task: HTTP {status} {answer}"
            ));
        }
    }
    Ok("tasks of three such tenants belong to their caller; wrong credentials get 401".to_owned())
}

async fn forwarded_key(env: &Environment) -> Verdict {
    const KEY: &str = "key-of-ann-that-nobody-else-may-see";
    let upstream = Publisher::start(|address| {
        json!({
            "name": "Upstream", "description": "Answers with its card", "version": "1",
            "supportedInterfaces": [{
                "url": format!("http://{address}/"), "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }],
            "capabilities": {}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["t"]}],
        })
    })
    .await?;
    let to = format!("http://{}/", upstream.address);
    let arguments = ["--proxy", &to, "--api-key-name", "A2A-Key", "--require-api-key", KEY];
    let mut server = Started::with_arguments(env, &arguments).await?;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("hello"),
    });
    let headers = format!("A2A-Key: {KEY}\r\nA2A-Budget: seven\r\n{JSON}");
    let reply = server.env.request("POST /", &headers, body.to_string().as_bytes()).await?;
    let heard = upstream.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let heard = String::from_utf8_lossy(&heard).into_owned();
    if !heard.contains("seven") {
        return Err(format!("forwarded nothing: {}; upstream got {heard}", reply.summary()));
    }
    server.stop().await?;
    let logged = server.env.process.as_ref().map(Process::logged).unwrap_or_default();
    match heard.contains(KEY) || logged.contains(KEY) {
        true => Err("forwarded the key".to_owned()),
        false => Ok("the upstream gets the other parameter, but not the key".to_owned()),
    }
}

async fn card_token(env: &Environment) -> Verdict {
    const TOKEN: &str = "token-of-the-extended-card";
    let settings = format!("[auth]\nextended_card_token = \"{TOKEN}\"\n");
    let server = Started::with_settings(env, &settings, &[]).await?;
    let server = &server.env;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}});
    let body = body.to_string();
    for (first, second) in [(TOKEN, "wrong"), ("wrong", TOKEN), (TOKEN, TOKEN)] {
        let headers = format!("{}{}{JSON}", bearer(first), bearer(second));
        let reply = server.request("POST /", &headers, body.as_bytes()).await?;
        if !matches!(reply.status(), Some(400 | 401)) {
            return Err(format!("two Authorization lines get {}", reply.summary()));
        }
    }
    let (status, _) = server.call(TOKEN, "GetExtendedAgentCard", json!({})).await?;
    if status != 200 {
        return Err(format!("the right token gets {status}"));
    }
    let mut rejected = 0;
    for number in 0..60 {
        let guess = format!("guess-{number}");
        match server.call(&guess, "GetExtendedAgentCard", json!({})).await?.0 {
            401 => {}
            429 => rejected += 1,
            status => return Err(format!("a guess gets {status}")),
        }
    }
    let (known, _) = server.call(TOKEN, "GetExtendedAgentCard", json!({})).await?;
    // Messages need no authentication.
    let open = send(server, "guess").await?;
    match (rejected, known, open) {
        (40.., 200, 200) => Ok(format!("429 for {rejected} of 60 guesses")),
        _ => Err(format!(
            "429 for {rejected} of 60 guesses, {known} for a known caller, {open} for a message"
        )),
    }
}
