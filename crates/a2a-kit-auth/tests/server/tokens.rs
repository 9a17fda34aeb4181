//! JWTs, with keys that are fetched and rotated.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use a2a_kit::{AgentCard, ErrorKind, operations::Caller};
use a2a_kit_auth::{
    jose::{Algorithm, JwkSet, RemoteKeys, SigningKey},
    server::{ApiKeys, BearerTokens, Guard, JwtVerifier, Throttle},
};
use axum::{Router, routing::get};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixture::{WAYS, api_key, card, client, http_scheme, requirement, start};

/// Signs tokens, and publishes its keys at `/jwks`.
struct Issuer {
    address: SocketAddr,
    keys: Arc<Mutex<JwkSet>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    async fn start() -> Self {
        let keys = Arc::<Mutex<JwkSet>>::default();
        let asked = Arc::<AtomicUsize>::default();
        let (shown, counted) = (Arc::clone(&keys), Arc::clone(&asked));
        let jwks = move || async move {
            counted.fetch_add(1, Ordering::SeqCst);
            shown.lock().unwrap().json()
        };
        let router = Router::new().route("/jwks", get(jwks));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, keys, asked }
    }

    fn show(&self, keys: &[&SigningKey]) {
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.public().clone()).collect();
    }

    fn keys(&self) -> RemoteKeys {
        RemoteKeys::at(format!("http://{}/jwks", self.address)).unwrap()
    }
}

fn in_seconds(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + seconds
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example",
        "aud": "https://agent.example",
        "sub": "ann",
        "exp": in_seconds(300),
        "scope": "read write",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn bearer(key: &SigningKey, claims: &Value) -> String {
    format!("Bearer {}", key.token(claims.to_string().as_bytes()).unwrap())
}

fn jwt_card() -> AgentCard {
    card(&[("jwt", http_scheme("bearer"))], &[requirement(&[("jwt", &["read"])])])
}

fn guard(keys: RemoteKeys) -> Guard {
    let jwt = JwtVerifier::new("https://issuer.example", "https://agent.example", keys);
    Guard::new().with_verifier("jwt", jwt.with_leeway(Duration::ZERO))
}

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap()
}

//
#[tokio::test]
async fn jwts_are_verified_on_every_binding() {
    let issuer = Issuer::start().await;
    let (es256, eddsa, other) = (key(), SigningKey::generate(Algorithm::EdDsa).unwrap(), key());
    let rs256 = SigningKey::from_pem(include_str!("../../src/jose/rfc7515_a2.pem")).unwrap();
    issuer.show(&[&es256, &eddsa, &rs256]);
    let address = start(jwt_card(), guard(issuer.keys())).await;
    for way in WAYS {
        for key in [&es256, &eddsa, &rs256] {
            let client = client(address, way, &[("authorization", &bearer(key, &claims()))]).await;
            let answer = client.send_text("hi").await.unwrap();
            assert_eq!(answer, "https://issuer.example#ann read write", "{way:?}");
        }
        for (token, kind) in [
            (bearer(&es256, &with("exp", json!(in_seconds(-1)))), ErrorKind::Unauthenticated),
            (bearer(&es256, &with("scope", json!("write"))), ErrorKind::PermissionDenied),
        ] {
            let client = client(address, way, &[("authorization", &token)]).await;
            assert_eq!(client.send_text("hi").await.unwrap_err().kind(), kind, "{way:?}");
        }
    }
    for wrong in [
        bearer(&es256, &with("aud", json!("https://other.example"))),
        bearer(&es256, &with("iss", json!("https://other.example"))),
        bearer(&es256, &with("nbf", json!(in_seconds(60)))),
        "Bearer eyJhbGciOiJub25lIn0.e30.".to_owned(),
    ] {
        let client = client(address, WAYS[0], &[("authorization", &wrong)]).await;
        let error = client.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated);
        assert_eq!(error.message(), "invalid credentials");
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 1, "the keys are cached");
    // An unknown key causes one fetch within the interval.
    for _ in 0..5 {
        let token = bearer(&other, &claims());
        let client = client(address, WAYS[0], &[("authorization", &token)]).await;
        client.send_text("hi").await.unwrap_err();
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 2, "no further fetch within the interval");
}

#[tokio::test]
async fn rotated_keys_are_fetched_at_runtime() {
    let issuer = Issuer::start().await;
    let (old, new) = (key(), key());
    issuer.show(&[&old]);
    let pause = Duration::ZERO;
    let keys = issuer.keys().with_retry_interval(pause).with_unknown_key_interval(pause);
    let address = start(jwt_card(), guard(keys)).await;
    let before = client(address, WAYS[0], &[("authorization", &bearer(&old, &claims()))]).await;
    before.send_text("hi").await.unwrap();
    issuer.show(&[&new]);
    let after = client(address, WAYS[0], &[("authorization", &bearer(&new, &claims()))]).await;
    after.send_text("hi").await.unwrap();
    let error = before.send_text("hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "the old key is removed");
}

#[tokio::test]
async fn jwts_are_verified_while_guesses_are_throttled() {
    let issuer = Issuer::start().await;
    let key = key();
    issuer.show(&[&key]);
    let card = card(
        &[("jwt", http_scheme("bearer")), ("key", api_key("header", "x-key"))],
        &[requirement(&[("jwt", &[])]), requirement(&[("key", &[])])],
    );
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
    let pause = Duration::from_secs(600);
    let guard = guard(issuer.keys())
        .with_verifier("key", keys)
        .with_throttle(Throttle::default().with_failures_allowed(0).with_backoff(pause, pause));
    let address = start(card, guard).await;
    let ask = async |header: &'static str, value: &str| {
        let client = client(address, WAYS[0], &[(header, value)]).await;
        client.send_text("hi").await.map_err(|error| error.kind())
    };
    assert_eq!(ask("x-key", "guess").await.unwrap_err(), ErrorKind::Unauthenticated);
    assert_eq!(ask("x-key", "secret").await.unwrap_err(), ErrorKind::ResourceExhausted);
    let good = bearer(&key, &claims());
    assert_eq!(ask("authorization", &good).await.unwrap(), "https://issuer.example#ann read write");
    let (signed, _) = good.rsplit_once('.').unwrap();
    let forged = format!("{signed}.AAAA");
    assert_eq!(ask("authorization", &forged).await.unwrap_err(), ErrorKind::ResourceExhausted);
}

#[tokio::test]
async fn throttled_static_tokens_do_not_lock_out_jwts() {
    let issuer = Issuer::start().await;
    let key = key();
    issuer.show(&[&key]);
    let card = card(
        &[("jwt", http_scheme("bearer")), ("static", http_scheme("bearer"))],
        &[requirement(&[("jwt", &[])]), requirement(&[("static", &[])])],
    );
    let pause = Duration::from_secs(600);
    let tokens = BearerTokens::new().with_token("secret", Caller::authenticated("bob"));
    let guard = guard(issuer.keys())
        .with_verifier("static", tokens)
        .with_throttle(Throttle::default().with_failures_allowed(0).with_backoff(pause, pause));
    let address = start(card, guard).await;
    for way in WAYS {
        let ask = async |token: &str| {
            let client = client(address, way, &[("authorization", token)]).await;
            client.send_text("hi").await.map_err(|error| error.kind())
        };
        let guess = ask("Bearer guess").await.unwrap_err();
        assert!(matches!(guess, ErrorKind::Unauthenticated | ErrorKind::ResourceExhausted));
        // Verifying the correct one would answer a guess.
        assert_eq!(
            ask("Bearer secret").await.unwrap_err(),
            ErrorKind::ResourceExhausted,
            "{way:?}"
        );
        let fresh = bearer(&key, &with("jti", json!(format!("{way:?}"))));
        assert_eq!(ask(&fresh).await.unwrap(), "https://issuer.example#ann read write", "{way:?}");
        let (signed, _) = fresh.rsplit_once('.').unwrap();
        let forged = ask(&format!("{signed}.AAAA")).await.unwrap_err();
        assert_eq!(forged, ErrorKind::ResourceExhausted, "{way:?}");
    }
}

#[tokio::test]
async fn executor_reads_the_selected_claims_on_every_binding() {
    let issuer = Issuer::start().await;
    let key = key();
    issuer.show(&[&key]);
    let jwt = JwtVerifier::new("https://issuer.example", "https://agent.example", issuer.keys())
        .with_claims(["email", "act"]);
    let address = start(jwt_card(), Guard::new().with_verifier("jwt", jwt)).await;
    let mut claims = with("act", json!({"sub": "robot"}));
    claims["email"] = json!("ann@example.com");
    for way in WAYS {
        let client = client(address, way, &[("authorization", &bearer(&key, &claims))]).await;
        let seen: Value = serde_json::from_str(&client.send_text("claims").await.unwrap()).unwrap();
        let expected = json!({"act": {"sub": "robot"}, "email": "ann@example.com"});
        assert_eq!(seen, expected, "{way:?}");
    }
}

//
#[tokio::test]
async fn unreachable_issuer_is_unavailable_not_unauthenticated() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let keys = RemoteKeys::at(format!("http://{nobody}/jwks")).unwrap();
    let address = start(jwt_card(), guard(keys)).await;
    for way in WAYS {
        let client = client(address, way, &[("authorization", &bearer(&key(), &claims()))]).await;
        let error = client.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{way:?}: {error}");
    }
}

#[tokio::test]
async fn stream_ends_when_the_token_expires() {
    let issuer = Issuer::start().await;
    let key = key();
    issuer.show(&[&key]);
    let address = start(jwt_card(), guard(issuer.keys())).await;
    for way in WAYS {
        let token = bearer(&key, &with("exp", json!(in_seconds(3))));
        let client = client(address, way, &[("authorization", &token)]).await;
        let mut events = client.stream("wait").await.unwrap();
        let first = events.next().await.unwrap().unwrap();
        let mut others = client.subscribe(first.task().unwrap().id.clone()).await.unwrap();
        for stream in [&mut events, &mut others] {
            let end = async {
                loop {
                    if let Err(error) = stream.next().await.expect("it was cut") {
                        return error;
                    }
                }
            };
            let error = tokio::time::timeout(Duration::from_secs(30), end).await.unwrap();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{way:?}: {error}");
        }
    }
}
