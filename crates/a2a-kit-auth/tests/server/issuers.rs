//! OpenID Connect discovery and token introspection.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use a2a_core::v1::{
    ClientCredentialsOAuthFlow, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
    o_auth_flows::Flow, security_scheme::Scheme,
};
use a2a_kit::{AgentCard, ErrorKind};
use a2a_kit_auth::{
    SetupError,
    jose::{Algorithm, JwkSet, SigningKey},
    server::{Guard, GuardError, Introspection, JwtVerifier},
};
use axum::{
    Router,
    extract::Request,
    routing::{get, post},
};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixture::{WAYS, card, client, requirement, start};

async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn run(listener: TcpListener, router: Router) {
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
}

fn in_seconds(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + seconds
}

fn oidc_card(url: &str) -> AgentCard {
    let scheme = OpenIdConnectSecurityScheme {
        open_id_connect_url: url.into(),
        ..OpenIdConnectSecurityScheme::default()
    };
    let scheme = Scheme::OpenIdConnectSecurityScheme(scheme);
    card(&[("oidc", scheme)], &[requirement(&[("oidc", &["read"])])])
}

fn token(key: &SigningKey, issuer: &str) -> String {
    let claims = json!({
        "iss": issuer, "aud": "agent", "sub": "ann", "exp": in_seconds(300), "scp": ["read"],
    });
    format!("Bearer {}", key.token(claims.to_string().as_bytes()).unwrap())
}

// covers: R-310
#[tokio::test]
async fn issuer_is_discovered() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let (listener, address) = bind().await;
    let issuer = format!("http://{address}/realm");
    let url = format!("{issuer}/.well-known/openid-configuration");
    let described = json!({ "issuer": issuer, "jwks_uri": format!("http://{address}/jwks") });
    let keys: JwkSet = [key.public().clone()].into_iter().collect();
    let router = Router::new()
        .route(
            "/realm/.well-known/openid-configuration",
            get(move || async move { described.to_string() }),
        )
        .route("/jwks", get(move || async move { keys.json() }));
    run(listener, router);
    let guard =
        || Guard::new().with_verifier("oidc", JwtVerifier::discovered(&url, "agent").unwrap());
    let agent = start(oidc_card(&url), guard()).await;
    for way in WAYS {
        let known = client(agent, way, &[("authorization", &token(&key, &issuer))]).await;
        assert_eq!(known.send_text("hi").await.unwrap(), format!("{issuer}#ann read"), "{way:?}");
        let other = client(agent, way, &[("authorization", &token(&key, "http://other"))]).await;
        let error = other.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{way:?}");
    }
    let other = guard().enforce(&oidc_card("https://other/.well-known/openid-configuration"));
    assert_eq!(other.unwrap_err(), GuardError::SchemeMismatch("oidc".into()));
}

#[tokio::test]
async fn discovery_of_another_issuer_or_with_plaintext_keys_is_rejected() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    for (issuer, jwks) in
        [("", "http://127.0.0.1:1/jwks"), ("/", ""), ("", "http://keys.example/jwks")]
    {
        let (listener, address) = bind().await;
        let name = format!("http://{address}");
        let jwks = if jwks.is_empty() { format!("{name}/jwks") } else { jwks.to_owned() };
        let described = json!({ "issuer": format!("{name}{issuer}"), "jwks_uri": jwks });
        let keys: JwkSet = [key.public().clone()].into_iter().collect();
        let router = Router::new()
            .route(
                "/.well-known/openid-configuration",
                get(move || async move { described.to_string() }),
            )
            .route("/jwks", get(move || async move { keys.json() }));
        run(listener, router);
        let url = format!("{name}/.well-known/openid-configuration");
        let guard =
            Guard::new().with_verifier("oidc", JwtVerifier::discovered(&url, "agent").unwrap());
        let agent = start(oidc_card(&url), guard).await;
        let caller = client(agent, WAYS[0], &[("authorization", &token(&key, &name))]).await;
        let error = caller.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{issuer} {jwks}");
    }
    for url in ["http://issuer.example/.well-known/openid-configuration", "nonsense"] {
        assert!(
            matches!(JwtVerifier::discovered(url, "agent"), Err(SetupError::Insecure(_))),
            "{url}"
        );
    }
}

fn oauth_card(issuer: SocketAddr) -> AgentCard {
    let flows = OAuthFlows {
        flow: Some(Flow::ClientCredentials(ClientCredentialsOAuthFlow {
            token_url: format!("http://{issuer}/token"),
            ..ClientCredentialsOAuthFlow::default()
        })),
    };
    let scheme = OAuth2SecurityScheme { flows: Some(flows), ..OAuth2SecurityScheme::default() };
    card(
        &[("oauth", Scheme::Oauth2SecurityScheme(scheme))],
        &[requirement(&[("oauth", &["read"])])],
    )
}

// covers: R-425
#[tokio::test]
async fn revoked_token_is_rejected_once_the_cache_expires() {
    let (listener, address) = bind().await;
    let is_active = Arc::new(AtomicBool::new(true));
    let shown = Arc::clone(&is_active);
    let answer = move || async move {
        let active = shown.load(Ordering::SeqCst);
        json!({ "active": active, "client_id": "robot", "scope": "read" }).to_string()
    };
    run(listener, Router::new().route("/introspect", post(answer)));
    let url = format!("http://{address}/introspect");
    let introspection = Introspection::new("https://issuer", &url, "a", "b").unwrap();
    let guard = Guard::new()
        .with_verifier("oauth", introspection.with_lifetime(Duration::from_millis(100)));
    let agent = start(oauth_card(address), guard).await;
    let client = client(agent, WAYS[0], &[("authorization", "Bearer opaque")]).await;
    assert_eq!(client.send_text("hi").await.unwrap(), "https://issuer#robot read");
    is_active.store(false, Ordering::SeqCst);
    let until = SystemTime::now() + Duration::from_secs(20);
    let error = loop {
        match client.send_text("hi").await {
            Ok(_) => assert!(SystemTime::now() < until, "the revoked token is still accepted"),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
}

// covers: R-425
#[tokio::test]
async fn stream_ends_when_its_token_is_revoked_but_not_during_an_outage() {
    let (listener, address) = bind().await;
    let (answers, asked) = (Arc::new(AtomicUsize::new(ACTIVE)), Arc::<AtomicUsize>::default());
    let (shown, counted) = (Arc::clone(&answers), Arc::clone(&asked));
    let answer = move || async move {
        counted.fetch_add(1, Ordering::SeqCst);
        let says = |active| json!({ "active": active, "client_id": "robot", "scope": "read" });
        match shown.load(Ordering::SeqCst) {
            ACTIVE => (StatusCode::OK, says(true).to_string()),
            REVOKED => (StatusCode::OK, says(false).to_string()),
            _ => (StatusCode::BAD_GATEWAY, String::new()),
        }
    };
    run(listener, Router::new().route("/introspect", post(answer)));
    let url = format!("http://{address}/introspect");
    let introspection = Introspection::new("https://issuer", &url, "a", "b").unwrap();
    let guard = Guard::new()
        .with_verifier("oauth", introspection.with_lifetime(Duration::from_millis(200)));
    let agent = start(oauth_card(address), guard).await;
    for way in WAYS {
        answers.store(ACTIVE, Ordering::SeqCst);
        // The revocation of a token is cached.
        let token = format!("Bearer {:?}.{:?}", way.0, way.1);
        let client = client(agent, way, &[("authorization", &token)]).await;
        let mut events = client.stream("wait").await.unwrap();
        events.next().await.unwrap().unwrap();

        let more = async |count: usize| {
            let until = asked.load(Ordering::SeqCst) + count;
            while asked.load(Ordering::SeqCst) < until {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ended = async {
            loop {
                match events.next().await {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return error.kind(),
                    None => return ErrorKind::Internal,
                }
            }
        };
        tokio::pin!(ended);
        for answer in [ACTIVE, AWAY] {
            answers.store(answer, Ordering::SeqCst);
            tokio::select! {
                kind = &mut ended => panic!("{way:?}: it ended with {kind:?}"),
                () = more(3) => {}
            }
        }
        answers.store(REVOKED, Ordering::SeqCst);
        let kind = tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
        assert_eq!(kind, ErrorKind::Unauthenticated, "{way:?}");
    }
}

/// The introspection response of that test.
const ACTIVE: usize = 0;
const REVOKED: usize = 1;
const AWAY: usize = 2;

/// The tokens of an authorization server.
fn known_tokens() -> HashMap<&'static str, Value> {
    let base = || json!({ "active": true, "sub": "ann", "scope": "read", "aud": "agent" });
    let with = |name: &str, value: Value| {
        let mut answer = base();
        answer[name] = value;
        answer
    };
    HashMap::from([
        ("good", with("exp", json!(in_seconds(300)))),
        ("endless", base()),
        ("narrow", with("scope", json!("write"))),
        ("revoked", json!({ "active": false })),
        ("late", with("exp", json!(in_seconds(-5)))),
        ("early", with("nbf", json!(in_seconds(60)))),
        ("elsewhere", with("aud", json!("other"))),
        ("foreign", with("iss", json!("https://other"))),
        ("nameless", json!({ "active": true, "aud": "agent" })),
        ("odd", with("active", json!("true"))),
    ])
}

// covers: R-310
#[tokio::test]
async fn opaque_tokens_are_introspected() {
    let (listener, address) = bind().await;
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    // Expires two seconds after its first introspection.
    let short = Arc::new(OnceLock::new());
    let answer = move |request: Request| async move {
        // client+a:s%3Acret
        let right = request.headers()["authorization"] == "Basic Y2xpZW50K2E6cyUzQWNyZXQ=";
        let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
        let form: HashMap<_, _> = form_urlencoded::parse(&body).into_owned().collect();
        counted.fetch_add(1, Ordering::SeqCst);
        match known_tokens().get(form["token"].as_str()) {
            _ if !right => (StatusCode::UNAUTHORIZED, String::new()),
            Some(answer) => (StatusCode::OK, answer.to_string()),
            None if form["token"] == "short" => {
                let end = *short.get_or_init(|| in_seconds(3));
                let answer = json!({
                    "active": true, "sub": "ann", "scope": "read", "aud": "agent", "exp": end,
                });
                (StatusCode::OK, answer.to_string())
            }
            None if form["token"] == "break" => (StatusCode::BAD_GATEWAY, "no".into()),
            None => (StatusCode::OK, r#"{"active":false}"#.to_owned()),
        }
    };
    run(listener, Router::new().route("/introspect", post(answer)));
    let card = oauth_card(address);
    let url = format!("http://{address}/introspect");
    let introspection = Introspection::new("https://issuer", &url, "client a", "s:cret")
        .unwrap()
        .with_audience("agent");
    let throttle = a2a_kit_auth::server::Throttle::default().with_failures_allowed(1_000);
    let guard = Guard::new().with_verifier("oauth", introspection).with_throttle(throttle);
    let agent = start(card, guard).await;
    let ask = async |token: &str| {
        let header = format!("Bearer {token}");
        let client = client(agent, WAYS[0], &[("authorization", &header)]).await;
        client.send_text("hi").await.map_err(|error| error.kind())
    };
    for _ in 0..3 {
        assert_eq!(ask("good").await.unwrap(), "https://issuer#ann read");
        assert_eq!(ask("revoked").await.unwrap_err(), ErrorKind::Unauthenticated);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "responses are cached");
    assert_eq!(ask("endless").await.unwrap(), "https://issuer#ann read");
    for token in ["late", "early", "elsewhere", "foreign", "nameless", "odd", "unknown"] {
        assert_eq!(ask(token).await.unwrap_err(), ErrorKind::Unauthenticated, "{token}");
    }
    assert_eq!(ask("narrow").await.unwrap_err(), ErrorKind::PermissionDenied);
    let before = asked.load(Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(ask("break").await.unwrap_err(), ErrorKind::Unavailable);
    }
    assert_eq!(asked.load(Ordering::SeqCst), before + 2, "failures are not cached");
    let until = SystemTime::now() + Duration::from_secs(20);
    ask("short").await.unwrap();
    while ask("short").await.is_ok() {
        assert!(SystemTime::now() < until, "the cache outlived the token");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn plaintext_introspection_url_is_rejected() {
    for url in ["http://issuer.example/introspect", "issuer.example"] {
        let refused = Introspection::new("https://issuer", url, "a", "b");
        assert!(matches!(refused, Err(SetupError::Insecure(_))), "{url}");
    }
}
