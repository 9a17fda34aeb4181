//! Both ends of authentication: clients that go by a card, and agents that enforce it.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

mod support;

use std::{net::SocketAddr, sync::Arc};

use a2a::{
    AgentCard, AgentError, AgentExecutor, Client, Engine, ErrorKind, RequestContext, Server,
    TaskState, TaskUpdater,
    client::{DiscoveryError, Transport},
    operations::Caller,
};
use a2a_auth::{
    client::{ApiKey, Bearer, ClientCredentials, CredentialError, Credentials, OAuthClient},
    server::{ApiKeys, BearerTokens, Guard, Introspection},
};
use a2a_core::v1::{
    ApiKeySecurityScheme, ClientCredentialsOAuthFlow, HttpAuthSecurityScheme, OAuth2SecurityScheme,
    OAuthFlows, SecurityRequirement, SecurityScheme, StringList, o_auth_flows::Flow,
    security_scheme::Scheme,
};
use support::AuthorizationServer;
use tokio::{net::TcpListener, sync::Semaphore};

/// Says who calls, once it is let.
struct WhoAmI(Arc<Semaphore>);

impl AgentExecutor for WhoAmI {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError> {
        updates.start().await?;
        self.0.acquire().await?.forget();
        updates.complete(context.call().caller.subject().unwrap_or("nobody")).await?;
        Ok(())
    }
}

fn secured(schemes: &[(&str, Scheme)], wanted: &[&[&str]]) -> AgentCard {
    let mut card = AgentCard::new("Who", "Says who calls").with_extended_card(true);
    for (name, scheme) in schemes {
        let scheme = SecurityScheme { scheme: Some(scheme.clone()) };
        card.security_schemes.insert((*name).to_owned(), scheme);
    }
    card.security_requirements = wanted
        .iter()
        .map(|names| SecurityRequirement {
            schemes: names.iter().map(|name| ((*name).into(), StringList::default())).collect(),
        })
        .collect();
    card
}

async fn start(card: AgentCard, guard: Guard, gate: &Arc<Semaphore>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let engine = Engine::builder(card.clone(), WhoAmI(gate.clone())).extended_card(card).build();
    let server = Server::of(engine).with_auth(guard);
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

fn api_key(location: &str, name: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        location: location.into(),
        name: name.into(),
        ..ApiKeySecurityScheme::default()
    })
}

//
#[tokio::test]
async fn what_a_card_requires_is_what_a_client_brings() {
    let bearer = Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: "bearer".into(),
        ..HttpAuthSecurityScheme::default()
    });
    let schemes =
        [("key", api_key("header", "X-Key")), ("bearer", bearer), ("id", api_key("cookie", "id"))];
    let card = secured(&schemes, &[&["bearer", "key"], &["id"]]);
    let ann = || Caller::authenticated("ann");
    let guard = Guard::new()
        .with_verifier("key", ApiKeys::new().with_key("k-ann", ann()))
        .with_verifier("id", ApiKeys::new().with_key("c-ann", ann()))
        .with_verifier("bearer", BearerTokens::new().with_token("t-ann", ann()));
    let address = start(card, guard, &Arc::new(Semaphore::new(100))).await;
    let both = Credentials::new().with(ApiKey::new("k-ann")).with(Bearer::new("t-ann"));
    let cookie = Credentials::new().with_named("id", ApiKey::new("c-ann"));
    let wrong = Credentials::new().with(ApiKey::new("k-bob")).with(Bearer::new("t-ann"));
    for transport in Transport::ALL {
        let connect = async |credentials: &Credentials| {
            let builder = Client::builder().only([transport]).credentials(credentials.clone());
            builder.connect(&address.to_string()).await
        };
        for credentials in [&both, &cookie] {
            let client = connect(credentials).await.unwrap();
            assert_eq!(client.send_text("hi").await.unwrap(), "ann", "{transport}");
            client.extended_card().await.unwrap();
        }
        let refused = connect(&wrong).await.unwrap().send_text("hi").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unauthenticated, "{transport}");
        let nothing = connect(&Credentials::new().with(Bearer::new("t-ann"))).await.unwrap_err();
        let DiscoveryError::Credentials(CredentialError::Unmet(why)) = nothing else {
            panic!("{nothing:?}");
        };
        assert_eq!(why.len(), 2, "{why:?}");
    }
}

#[tokio::test]
async fn a_stream_outlives_the_token_that_it_was_opened_with() {
    let issuer = AuthorizationServer::start().await;
    let flow = ClientCredentialsOAuthFlow {
        token_url: issuer.at("/token"),
        ..ClientCredentialsOAuthFlow::default()
    };
    let scheme = Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
        flows: Some(OAuthFlows { flow: Some(Flow::ClientCredentials(flow)) }),
        ..OAuth2SecurityScheme::default()
    });
    let oauth = OAuthClient::confidential("app", "s").unwrap().with_trusted(&issuer.url).unwrap();
    for transport in Transport::ALL {
        let gate = Arc::new(Semaphore::new(0));
        let verifier =
            Introspection::new(&issuer.url, &issuer.at("/introspect"), "agent", "s").unwrap();
        let guard = Guard::new().with_verifier("oauth", verifier);
        let card = secured(&[("oauth", scheme.clone())], &[&["oauth"]]);
        let address = start(card, guard, &gate).await;
        issuer.records().asked.clear();
        issuer.records().expires_in = Some(2);
        let credentials = Credentials::new().with(ClientCredentials::new(oauth.clone()));
        let builder = Client::builder().only([transport]).credentials(credentials);
        let client = builder.connect(&address.to_string()).await.unwrap();
        let mut events = client.stream("wait").await.unwrap();
        let opening = events.next().await.unwrap().unwrap();
        assert!(opening.task().is_some(), "{transport}: {opening:?}");
        let reading = async {
            let mut states = Vec::new();
            while let Some(event) = events.next().await {
                let event = event.unwrap_or_else(|error| panic!("{transport}: {error:?}"));
                states.extend(event.state());
            }
            states
        };
        let opening_gate = async {
            // A second token is asked for when the stream has to be opened again.
            issuer.asked(2).await;
            issuer.records().expires_in = Some(600);
            gate.add_permits(1);
        };
        let (states, ()) = tokio::join!(reading, opening_gate);
        assert_eq!(states.last(), Some(&TaskState::Completed), "{transport}: {states:?}");
    }
}
