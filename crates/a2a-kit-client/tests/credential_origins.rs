//! Origins that receive the token and headers of a client: the card and the agent are on different
//! servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use a2a_core::{AgentCard, ErrorKind, v1::AgentSkill};
use a2a_kit_client::{
    Client, ClientBuilder, ClientEvent, ClientSettings, Discovery, DiscoveryError, Transport,
    credentials::{ApiKey, Bearer, CredentialError, Credentials, Origin},
};
use a2a_kit_operations::{CallContext, Credential, CredentialLocation};
use axum::{Router, extract::Request, middleware, response::IntoResponse as _, routing::get};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use support::{Counter, routes, serve, unused_address, url};
use tokio::net::TcpListener;

type Received = Arc<Mutex<Vec<HeaderMap>>>;

/// Routes a counter on every binding, and records the headers of every call.
fn recording_router() -> (Router, Received) {
    let counter = Counter::new(1);
    counter.permit(1000);
    let received = Received::default();
    let recorder = received.clone();
    let record = middleware::from_fn(move |request: Request, next: middleware::Next| {
        recorder.lock().unwrap().push(request.headers().clone());
        next.run(request)
    });
    (routes(&counter.engine()).layer(record), received)
}

/// Returns a card with interfaces in this order.
fn card(interfaces: &[(Transport, SocketAddr)]) -> AgentCard {
    let mut card = AgentCard::new("Counter", "Counts");
    card.skills.push(AgentSkill::new("count", "Count", "Counts"));
    card.skills[0].tags.push("count".into());
    interfaces.iter().fold(card, |card, (transport, address)| {
        card.with_interface(transport.as_str(), url(*transport, *address))
    })
}

fn with_card(router: Router, card: &AgentCard) -> Router {
    let json = serde_json::to_string(card).unwrap();
    let response = get(async move || ([("content-type", "application/json")], json));
    router.route("/.well-known/agent-card.json", response)
}

async fn serve_card(card: &AgentCard) -> SocketAddr {
    serve(with_card(Router::new(), card)).await
}

fn origin(address: SocketAddr) -> Origin {
    format!("http://{address}").parse().unwrap()
}

/// Builders with each kind of secret, and the header that carries it.
fn builders_with_secret() -> [(ClientBuilder, &'static str); 3] {
    let mut context = CallContext::default();
    context.credential =
        Some(Credential::at(CredentialLocation::Header("x-call-key".into()), "s3cret"));
    let name = HeaderName::from_static("x-key");
    [
        (Client::builder().bearer("s3cret"), "authorization"),
        (Client::builder().header(name, HeaderValue::from_static("s3cret")), "x-key"),
        (Client::builder().context(context), "x-call-key"),
    ]
}

fn untrusted_origin(result: Result<Client, DiscoveryError>) -> (Origin, Origin) {
    match result {
        Err(DiscoveryError::Credentials(CredentialError::CrossOrigin { card, interface })) => {
            (card, interface)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn card_at_one_origin_does_not_leak_secrets_to_another() {
    for transport in Transport::ALL {
        let (router, received) = recording_router();
        let attacker = serve(router).await;
        let from = serve_card(&card(&[(transport, attacker)])).await;
        for (builder, header) in builders_with_secret() {
            let connect = async |builder: ClientBuilder| builder.connect(&from.to_string()).await;
            let origins = untrusted_origin(connect(builder.clone()).await);
            assert_eq!(origins, (origin(from), origin(attacker)), "{transport} {header}");
            assert!(received.lock().unwrap().is_empty(), "{transport} {header}");

            // The application may trust the other origin.
            let trusting = connect(builder.trusted_origin(origin(attacker))).await.unwrap();
            trusting.send("count").await.unwrap();
            let calls = std::mem::take(&mut *received.lock().unwrap());
            assert!(calls[0][header].to_str().unwrap().ends_with("s3cret"), "{transport} {header}");
        }
        // Without a secret, any origin is allowed.
        let plain = Client::connect(&from.to_string()).await.unwrap();
        plain.send("count").await.unwrap();
    }
}

#[tokio::test]
async fn interface_at_the_card_origin_is_used_without_failover_to_others() {
    for transport in Transport::ALL {
        let (router, received_by_attacker) = recording_router();
        let attacker = serve(router).await;
        for is_up in [true, false] {
            // The card contains the address of its own server.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let here = listener.local_addr().unwrap();
            let card =
                card(&[(transport, attacker), (transport, here), (Transport::Rest, attacker)]);
            let (router, received) = if is_up { recording_router() } else { Default::default() };
            let server = a2a_kit_http::HttpServer::new(with_card(router, &card));
            let serving = tokio::spawn(server.serve(listener, std::future::pending()));
            for (builder, header) in builders_with_secret() {
                let builder = builder.retry(a2a_kit_client::RetryPolicy::NEVER);
                let client = builder.connect(&here.to_string()).await.unwrap();
                let sent = client.send("count").await;
                assert_eq!(sent.is_ok(), is_up, "{transport} {header}: {sent:?}");
                assert_eq!(client.interface().unwrap().url, url(transport, here));
                let calls = std::mem::take(&mut *received.lock().unwrap());
                assert_eq!(calls.iter().any(|one| one.contains_key(header)), is_up);
            }
            serving.abort();
        }
        assert!(received_by_attacker.lock().unwrap().is_empty(), "{transport}");
    }
}

#[tokio::test]
async fn call_with_credential_is_rejected_at_untrusted_origin_and_not_sent_without_it() {
    for transport in Transport::ALL {
        let (router, received) = recording_router();
        let attacker = serve(router).await;
        let from = serve_card(&card(&[(transport, attacker)])).await;
        let client = Client::connect(&from.to_string()).await.unwrap();
        let mut context = CallContext::default();
        context.credential = Some(Credential::new("Bearer s3cret"));
        let with_credential = client.with_context(context.clone());
        let rejected = with_credential.send("count").await.map(drop).unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::Unauthenticated, "{transport}");
        for address in [from, attacker] {
            let origin = origin(address).to_string();
            assert!(rejected.message().contains(&origin), "{transport}: {rejected}");
        }
        assert!(received.lock().unwrap().is_empty(), "{transport}");
        client.send("count").await.unwrap();
        assert_eq!(
            with_credential.send("count").await.unwrap_err().kind(),
            ErrorKind::Unauthenticated
        );
        assert!(received.lock().unwrap().iter().all(|one| !one.contains_key("authorization")));

        let builder = Client::builder().trusted_origin(origin(attacker));
        let client = builder.connect(&from.to_string()).await.unwrap();
        client.with_context(context).send("count").await.unwrap();
        assert_eq!(received.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
    }
}

#[tokio::test]
async fn call_with_credential_skips_interface_at_untrusted_origin() {
    let (router, received_by_attacker) = recording_router();
    let attacker = serve(router).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let card = card(&[(Transport::Grpc, attacker), (Transport::JsonRpc, here)]);
    let (router, received) = recording_router();
    let server = a2a_kit_http::HttpServer::new(with_card(router, &card));
    tokio::spawn(server.serve(listener, std::future::pending()));
    let mut context = CallContext::default();
    context.credential = Some(Credential::new("Bearer s3cret"));
    let client = Client::connect(&here.to_string()).await.unwrap();
    client.with_context(context).send("count").await.unwrap();
    assert!(received_by_attacker.lock().unwrap().is_empty());
    assert_eq!(received.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
}

#[tokio::test]
async fn built_card_is_trusted_unless_card_origin_is_set() {
    for transport in Transport::ALL {
        let (router, received) = recording_router();
        let agent = serve(router).await;
        let registry = unused_address().await;
        for (builder, header) in builders_with_secret() {
            let card = card(&[(transport, agent)]);
            let from_registry = builder.clone().card_origin(origin(registry));
            let origins = untrusted_origin(from_registry.clone().build(card.clone()));
            assert_eq!(origins, (origin(registry), origin(agent)), "{transport} {header}");
            let trusting = from_registry.trusted_origin(origin(agent)).build(card.clone()).unwrap();
            trusting.send("count").await.unwrap();
            builder.build(card).unwrap().send("count").await.unwrap();
            let calls = std::mem::take(&mut *received.lock().unwrap());
            let all = calls.iter().all(|one| one[header].to_str().unwrap().ends_with("s3cret"));
            assert!(all, "{transport} {header}: {calls:?}");
        }
    }
}

#[tokio::test]
async fn loopback_names_are_the_same_origin() {
    for transport in Transport::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let (router, received) = recording_router();
        let server = a2a_kit_http::HttpServer::new(with_card(router, &card(&[(transport, here)])));
        tokio::spawn(server.serve(listener, std::future::pending()));
        let reference = format!("localhost:{}", here.port());
        let client = Client::builder().bearer("s3cret").connect(&reference).await.unwrap();
        client.send("count").await.unwrap();
        assert_eq!(received.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
    }
}

#[tokio::test]
async fn invalid_token_is_an_error_without_the_token() {
    let card = card(&[(Transport::JsonRpc, unused_address().await)]);
    let error = Client::builder().bearer("s3cret\n").build(card).unwrap_err();
    assert!(
        matches!(error, DiscoveryError::Credentials(CredentialError::InvalidCharacters(_))),
        "{error:?}"
    );
    assert!(!format!("{error:?}").contains("s3cret"));
}

#[tokio::test]
async fn client_of_trusted_origins_is_not_connected_elsewhere() {
    let (router, _) = recording_router();
    let other = serve(router).await;
    let from = serve_card(&card(&[(Transport::JsonRpc, other)])).await;
    let builder = Client::builder().only_trusted_origins();
    let origins = untrusted_origin(builder.clone().connect(&from.to_string()).await);
    assert_eq!(origins, (origin(from), origin(other)));
    builder.trusted_origin(origin(other)).connect(&from.to_string()).await.unwrap();
}

#[tokio::test]
async fn skipped_interface_is_observed() {
    let (router, _) = recording_router();
    let other = serve(router).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let card = card(&[(Transport::Grpc, other), (Transport::JsonRpc, here)]);
    let server = a2a_kit_http::HttpServer::new(with_card(Router::new(), &card));
    tokio::spawn(server.serve(listener, std::future::pending()));
    let credentials = || Credentials::new().unconditional().with(Bearer::new("s3cret"));
    for builder in [
        Client::builder().bearer("s3cret"),
        Client::builder().credentials(credentials()),
        Client::builder().only_trusted_origins(),
    ] {
        let (observed, mut events) = tokio::sync::mpsc::unbounded_channel();
        let builder = builder.on_event(move |event| observed.send(event).unwrap());
        builder.connect(&here.to_string()).await.unwrap();
        match events.recv().await {
            Some(ClientEvent::InterfaceSkipped { preferred, used }) => {
                let transports = (preferred.transport, used.transport);
                assert_eq!(transports, (Transport::Grpc, Transport::JsonRpc));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn challenged_card_request_is_repeated_with_the_credential() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let card = card(&[(Transport::JsonRpc, here)]);
    let seen = Arc::<Mutex<Vec<Option<String>>>>::default();
    let recorder = seen.clone();
    let guard = middleware::from_fn(move |request: Request, next: middleware::Next| {
        let value = request.headers().get("authorization");
        let value = value.map(|value| value.to_str().unwrap().to_owned());
        let is_admitted = value.as_deref() == Some("Bearer s3cret");
        recorder.lock().unwrap().push(value);
        async move {
            if is_admitted {
                return next.run(request).await;
            }
            let challenge = [("www-authenticate", "Bearer realm=\"cards\"")];
            (StatusCode::UNAUTHORIZED, challenge).into_response()
        }
    });
    let server = a2a_kit_http::HttpServer::new(with_card(Router::new(), &card).layer(guard));
    tokio::spawn(server.serve(listener, std::future::pending()));
    let connect = async |credentials: Credentials| {
        let builder = Client::builder().credentials(credentials);
        builder.connect(&here.to_string()).await.map(drop)
    };
    connect(Credentials::new().with(Bearer::new("s3cret"))).await.unwrap();
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), [None, Some("Bearer s3cret".into())]);
    for credentials in [Credentials::new(), Credentials::new().with(ApiKey::new("s3cret"))] {
        let denied = connect(credentials).await.unwrap_err();
        assert!(matches!(denied, DiscoveryError::Denied { status: 401, .. }), "{denied:?}");
        assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), [None]);
    }
}

/// A catalog with one agent, `w`, whose card is at an address.
async fn serve_catalog(card: SocketAddr) -> SocketAddr {
    let json = format!(r#"[{{"name": "w", "url": "http://{card}"}}]"#);
    let response = get(async move || ([("content-type", "application/json")], json));
    serve(Router::new().route("/agents.json", response)).await
}

#[tokio::test]
async fn catalog_entry_at_another_origin_gets_no_secret_unless_it_is_trusted() {
    for transport in Transport::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let agent = listener.local_addr().unwrap();
        let (router, received) = recording_router();
        let router = with_card(router, &card(&[(transport, agent)]));
        let recorder = received.clone();
        let record = middleware::from_fn(move |request: Request, next: middleware::Next| {
            recorder.lock().unwrap().push(request.headers().clone());
            next.run(request)
        });
        let server = a2a_kit_http::HttpServer::new(router.layer(record));
        tokio::spawn(server.serve(listener, std::future::pending()));
        let catalog = serve_catalog(agent).await;
        let reference = format!("catalog+http://{catalog}/agents.json#w");
        let credentials = Credentials::new().unconditional().with(Bearer::new("s3cret"));
        let given = (Client::builder().credentials(credentials), "authorization");
        for (builder, header) in builders_with_secret().into_iter().chain([given]) {
            let name = HeaderName::from_static("x-card-key");
            let builder = builder.card_header(name, HeaderValue::from_static("s3cret"));
            let origins = untrusted_origin(builder.clone().connect(&reference).await);
            assert_eq!(origins, (origin(catalog), origin(agent)), "{transport} {header}");
            let calls = std::mem::take(&mut *received.lock().unwrap());
            assert!(!format!("{calls:?}").contains("s3cret"), "{transport} {header}: {calls:?}");
            assert!(calls.iter().all(|one| !one.contains_key("x-card-key")), "{transport}");

            let trusting = builder.trusted_origin(origin(agent)).connect(&reference).await.unwrap();
            trusting.send("count").await.unwrap();
            let calls = std::mem::take(&mut *received.lock().unwrap());
            assert!(calls[0].contains_key("x-card-key"), "{transport} {header}");
            let sent = calls.last().unwrap()[header].to_str().unwrap();
            assert!(sent.ends_with("s3cret"), "{transport} {header}");
        }
        // The same for a URL that the application has from a registry.
        let registry = origin(unused_address().await);
        let named = Client::builder().bearer("s3cret").card_origin(registry.clone());
        let origins = untrusted_origin(named.clone().connect(&agent.to_string()).await);
        assert_eq!(origins, (registry, origin(agent)), "{transport}");
        named.trusted_origin(origin(agent)).connect(&agent.to_string()).await.unwrap();
        // Without a secret, the catalog may name any agent.
        Client::connect(&reference).await.unwrap().send("count").await.unwrap();
    }
}

#[tokio::test]
async fn card_that_a_catalog_names_elsewhere_can_not_ask_for_the_credential() {
    let seen = Arc::<Mutex<Vec<HeaderMap>>>::default();
    let recorder = seen.clone();
    let challenge = get(async move |headers: HeaderMap| {
        recorder.lock().unwrap().push(headers);
        (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")])
    });
    let path = "/.well-known/agent-card.json";
    let agent = serve(Router::new().route(path, challenge)).await;
    let catalog = serve_catalog(agent).await;
    let reference = format!("catalog+http://{catalog}/agents.json#w");
    let credentials = Credentials::new().with(Bearer::new("s3cret"));
    let builder = Client::builder().credentials(credentials);
    for (builder, is_sent) in
        [(builder.clone(), false), (builder.trusted_origin(origin(agent)), true)]
    {
        let denied = builder.connect(&reference).await.unwrap_err();
        assert!(matches!(denied, DiscoveryError::Denied { .. }), "{denied:?}");
        let sent = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(sent.iter().any(|one| one.contains_key("authorization")), is_sent, "{sent:?}");
    }
    // The headers of a discovery client keep to the origin of the catalog too.
    let mut headers = HeaderMap::new();
    headers.insert("x-key", HeaderValue::from_static("s3cret"));
    let settings = ClientSettings::default().with_headers(headers);
    Discovery::new(settings).unwrap().discover(&reference).await.unwrap_err();
    assert!(!seen.lock().unwrap()[0].contains_key("x-key"));
}
