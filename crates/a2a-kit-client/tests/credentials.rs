//! Credentials that agents receive on every binding, and those that they must not receive.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use a2a_core::{
    AgentCard, ErrorKind,
    v1::{
        ApiKeySecurityScheme, ClientCredentialsOAuthFlow, GetTaskRequest, HttpAuthSecurityScheme,
        MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, SecurityRequirement,
        SecurityScheme, StringList, o_auth_flows::Flow, security_scheme::Scheme,
    },
};
use a2a_kit_client::{
    Client, DiscoveryError, Transport,
    credentials::{
        ApiKey, Basic, Bearer, ClientCredentials, CredentialError, CredentialRequest,
        CredentialSource, Credentials, OAuthClient, Secret,
    },
};
use a2a_kit_operations::{Call, Credential};
use async_trait::async_trait;
use axum::{
    Router,
    extract::Request,
    middleware,
    response::IntoResponse as _,
    routing::{get, post},
};
use http::{HeaderMap, StatusCode, Uri, header::LOCATION};
use serde_json::json;
use support::{Counter, card, routes, serve, url};

fn api_key(location: &str, name: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        location: location.into(),
        name: name.into(),
        ..ApiKeySecurityScheme::default()
    })
}

fn http(scheme: &str) -> Scheme {
    Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: scheme.into(),
        ..HttpAuthSecurityScheme::default()
    })
}

fn client_credentials(token_url: &str) -> Scheme {
    let token_url = token_url.to_owned();
    let flow = ClientCredentialsOAuthFlow { token_url, ..ClientCredentialsOAuthFlow::default() };
    Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
        flows: Some(OAuthFlows { flow: Some(Flow::ClientCredentials(flow)) }),
        ..OAuth2SecurityScheme::default()
    })
}

/// Declares security schemes and requires one of the alternative sets of scheme names.
fn secured(mut card: AgentCard, schemes: &[(&str, Scheme)], required: &[&[&str]]) -> AgentCard {
    for (name, scheme) in schemes {
        let scheme = SecurityScheme { scheme: Some(scheme.clone()) };
        card.security_schemes.insert((*name).to_owned(), scheme);
    }
    card.security_requirements = required
        .iter()
        .map(|names| SecurityRequirement {
            schemes: names.iter().map(|name| ((*name).into(), StringList::default())).collect(),
        })
        .collect();
    card
}

type Received = Arc<Mutex<Vec<(Uri, HeaderMap)>>>;

/// Serves a counter that accepts requests for which `admits` is true, and records every request.
async fn guarded(
    admits: impl Fn(&Uri, &HeaderMap) -> bool + Clone + Send + Sync + 'static,
) -> (SocketAddr, Received) {
    let counter = Counter::new(1);
    counter.permit(1000);
    let received = Received::default();
    let recorder = received.clone();
    let guard = middleware::from_fn(move |request: Request, next: middleware::Next| {
        recorder.lock().unwrap().push((request.uri().clone(), request.headers().clone()));
        let is_admitted = admits(request.uri(), request.headers());
        async move {
            if is_admitted {
                return next.run(request).await;
            }
            let challenge = [("www-authenticate", "Bearer realm=\"agent\"")];
            (StatusCode::UNAUTHORIZED, challenge).into_response()
        }
    });
    (serve(routes(&counter.engine()).layer(guard)).await, received)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

/// Issues the tokens `token-1`, `token-2` and so on.
async fn token_server() -> (String, Arc<AtomicUsize>) {
    let issued = Arc::<AtomicUsize>::default();
    let count = issued.clone();
    let token = post(async move || {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let response = json!({"access_token": format!("token-{number}"), "token_type": "Bearer"});
        ([("content-type", "application/json")], response.to_string())
    });
    let address = serve(Router::new().route("/token", token)).await;
    (format!("http://{address}"), issued)
}

async fn call_operations(client: &Client) -> a2a_core::Result<()> {
    let id = client.send("count").await?.task_id().unwrap().to_owned();
    client.stream("count").await?.outcome().await?;
    client.get(&id).await?;
    client.list(Default::default()).next().await.unwrap()?;
    Ok(())
}

//
#[tokio::test]
async fn declared_scheme_is_satisfied_on_every_binding_with_every_request() {
    let (issuer, _) = token_server().await;
    let oauth = OAuthClient::confidential("app", "s").unwrap().with_trusted(&issuer).unwrap();
    let credentials = Credentials::new()
        .with(ApiKey::new("k;1"))
        .with_named("cookie", ApiKey::new("c1"))
        .with(Basic::new("user", "pass:word").unwrap())
        .with(ClientCredentials::new(oauth))
        .with(Bearer::new("b1"));
    type Check = fn(&Uri, &HeaderMap) -> bool;
    let cases: [(&str, Scheme, Check); 6] = [
        ("header", api_key("header", "X-Api-Key"), |_, headers| {
            text(headers, "x-api-key") == Some("k;1")
        }),
        ("cookie", api_key("cookie", "Session"), |_, headers| {
            text(headers, "cookie") == Some("Session=c1")
        }),
        ("query", api_key("query", "key"), |uri, _| {
            uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "key=k%3B1"))
        }),
        ("basic", http("Basic"), |_, headers| {
            text(headers, "authorization") == Some("Basic dXNlcjpwYXNzOndvcmQ=")
        }),
        ("bearer", http("bearer"), |_, headers| {
            text(headers, "authorization") == Some("Bearer b1")
        }),
        ("oauth", client_credentials(&format!("{issuer}/token")), |_, headers| {
            text(headers, "authorization").is_some_and(|value| value.starts_with("Bearer token-"))
        }),
    ];
    for (name, scheme, admits) in cases {
        for transport in Transport::ALL {
            let (address, received) = guarded(admits).await;
            let card = card(transport, address).with_extended_card(true);
            let card = secured(card, &[(name, scheme.clone())], &[&[name]]);
            let client = Client::builder().credentials(credentials.clone()).build(card);
            if name == "query" && transport == Transport::Grpc {
                let Err(DiscoveryError::Credentials(CredentialError::Unsatisfied(why))) = client
                else {
                    panic!("{client:?}");
                };
                assert!(why[0].contains("gRPC has no query"), "{why:?}");
                continue;
            }
            let client = client.unwrap();
            call_operations(&client)
                .await
                .unwrap_or_else(|error| panic!("{name} {transport}: {error:?}"));
            // The agent has none, but rejects unauthenticated requests before saying so.
            let error = client.extended_card().await.unwrap_err();
            assert_ne!(error.kind(), ErrorKind::Unauthenticated, "{name} {transport}: {error:?}");
            let received = received.lock().unwrap();
            assert!(
                received.len() >= 5 && received.iter().all(|(uri, headers)| admits(uri, headers))
            );
        }
    }
}

#[tokio::test]
async fn first_alternative_with_all_schemes_satisfiable_is_used() {
    let (address, received) = guarded(|_, _| true).await;
    let schemes = [
        ("bearer", http("Bearer")),
        ("digest", http("Digest")),
        ("key", api_key("header", "x-key")),
        ("other", api_key("header", "x-other")),
        ("mtls", Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default())),
        ("host", api_key("header", "Host")),
        ("version", api_key("header", "A2A-Version")),
    ];
    let credentials = Credentials::new()
        .with(ApiKey::new("k"))
        .with_named("other", ApiKey::new("o"))
        .with(Bearer::new("b"))
        .with(Basic::new("u", "p").unwrap());
    let with_certificate = credentials.clone().with_client_certificate();
    let none: &[&str] = &[];
    for (credentials, required, sent) in [
        (&credentials, &[&["bearer", "key"][..]][..], "Bearer b, k, -"),
        (&credentials, &[&["digest"], &["key", "other"]], "-, k, o"),
        (&credentials, &[&["mtls"], &["bearer", "mtls"], &["other"]], "-, -, o"),
        (&with_certificate, &[&["bearer", "mtls"], &["other"]], "Bearer b, -, -"),
        (&with_certificate, &[&["mtls"], &["other"]], "-, -, -"),
        (&credentials, &[&["undeclared"], &["host"], &["version"], &["key"]], "-, k, -"),
        // Authentication is preferred if it is optional.
        (&credentials, &[none, &["key"]], "-, k, -"),
        (&credentials, &[none, &["digest"]], "-, -, -"),
        (&credentials, &[none], "-, -, -"),
        // Declared but not required: the first satisfiable scheme by name.
        (&credentials, &[], "Bearer b, -, -"),
    ] {
        let card = secured(card(Transport::JsonRpc, address), &schemes, required);
        let client = Client::builder().credentials(credentials.clone()).build(card).unwrap();
        client.send("count").await.unwrap();
        let (_, headers) = received.lock().unwrap().pop().unwrap();
        let found = ["authorization", "x-key", "x-other"].map(|name| text(&headers, name));
        let found = found.map(|value| value.unwrap_or("-")).join(", ");
        assert_eq!(found, sent, "{required:?}");
        assert_ne!(text(&headers, "a2a-version"), Some("k"));
    }
    for (required, reason) in [
        (&[&["digest"][..]][..], "\"digest\" (HTTP authentication)"),
        (&[&["mtls"]], "no client certificate"),
        (&[&["host"]], "invalid API key name"),
        (&[&["undeclared"]], "is not declared in the card"),
        (&[&["bearer", "digest"]], "digest"),
    ] {
        let card = secured(card(Transport::JsonRpc, address), &schemes, required);
        let error = Client::builder().credentials(credentials.clone()).build(card).unwrap_err();
        let DiscoveryError::Credentials(error) = error else { panic!("{error:?}") };
        assert!(error.to_string().contains(reason), "{error}");
    }
    // Two schemes that use the same header can't both be satisfied.
    let schemes = [("basic", http("Basic")), ("bearer", http("Bearer"))];
    let card = secured(card(Transport::JsonRpc, address), &schemes, &[&["basic", "bearer"]]);
    let error = Client::builder().credentials(credentials).build(card).unwrap_err();
    assert!(
        matches!(error, DiscoveryError::Credentials(CredentialError::Unsatisfied(_))),
        "{error}"
    );
}

#[tokio::test]
async fn rejected_request_is_retried_once_with_a_renewed_token() {
    for transport in Transport::ALL {
        let (issuer, issued) = token_server().await;
        let accepted = Arc::new(Mutex::new("Bearer token-1".to_owned()));
        let admitted = accepted.clone();
        let (address, received) = guarded(move |_, headers| {
            text(headers, "authorization") == Some(admitted.lock().unwrap().as_str())
        })
        .await;
        let oauth = OAuthClient::confidential("app", "s").unwrap().with_trusted(&issuer).unwrap();
        let credentials = Credentials::new().with(ClientCredentials::new(oauth));
        let scheme = client_credentials(&format!("{issuer}/token"));
        let card = secured(card(transport, address), &[("oauth", scheme)], &[&["oauth"]]);
        let client = Client::builder().credentials(credentials).build(card).unwrap();
        call_operations(&client).await.unwrap();
        assert_eq!(issued.load(Ordering::Relaxed), 1, "{transport}");

        // The server revokes the token; opening a stream is retried like any request.
        *accepted.lock().unwrap() = "Bearer token-2".into();
        let before = received.lock().unwrap().len();
        client.stream("count").await.unwrap().outcome().await.unwrap();
        assert_eq!(received.lock().unwrap().len(), before + 2, "{transport}");
        assert_eq!(issued.load(Ordering::Relaxed), 2, "{transport}");

        *accepted.lock().unwrap() = "Bearer none".into();
        for _ in 0..5 {
            let rejected = client.send("count").await.unwrap_err();
            assert_eq!(rejected.kind(), ErrorKind::Unauthenticated, "{transport}");
            assert_eq!(rejected.challenge(), Some("Bearer realm=\"agent\""), "{transport}");
        }
        let issued = issued.load(Ordering::Relaxed);
        assert!(issued <= 3, "{transport}: rejections must not flood the issuer: {issued}");
    }
}

#[tokio::test]
async fn unchanged_credentials_are_not_retried() {
    let (address, received) = guarded(|_, _| false).await;
    let card = secured(
        card(Transport::JsonRpc, address),
        &[("key", api_key("header", "x-key"))],
        &[&["key"]],
    );
    let credentials = Credentials::new().with(ApiKey::new("wrong"));
    let client = Client::builder().credentials(credentials).build(card).unwrap();
    let rejected = client.send("count").await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Unauthenticated);
    assert_eq!(received.lock().unwrap().len(), 1);
}

/// Serves a card at another origin than the agent.
async fn serve_card_at_other_origin(card: &AgentCard) -> String {
    let json = serde_json::to_string(card).unwrap();
    let response = get(async move || ([("content-type", "application/json")], json));
    let router = Router::new().route("/.well-known/agent-card.json", response);
    format!("http://{}", serve(router).await)
}

#[tokio::test]
async fn credentials_are_sent_only_to_the_card_origin_and_trusted_origins() {
    for transport in Transport::ALL {
        let (address, received) = guarded(|_, _| true).await;
        let card = card(transport, address);
        let mut card = secured(card, &[("key", api_key("header", "x-key"))], &[&["key"]]);
        card.skills.push(a2a_core::v1::AgentSkill::new("count", "Count", "Counts"));
        card.skills[0].tags.push("count".into());
        let card_origin = serve_card_at_other_origin(&card).await;
        let credentials = Credentials::new().with(ApiKey::new("k"));
        let connect = async |credentials: Credentials| {
            Client::builder().credentials(credentials).connect(&card_origin).await
        };
        let error = connect(credentials.clone()).await.unwrap_err();
        let DiscoveryError::Credentials(CredentialError::CrossOrigin { interface, .. }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(interface, format!("http://{address}").parse().unwrap());
        assert!(received.lock().unwrap().is_empty());

        let trusting = credentials.with_trusted_origin(&url(transport, address)).unwrap();
        connect(trusting).await.unwrap().send("count").await.unwrap();
        assert_eq!(text(&received.lock().unwrap()[0].1, "x-key"), Some("k"), "{transport}");
    }
}

#[tokio::test]
async fn redirect_to_another_origin_receives_no_credentials() {
    let (other, received) = guarded(|_, _| true).await;
    let redirect = move || async move {
        (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, format!("http://{other}/"))]).into_response()
    };
    let address = serve(Router::new().fallback(redirect)).await;
    let schemes = [("key", api_key("query", "key")), ("bearer", http("Bearer"))];
    for transport in [Transport::JsonRpc, Transport::Rest] {
        let card = secured(card(transport, address), &schemes, &[&["bearer", "key"]]);
        let credentials = Credentials::new().with(ApiKey::new("k")).with(Bearer::new("b"));
        let client = Client::builder().credentials(credentials).build(card).unwrap();
        client.send("count").await.unwrap_err();
    }
    assert!(received.lock().unwrap().is_empty());
}

//
#[tokio::test]
async fn credentials_are_not_sent_in_plaintext_to_another_host() {
    let credentials =
        Credentials::new().with(ApiKey::new("k")).with_trusted_origin("http://a.example");
    let credentials = credentials.unwrap();
    let schemes = [("key", api_key("header", "x-key"))];
    for (transport, address) in [
        (Transport::JsonRpc, "http://a.example"),
        (Transport::Rest, "http://a.example/a2a"),
        (Transport::Grpc, "grpc://a.example"),
        (Transport::Grpc, "http://a.example:80"),
    ] {
        let card = AgentCard::new("a", "b").with_interface(transport.as_str(), address);
        let card = secured(card, &schemes, &[&["key"]]);
        let error = Client::builder().credentials(credentials.clone()).build(card).unwrap_err();
        let DiscoveryError::Credentials(CredentialError::Plaintext(_)) = error else {
            panic!("{address}: {error:?}");
        };
    }
    // Another interface of the agent is used instead.
    let (address, received) = guarded(|_, _| true).await;
    let card = AgentCard::new("a", "b")
        .with_interface(Transport::JsonRpc.as_str(), "http://a.example")
        .with_interface(Transport::Rest.as_str(), format!("http://{address}"));
    let card = secured(card, &schemes, &[&["key"]]);
    let client = Client::builder().credentials(credentials).build(card).unwrap();
    assert_eq!(client.interface().unwrap().url, format!("http://{address}"));
    client.send("count").await.unwrap();
    assert_eq!(text(&received.lock().unwrap()[0].1, "x-key"), Some("k"));
}

#[tokio::test]
async fn call_with_its_own_credential_is_sent_with_that_credential_only() {
    let (address, received) = guarded(|_, _| true).await;
    let schemes = [("key", api_key("header", "x-key"))];
    let card = secured(card(Transport::JsonRpc, address), &schemes, &[&["key"]]);
    let credentials = Credentials::new().with(ApiKey::new("k"));
    let client = Client::builder().credentials(credentials).build(card).unwrap();
    let mut call = Call::new(GetTaskRequest { id: "t".into(), ..GetTaskRequest::default() });
    call.context.credential = Some(Credential::new("Bearer own"));
    client.agent().get_task(call).await.unwrap_err();
    let received = received.lock().unwrap();
    assert_eq!(text(&received[0].1, "authorization"), Some("Bearer own"));
    assert_eq!(text(&received[0].1, "x-key"), None);
}

/// An application-defined credential source that issues a secret per scheme.
#[derive(Debug)]
struct Vault;

#[async_trait]
impl CredentialSource for Vault {
    fn supports(&self, scheme: &Scheme) -> bool {
        matches!(scheme, Scheme::HttpAuthSecurityScheme(http) if http.scheme == "Digest")
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        if previous.is_some() {
            return Err(CredentialError::source_failed("the vault is locked"));
        }
        Ok(Secret::new(format!("for=\"{}\"", request.name)))
    }
}

#[tokio::test]
async fn custom_credential_source_is_used() {
    let (address, received) = guarded(|_, headers| headers.get("x-never").is_some()).await;
    let schemes = [("vault", http("Digest"))];
    let card = secured(card(Transport::JsonRpc, address), &schemes, &[&["vault"]]);
    let credentials = Credentials::new().with(Vault);
    let client = Client::builder().credentials(credentials).build(card).unwrap();
    client.authenticate().await.unwrap();
    assert!(received.lock().unwrap().is_empty(), "no request was sent to the agent yet");
    let rejected = client.send("count").await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Unauthenticated);
    let received = received.lock().unwrap();
    assert_eq!(text(&received[0].1, "authorization"), Some("Digest for=\"vault\""));
    assert_eq!(received.len(), 1);
}

#[tokio::test]
async fn failure_to_obtain_a_token_fails_the_call() {
    let (address, received) = guarded(|_, _| true).await;
    let unreachable = format!("http://{}", support::unused_address().await);
    for (token_url, kind) in [
        (format!("{unreachable}/token"), ErrorKind::Unavailable),
        ("https://evil.example/token".to_owned(), ErrorKind::Unauthenticated),
    ] {
        let oauth = OAuthClient::confidential("app", "planted").unwrap();
        let oauth = oauth.with_trusted(&unreachable).unwrap();
        let credentials = Credentials::new().with(ClientCredentials::new(oauth));
        let schemes = [("oauth", client_credentials(&token_url))];
        let card = secured(card(Transport::JsonRpc, address), &schemes, &[&["oauth"]]);
        let builder = Client::builder().credentials(credentials);
        let client = builder.clone().retry(a2a_kit_client::RetryPolicy::NEVER).build(card).unwrap();
        for error in [
            client.authenticate().await.unwrap_err(),
            client.send("count").await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), kind, "{error:?}");
            assert!(error.message().starts_with("no credential for the agent"), "{error}");
            assert!(!format!("{error:?}{builder:?}{client:?}").contains("planted"));
        }
    }
    assert!(received.lock().unwrap().is_empty());
}
