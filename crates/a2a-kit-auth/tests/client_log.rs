//! Client secrets in the log. Needs a separate process, as the log is global.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod support;

use std::{
    io,
    sync::{Arc, Mutex},
};

use a2a_core::v1::{
    ApiKeySecurityScheme, ClientCredentialsOAuthFlow, OAuth2SecurityScheme, OAuthFlows,
    SecurityRequirement, SecurityScheme, StringList, o_auth_flows::Flow, security_scheme::Scheme,
};
use a2a_kit::{AgentCard, Client, Engine, Server, agent_fn, client::Transport, operations::Caller};
use a2a_kit_auth::{
    client::{ApiKey, Basic, ClientCredentials, Credentials, OAuthClient},
    server::{ApiKeys, Guard, Introspection},
};
use http::StatusCode;
use serde_json::json;
use support::AuthorizationServer;
use tokio::net::TcpListener;
use tracing_subscriber::fmt::MakeWriter;

/// The whole log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn api_key(location: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        location: location.into(),
        name: "x-key".into(),
        ..ApiKeySecurityScheme::default()
    })
}

//
#[tokio::test]
async fn log_has_no_secrets_at_any_level() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let issuer = AuthorizationServer::start().await;
    let flow = ClientCredentialsOAuthFlow {
        token_url: issuer.at("/token"),
        ..ClientCredentialsOAuthFlow::default()
    };
    let oauth = Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
        flows: Some(OAuthFlows { flow: Some(Flow::ClientCredentials(flow)) }),
        ..OAuth2SecurityScheme::default()
    });
    let mut card = AgentCard::new("Echo", "Says what it hears");
    for (name, scheme) in [("oauth", oauth), ("key", api_key("header")), ("id", api_key("cookie"))]
    {
        card.security_schemes.insert(name.into(), SecurityScheme { scheme: Some(scheme) });
    }
    let names = ["oauth", "key", "id"].map(|name| (name.to_owned(), StringList::default()));
    card.security_requirements = vec![SecurityRequirement { schemes: names.into() }];
    let app = || Caller::authenticated(format!("{}#app", issuer.url));
    let verifier =
        Introspection::new(&issuer.url, &issuer.at("/introspect"), "agent", "s").unwrap();
    let guard = Guard::new()
        .with_verifier("oauth", verifier)
        .with_verifier("key", ApiKeys::new().with_key("planted-key", app()))
        .with_verifier("id", ApiKeys::new().with_key("planted-cookie", app()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let engine = Engine::new(card, agent_fn(async |text: String| text));
    let server = Server::from(engine).with_auth(guard);
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });

    let client = OAuthClient::confidential("app", "planted-secret").unwrap();
    let client = client.with_trusted(&issuer.url).unwrap();
    let credentials = Credentials::new()
        .with(ClientCredentials::new(client))
        .with_named("id", ApiKey::new("planted-cookie"))
        .with(ApiKey::new("planted-key"))
        .with(Basic::new("user", "planted-password").unwrap());
    for transport in Transport::ALL {
        let builder = Client::builder().only([transport]).credentials(credentials.clone());
        let client = builder.clone().connect(&address.to_string()).await.unwrap();
        assert_eq!(client.send_text("hi").await.unwrap(), "hi", "{transport}");
        client.stream("hi").await.unwrap().outcome().await.unwrap();
        // The token is revoked, and the issuer's error repeats the request.
        issuer.records().active.clear();
        let refusal = json!({"error": "planted-secret", "error_description": "planted-secret!"});
        issuer.records().answers = vec![(StatusCode::BAD_REQUEST, refusal)];
        let _ = client.send_text("hi").await;
        issuer.records().answers.clear();
        let printed = format!("{builder:?} {client:?} {:?}", client.context());
        assert!(!printed.contains("planted") && !printed.contains("access-"), "{printed}");
    }
    let text = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(text.lines().count() > 100, "the log is not empty");
    for line in text.lines() {
        assert!(!line.contains("planted") && !line.contains("Bearer access-"), "{line}");
    }
}
