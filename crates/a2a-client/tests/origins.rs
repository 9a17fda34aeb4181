//! Where the token and the headers of a client go, and where not: two servers, one of which has
//! the card.

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

use a2a_client::{
    Client, ClientBuilder, DiscoveryError, Transport,
    credentials::{CredentialError, Origin},
};
use a2a_core::{AgentCard, ErrorKind, v1::AgentSkill};
use a2a_operations::{CallContext, Credential, Place};
use axum::{Router, extract::Request, middleware, routing::get};
use http::{HeaderMap, HeaderName, HeaderValue};
use support::{Counter, dead_address, routes, serve, url};
use tokio::net::TcpListener;

type Seen = Arc<Mutex<Vec<HeaderMap>>>;

/// Serves a counter at every binding, and notes the headers of every call.
fn noting() -> (Router, Seen) {
    let counter = Counter::new(1);
    counter.permit(1000);
    let seen = Seen::default();
    let notes = seen.clone();
    let note = middleware::from_fn(move |request: Request, next: middleware::Next| {
        notes.lock().unwrap().push(request.headers().clone());
        next.run(request)
    });
    (routes(&counter.engine()).layer(note), seen)
}

/// A card with interfaces in this order.
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
    let answer = get(async move || ([("content-type", "application/json")], json));
    router.route("/.well-known/agent-card.json", answer)
}

async fn serve_card(card: &AgentCard) -> SocketAddr {
    serve(with_card(Router::new(), card)).await
}

fn origin(address: SocketAddr) -> Origin {
    format!("http://{address}").parse().unwrap()
}

/// Each way in which a builder is given something secret, and the header that has it.
fn secretive() -> [(ClientBuilder, &'static str); 3] {
    let mut context = CallContext::default();
    context.credential = Some(Credential::at(Place::Header("x-of-calls".into()), "s3cret"));
    let name = HeaderName::from_static("x-key");
    [
        (Client::builder().bearer("s3cret"), "authorization"),
        (Client::builder().header(name, HeaderValue::from_static("s3cret")), "x-key"),
        (Client::builder().context(context), "x-of-calls"),
    ]
}

fn elsewhere(result: Result<Client, DiscoveryError>) -> (Origin, Origin) {
    match result {
        Err(DiscoveryError::Credentials(CredentialError::Elsewhere { card, interface })) => {
            (card, interface)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_card_can_not_send_tokens_and_headers_to_another_origin() {
    for transport in Transport::ALL {
        let (router, seen) = noting();
        let thief = serve(router).await;
        let from = serve_card(&card(&[(transport, thief)])).await;
        for (builder, header) in secretive() {
            let connect = async |builder: ClientBuilder| builder.connect(&from.to_string()).await;
            let places = elsewhere(connect(builder.clone()).await);
            assert_eq!(places, (origin(from), origin(thief)), "{transport} {header}");
            assert!(seen.lock().unwrap().is_empty(), "{transport} {header}");

            // Where the application says that it belongs there, it goes there.
            let named = connect(builder.with_origin(origin(thief))).await.unwrap();
            named.send("count").await.unwrap();
            let heard = std::mem::take(&mut *seen.lock().unwrap());
            assert!(heard[0][header].to_str().unwrap().ends_with("s3cret"), "{transport} {header}");
        }
        // Whoever has no secret is let go anywhere.
        let plain = Client::connect(&from.to_string()).await.unwrap();
        plain.send("count").await.unwrap();
    }
}

#[tokio::test]
async fn an_interface_at_the_origin_of_the_card_is_used_where_there_is_one_and_no_other_after_it() {
    for transport in Transport::ALL {
        let (router, seen_by_thief) = noting();
        let thief = serve(router).await;
        for is_alive in [true, false] {
            // The card has to know where it is before it is served.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let here = listener.local_addr().unwrap();
            let card = card(&[(transport, thief), (transport, here), (Transport::HttpJson, thief)]);
            let (router, seen) = if is_alive { noting() } else { Default::default() };
            let server = a2a_http::Server::new(with_card(router, &card));
            let serving = tokio::spawn(server.serve(listener, std::future::pending()));
            for (builder, header) in secretive() {
                let builder = builder.retry(a2a_client::RetryPolicy::NEVER);
                let client = builder.connect(&here.to_string()).await.unwrap();
                let sent = client.send("count").await;
                assert_eq!(sent.is_ok(), is_alive, "{transport} {header}: {sent:?}");
                assert_eq!(client.interface().unwrap().url, url(transport, here));
                let heard = std::mem::take(&mut *seen.lock().unwrap());
                assert_eq!(heard.iter().any(|one| one.contains_key(header)), is_alive);
            }
            serving.abort();
        }
        assert!(seen_by_thief.lock().unwrap().is_empty(), "{transport}");
    }
}

#[tokio::test]
async fn a_call_that_brings_a_credential_is_refused_at_another_origin_and_not_made_without() {
    for transport in Transport::ALL {
        let (router, seen) = noting();
        let thief = serve(router).await;
        let from = serve_card(&card(&[(transport, thief)])).await;
        let client = Client::connect(&from.to_string()).await.unwrap();
        let mut context = CallContext::default();
        context.credential = Some(Credential::new("Bearer s3cret"));
        let carrying = client.with_context(context.clone());
        let refused = carrying.send("count").await.map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unauthenticated, "{transport}");
        for named in [from, thief] {
            let origin = origin(named).to_string();
            assert!(refused.message().contains(&origin), "{transport}: {refused}");
        }
        assert!(seen.lock().unwrap().is_empty(), "{transport}");
        client.send("count").await.unwrap();
        assert_eq!(carrying.send("count").await.unwrap_err().kind(), ErrorKind::Unauthenticated);
        assert!(seen.lock().unwrap().iter().all(|one| !one.contains_key("authorization")));

        let builder = Client::builder().with_origin(origin(thief));
        let client = builder.connect(&from.to_string()).await.unwrap();
        client.with_context(context).send("count").await.unwrap();
        assert_eq!(seen.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
    }
}

#[tokio::test]
async fn a_call_with_a_credential_passes_over_an_interface_at_another_origin() {
    let (router, seen_by_thief) = noting();
    let thief = serve(router).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let card = card(&[(Transport::Grpc, thief), (Transport::JsonRpc, here)]);
    let (router, seen) = noting();
    let server = a2a_http::Server::new(with_card(router, &card));
    tokio::spawn(server.serve(listener, std::future::pending()));
    let mut context = CallContext::default();
    context.credential = Some(Credential::new("Bearer s3cret"));
    let client = Client::connect(&here.to_string()).await.unwrap();
    client.with_context(context).send("count").await.unwrap();
    assert!(seen_by_thief.lock().unwrap().is_empty());
    assert_eq!(seen.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
}

#[tokio::test]
async fn the_application_vouches_for_a_card_of_its_own_unless_it_says_where_that_comes_from() {
    for transport in Transport::ALL {
        let (router, seen) = noting();
        let agent = serve(router).await;
        let registry = dead_address().await;
        for (builder, header) in secretive() {
            let card = card(&[(transport, agent)]);
            let from_registry = builder.clone().card_from(origin(registry));
            let places = elsewhere(from_registry.clone().build(card.clone()));
            assert_eq!(places, (origin(registry), origin(agent)), "{transport} {header}");
            let named = from_registry.with_origin(origin(agent)).build(card.clone()).unwrap();
            named.send("count").await.unwrap();
            builder.build(card).unwrap().send("count").await.unwrap();
            let heard = std::mem::take(&mut *seen.lock().unwrap());
            let all = heard.iter().all(|one| one[header].to_str().unwrap().ends_with("s3cret"));
            assert!(all, "{transport} {header}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn this_machine_has_several_names_and_is_one_place() {
    for transport in Transport::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let (router, seen) = noting();
        let server = a2a_http::Server::new(with_card(router, &card(&[(transport, here)])));
        tokio::spawn(server.serve(listener, std::future::pending()));
        let reference = format!("localhost:{}", here.port());
        let client = Client::builder().bearer("s3cret").connect(&reference).await.unwrap();
        client.send("count").await.unwrap();
        assert_eq!(seen.lock().unwrap().last().unwrap()["authorization"], "Bearer s3cret");
    }
}

#[tokio::test]
async fn a_token_that_can_t_be_sent_is_said_and_not_left_out() {
    let card = card(&[(Transport::JsonRpc, dead_address().await)]);
    let error = Client::builder().bearer("s3cret\n").build(card).unwrap_err();
    assert!(matches!(error, DiscoveryError::Credentials(CredentialError::Unfit(_))), "{error:?}");
    assert!(!format!("{error:?}").contains("s3cret"));
}
