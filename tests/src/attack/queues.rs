//! Made-up credentials of many addresses, which must not keep known callers and first logins out.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::v1::{HttpAuthSecurityScheme, SecurityScheme, security_scheme::Scheme};
use a2a_kit::{AgentCard, Agents, Engine, Server, agent_fn, operations::Caller};
use a2a_kit_auth::server::{BasicUsers, Guard, Introspection};
use axum::{Router, routing::post};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{Attack, Environment, Started, Verdict, attacks, environment::JSON, pipe};

const UNKNOWN_CLIENTS: u32 = 300;
/// Requests that are turned away before others are measured: the queues are full then.
const TURNED_AWAY: usize = 400;
const SOON: Duration = Duration::from_secs(15);
const WAIT: Duration = Duration::from_secs(20);
/// An Argon2 hash of `right`.
const HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$MKHAvKuKQp6b0u3bPXyD6Q$Ha+M58g/PNmtyOjGnKky2fie3kokFNol9sjQbQe3qFM";

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "made-up tokens", "300 unknown clients of many addresses, an issuer that takes 0.1 s" => tokens;
        "made-up tokens at several agents", "the same at agents of one port" => tokens_at_agents;
        "made-up passwords", "300 unknown clients of many addresses with passwords" => passwords;
        "made-up passwords at several agents", "the same at agents of one port" => passwords_at_agents;
    }
}

/// An introspection endpoint, whose tokens are all that don't begin with `unknown`.
async fn endpoint() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let answer = async |form: String| {
        sleep(Duration::from_millis(100)).await;
        let active = !form.contains("token=unknown");
        json!({"active": active, "client_id": "robot"}).to_string()
    };
    let router = Router::new().route("/introspect", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}/introspect"))
}

/// Sends a message as a client of an address behind the proxy, and returns the status.
async fn send(server: SocketAddr, client: u32, authorization: &str) -> Result<u16, String> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;
    let [_, b, c, d] = client.to_be_bytes();
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: {authorization}\r\n\
         x-forwarded-for: 10.{b}.{c}.{d}\r\n{JSON}content-length: {length}\r\n\r\n{body}"
    );
    let pipe = pipe::connect(server, None, b"http/1.1").await;
    let mut pipe = pipe.map_err(|error| error.to_string())?;
    let reply = pipe::exchange(&mut pipe, request.as_bytes(), WAIT).await;
    reply.status().ok_or_else(|| "no response".to_owned())
}

/// Sends requests of unknown clients in a loop, and measures a known caller and first logins.
async fn storm(
    server: SocketAddr,
    unknown_client: impl Fn(u32) -> String,
    known: &str,
    first: impl Fn(u32) -> String,
) -> Verdict {
    let is_served = async |client, authorization: &str, who: &str| {
        let started = Instant::now();
        match send(server, client, authorization).await? {
            429 | 401 | 403 | 503 => Err(format!("{who} is turned away")),
            _ if started.elapsed() > SOON => Err(format!("{who} waits {:?}", started.elapsed())),
            _ => Ok(started.elapsed()),
        }
    };
    is_served(u32::MAX, known, "a caller without unknown clients").await?;
    let (turned_away, arrived) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let mut unknown_clients = JoinSet::new();
    for number in 0..UNKNOWN_CLIENTS {
        let (counted, authorization) = (Arc::clone(&turned_away), unknown_client(number));
        let has_arrived = Arc::clone(&arrived);
        unknown_clients.spawn(async move {
            let mut is_first = true;
            loop {
                let answer = send(server, number, &authorization).await;
                if std::mem::take(&mut is_first) {
                    has_arrived.fetch_add(1, Ordering::SeqCst);
                }
                if answer == Ok(429) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    // The attack is on the queues, not on the processors that both ends share.
                    sleep(Duration::from_millis(100)).await;
                }
            }
        });
    }
    let started = Instant::now();
    // The first attempt of an unknown client precedes a login that has waited longer.
    let is_full = || {
        turned_away.load(Ordering::SeqCst) >= TURNED_AWAY
            && arrived.load(Ordering::SeqCst) == UNKNOWN_CLIENTS as usize
    };
    while !is_full() && started.elapsed() < WAIT {
        sleep(Duration::from_millis(10)).await;
    }
    let (mut longest, mut login) = (Duration::ZERO, Duration::ZERO);
    for number in 0..8 {
        longest = longest.max(is_served(u32::MAX, known, "a known caller").await?);
        let client = UNKNOWN_CLIENTS + number % 2;
        login = login.max(is_served(client, &first(number), "a first login").await?);
    }
    Ok(format!(
        "{} turned away, no known caller (at most {longest:.1?}) and no first login ({login:.1?})",
        turned_away.load(Ordering::SeqCst)
    ))
}

async fn storm_of_tokens(server: SocketAddr) -> Verdict {
    let unknown_client = |number| format!("Bearer unknown-{number}");
    storm(server, unknown_client, "Bearer known", |number| format!("Bearer new-{number}")).await
}

async fn storm_of_passwords(server: SocketAddr) -> Verdict {
    let basic = |pair: String| format!("Basic {}", STANDARD.encode(pair));
    let unknown_client = |number| basic(format!("ann:guess-{number}"));
    let known = basic("ann:right".to_owned());
    storm(server, unknown_client, &known, |number| basic(format!("user-{number}:right"))).await
}

async fn tokens(env: &Environment) -> Verdict {
    let url = endpoint().await?;
    let settings = format!(
        "[listen]\ntrusted_proxies = [\"127.0.0.1\"]\n[[auth.introspection]]\nissuer = \"https://i.test\"\n\
         url = {url:?}\nclient_id = \"a\"\nclient_secret = \"b\"\nlifetime = \"1s\"\n"
    );
    let server = Started::with_settings(env, &settings, &[]).await?;
    storm_of_tokens(server.env.address).await
}

async fn passwords(env: &Environment) -> Verdict {
    let mut settings = "[listen]\ntrusted_proxies = [\"127.0.0.1\"]\n".to_owned();
    for user in users() {
        settings.push_str(&format!("[[auth.basic]]\nuser = {user:?}\npassword_hash = {HASH:?}\n"));
    }
    let server = Started::with_settings(env, &settings, &[]).await?;
    storm_of_passwords(server.env.address).await
}

fn users() -> impl Iterator<Item = String> {
    ["ann".to_owned()].into_iter().chain((0..8).map(|number| format!("user-{number}")))
}

/// Two agents with the same guard on a port.
async fn agents(scheme: &str, guard: Guard) -> Result<SocketAddr, String> {
    let agent = || {
        let http = HttpAuthSecurityScheme { scheme: scheme.into(), ..Default::default() };
        let scheme = SecurityScheme { scheme: Some(Scheme::HttpAuthSecurityScheme(http)) };
        let card = AgentCard::new("Echo", "Repeats its input");
        let card = card.with_security_scheme("scheme", scheme).requiring("scheme");
        let engine = Engine::new(card, agent_fn(async |text: String| text));
        Server::from(engine).with_auth(guard.clone())
    };
    let agents = Agents::new().at("/", agent()).tenant("other", agent());
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tokio::spawn(async move { agents.serve(listener, std::future::pending()).await });
    Ok(address)
}

fn behind_proxy() -> Result<Guard, String> {
    let proxy = "127.0.0.1".parse().map_err(|error| format!("{error}"))?;
    Ok(Guard::new().with_trusted_proxy(proxy))
}

async fn tokens_at_agents(_: &Environment) -> Verdict {
    let introspection = Introspection::new("https://i.test", &endpoint().await?, "a", "b");
    let introspection = introspection.map_err(|error| error.to_string())?;
    let introspection = introspection.with_lifetime(Duration::from_secs(1));
    let guard = behind_proxy()?.with_verifier("scheme", introspection);
    storm_of_tokens(agents("Bearer", guard).await?).await
}

async fn passwords_at_agents(_: &Environment) -> Verdict {
    let mut known = BasicUsers::new();
    for user in users() {
        let caller = Caller::authenticated(user.clone());
        known = known.with_user(user, HASH, caller).map_err(|error| error.to_string())?;
    }
    let guard = behind_proxy()?.with_verifier("scheme", known);
    storm_of_passwords(agents("basic", guard).await?).await
}
