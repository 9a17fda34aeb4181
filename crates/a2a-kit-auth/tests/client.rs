//! Token sources against an authorization server, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_core::{
    AgentCard,
    v1::{
        AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
        HttpAuthSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
        SecurityRequirement, SecurityScheme, StringList, o_auth_flows::Flow,
        security_scheme::Scheme,
    },
};
use a2a_kit_auth::client::{
    AgentCredentials, AuthorizationCode, ClientCredentials, CredentialError, CredentialRequest,
    Credentials, DeviceCode, Endpoints, OAuthClient, RefreshToken, Secret, TokenExchange,
};
use http::StatusCode;
use serde_json::json;
use support::{AuthorizationServer, browse, open};

const ID: &str = "app";
const AGENT: &str = "https://agent.example/a2a";

fn oauth(flow: Flow) -> Scheme {
    Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
        flows: Some(OAuthFlows { flow: Some(flow) }),
        ..OAuth2SecurityScheme::default()
    })
}

fn client_credentials(server: &AuthorizationServer) -> Scheme {
    oauth(Flow::ClientCredentials(ClientCredentialsOAuthFlow {
        token_url: server.at("/token"),
        ..ClientCredentialsOAuthFlow::default()
    }))
}

fn authorization_code(server: &AuthorizationServer) -> Scheme {
    oauth(Flow::AuthorizationCode(AuthorizationCodeOAuthFlow {
        authorization_url: server.at("/authorize"),
        token_url: server.at("/token"),
        ..AuthorizationCodeOAuthFlow::default()
    }))
}

fn device_code(server: &AuthorizationServer) -> Scheme {
    oauth(Flow::DeviceCode(DeviceCodeOAuthFlow {
        device_authorization_url: server.at("/device"),
        token_url: server.at("/token"),
        ..DeviceCodeOAuthFlow::default()
    }))
}

fn open_id(server: &AuthorizationServer) -> Scheme {
    Scheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
        open_id_connect_url: server.at("/.well-known/openid-configuration"),
        ..OpenIdConnectSecurityScheme::default()
    })
}

/// The credentials for an agent that requires a scheme with the scopes `read` and `write`.
fn wanted(credentials: &Credentials, scheme: Scheme) -> Result<AgentCredentials, CredentialError> {
    let scopes = StringList { list: vec!["read".into(), "write".into()] };
    let mut card =
        AgentCard::new("Agent", "Wants to know").with_interface(a2a_core::card::JSONRPC, AGENT);
    card.security_schemes.insert("login".into(), SecurityScheme { scheme: Some(scheme) });
    card.security_requirements
        .push(SecurityRequirement { schemes: [("login".to_owned(), scopes)].into() });
    credentials.for_agent(&card, &card.supported_interfaces[0], None)
}

async fn authorization(agent: &AgentCredentials) -> Result<String, CredentialError> {
    Ok(agent.credential().await?.authorization().unwrap().to_owned())
}

fn confidential(server: &AuthorizationServer) -> OAuthClient {
    OAuthClient::confidential(ID, "its secret").unwrap().with_trusted(&server.url).unwrap()
}

fn public(server: &AuthorizationServer) -> OAuthClient {
    OAuthClient::public(ID).unwrap().with_trusted(&server.url).unwrap()
}

#[tokio::test]
async fn client_credentials_tokens_are_cached_and_renewed() {
    let server = AuthorizationServer::start().await;
    let client = confidential(&server).with_audience("agents");
    let credentials = Credentials::new().with(ClientCredentials::new(client));
    let agent = wanted(&credentials, client_credentials(&server)).unwrap();
    for _ in 0..3 {
        assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-1");
    }
    {
        let records = server.records();
        assert_eq!(records.asked.len(), 1);
        let form = &records.asked[0];
        assert_eq!(form["grant_type"], "client_credentials");
        assert_eq!(form["scope"], "read write");
        assert_eq!(form["audience"], "agents");
        assert_eq!(form["authorization"], "Basic YXBwOml0cytzZWNyZXQ=");
        assert!(!form.contains_key("client_secret") && !form.contains_key("client_id"));
    }
    let refused = agent.credential().await.unwrap();
    let renewed = agent.renewed(&refused).await.unwrap();
    assert_eq!(renewed.authorization(), Some("Bearer access-2"));
    assert!(agent.renewed(&renewed).await.unwrap() == renewed, "the second rejection is final");
    assert_eq!(server.records().asked.len(), 2);

    // A token without lifetime is expired.
    server.records().expires_in = Some(0);
    let credentials = Credentials::new().with(ClientCredentials::new(confidential(&server)));
    let agent = wanted(&credentials, client_credentials(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-3");
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-4");
}

#[tokio::test]
async fn client_secret_is_in_the_body_only_if_configured() {
    let server = AuthorizationServer::start().await;
    let client = confidential(&server).with_secret_in_body().with_scopes(["other"]);
    let credentials = Credentials::new().with(ClientCredentials::new(client));
    let agent = wanted(&credentials, client_credentials(&server)).unwrap();
    authorization(&agent).await.unwrap();
    let form = &server.records().asked[0];
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), (ID, "its secret"));
    assert_eq!(form["scope"], "other");
    assert!(!form.contains_key("authorization"));
}

//
#[tokio::test]
async fn client_secret_is_not_sent_to_untrusted_servers() {
    let server = AuthorizationServer::start().await;
    let unknown = OAuthClient::confidential(ID, "its secret").unwrap();
    let unknown = unknown.with_trusted("https://login.example").unwrap();
    let credentials = Credentials::new().with(ClientCredentials::new(unknown));
    for scheme in [client_credentials(&server), open_id(&server)] {
        let agent = wanted(&credentials, scheme).unwrap();
        let error = authorization(&agent).await.unwrap_err();
        assert!(matches!(error, CredentialError::Untrusted { .. }), "{error}");
        assert!(error.to_string().contains(&server.url), "{error}");
    }
    let exposed = oauth(Flow::ClientCredentials(ClientCredentialsOAuthFlow {
        token_url: "http://login.example/token".into(),
        ..ClientCredentialsOAuthFlow::default()
    }));
    let agent = wanted(&credentials, exposed).unwrap();
    let error = authorization(&agent).await.unwrap_err();
    assert!(matches!(error, CredentialError::Insecure { what: "token URL", .. }), "{error}");
    assert!(server.records().asked.is_empty());

    // Configured endpoints override those of the card.
    let endpoints = Endpoints::new(&server.at("/token")).unwrap();
    let client = OAuthClient::confidential(ID, "its secret").unwrap().with_endpoints(endpoints);
    let credentials = Credentials::new().with(ClientCredentials::new(client));
    let bearer = Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: "bearer".into(),
        ..HttpAuthSecurityScheme::default()
    });
    let agent = wanted(&credentials, bearer).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-1");
}

//
#[tokio::test]
async fn authorization_code_token_is_refreshed_without_the_user() {
    let server = AuthorizationServer::start().await;
    let (opened, mut browser) = tokio::sync::mpsc::unbounded_channel();
    let source = AuthorizationCode::new(public(&server), move |url| {
        opened.send(url.to_owned()).unwrap();
    });
    let credentials = Credentials::new().with(source);
    let agent = wanted(&credentials, authorization_code(&server)).unwrap();
    let user = async {
        let url = browser.recv().await.unwrap();
        let parsed = url::Url::parse(&url).unwrap();
        let asked: support::Form = parsed.query_pairs().into_owned().collect();
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["client_id"], ID);
        assert_eq!(asked["scope"], "read write");
        // Requests with an unknown state or path are ignored.
        let redirect = &asked["redirect_uri"];
        assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
        assert_eq!(open(&format!("{redirect}?code=evil&state=guessed")).await.0, 400);
        assert_eq!(open(&format!("{redirect}?code=evil")).await.0, 400);
        assert_eq!(open(&format!("{redirect}/other")).await.0, 404);
        assert_eq!(browse(&url).await, 200);
        asked
    };
    let (token, asked) = tokio::join!(authorization(&agent), user);
    assert_eq!(token.unwrap(), "Bearer access-1");
    {
        let records = server.records();
        let form = &records.asked[0];
        assert_eq!(form["client_id"], ID);
        assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
        assert!(form["code_verifier"].len() >= 43 && !form.contains_key("authorization"));
    }
    let refused = agent.credential().await.unwrap();
    let renewed = agent.renewed(&refused).await.unwrap();
    assert_eq!(renewed.authorization(), Some("Bearer access-2"));
    assert_eq!(server.records().asked[1]["refresh_token"], "refresh-1");
    assert_eq!(server.grants(), ["authorization_code", "refresh_token"]);
}

//
#[tokio::test]
async fn redirect_of_another_request_is_rejected() {
    let server = AuthorizationServer::start().await;
    let client = public(&server);
    let origin = AGENT.parse().unwrap();
    let request = CredentialRequest::new(origin, "login", open_id(&server)).with_scopes(["openid"]);
    let callback = "https://app.example/callback";
    let begin = async || client.begin_authorization(&request, callback).await.unwrap();
    let state = |url: &str| {
        let url = url::Url::parse(url).unwrap();
        let state = url.query_pairs().find(|(name, _)| name == "state");
        state.unwrap().1.into_owned()
    };
    for query in [
        "code=c".to_owned(),
        "code=c&state=other".to_owned(),
        format!("code=c&state={}", state(begin().await.url())),
    ] {
        let refused = begin().await.finish(&format!("{callback}?{query}")).await.unwrap_err();
        assert!(matches!(refused, CredentialError::Redirect(_)), "{query}: {refused}");
    }
    for (extra, is_denied) in [
        ("code=c&iss=https%3A%2F%2Fevil.example", false),
        ("code=", false),
        ("code=c&code=d", false),
        ("error=access_denied", true),
    ] {
        let request = begin().await;
        let redirected = format!("{callback}?state={}&{extra}", state(request.url()));
        let refused = request.finish(&redirected).await.unwrap_err();
        assert_eq!(matches!(refused, CredentialError::Denied { .. }), is_denied, "{extra}");
        assert_eq!(matches!(refused, CredentialError::Redirect(_)), !is_denied, "{extra}");
    }
    assert!(server.records().asked.is_empty(), "no code was sent anywhere");

    let request = begin().await;
    let printed = format!("{request:?}");
    let issuer: String = form_urlencoded::byte_serialize(server.url.as_bytes()).collect();
    server.records().redirect_extra = format!("&iss={issuer}");
    let (_, redirected) = open(request.url()).await;
    let secret = request.finish(&redirected.unwrap()).await.unwrap();
    assert_eq!(secret.expose(), "access-1");
    let verifier = server.records().asked[0]["code_verifier"].clone();
    assert!(!printed.contains(&verifier), "{printed}");
}

#[tokio::test]
async fn authorization_times_out_without_a_redirect() {
    let server = AuthorizationServer::start().await;
    let source = AuthorizationCode::new(public(&server), |_| {});
    let source = source.with_timeout(Duration::from_millis(50));
    let credentials = Credentials::new().with(source);
    let agent = wanted(&credentials, authorization_code(&server)).unwrap();
    let error = authorization(&agent).await.unwrap_err();
    assert!(matches!(error, CredentialError::TimedOut), "{error}");
}

#[tokio::test]
async fn device_code_grant_obtains_and_refreshes_a_token() {
    let server = AuthorizationServer::start().await;
    let (shown, mut prompts) = tokio::sync::mpsc::unbounded_channel();
    for client in [public(&server), confidential(&server)] {
        server.records().is_approved = false;
        let shown = shown.clone();
        let source = DeviceCode::new(client, move |prompt| shown.send(prompt.clone()).unwrap());
        let credentials = Credentials::new().with(source);
        let agent = wanted(&credentials, device_code(&server)).unwrap();
        let user = async {
            let prompt = prompts.recv().await.unwrap();
            assert_eq!(prompt.user_code, "ABCD");
            assert_eq!(prompt.verification_uri, server.at("/verify"));
            while server.records().asked.len() < 3 {
                tokio::task::yield_now().await;
            }
            server.records().is_approved = true;
        };
        let (token, ()) = tokio::join!(authorization(&agent), user);
        assert!(token.unwrap().starts_with("Bearer access-"));
        let mut records = server.records();
        assert!(records.asked.iter().all(|form| form["device_code"] == "device-code"));
        records.asked.clear();
    }
}

#[tokio::test]
async fn device_code_polling_slows_down_and_stops_when_denied() {
    let server = AuthorizationServer::start().await;
    let bad = |error: &str| (StatusCode::BAD_REQUEST, json!({"error": error}));
    let credentials = || Credentials::new().with(DeviceCode::new(public(&server), |_| {}));
    for (error, is_late) in [("access_denied", false), ("expired_token", true)] {
        server.records().answers = vec![bad("authorization_pending"), bad(error)];
        let agent = wanted(&credentials(), device_code(&server)).unwrap();
        let refused = authorization(&agent).await.unwrap_err();
        assert_eq!(matches!(refused, CredentialError::TimedOut), is_late, "{refused}");
    }
    server.records().answers = vec![bad("slow_down"), bad("access_denied")];
    let before = std::time::Instant::now();
    let agent = wanted(&credentials(), device_code(&server)).unwrap();
    authorization(&agent).await.unwrap_err();
    assert!(before.elapsed() >= Duration::from_secs(5), "{:?}", before.elapsed());
}

#[tokio::test]
async fn user_token_is_exchanged_for_one_for_the_agent() {
    let server = AuthorizationServer::start().await;
    let source = TokenExchange::new(confidential(&server), async || Ok("the user's".into()))
        .with_actor(async || Ok("the agent's".into()));
    let credentials = Credentials::new().with(source);
    let agent = wanted(&credentials, client_credentials(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-1");
    let records = server.records();
    let form = &records.asked[0];
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(form["subject_token"], "the user's");
    assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    assert_eq!(form["actor_token"], "the agent's");
    assert_eq!(form["scope"], "read write");
}

//
#[tokio::test]
async fn rotated_refresh_tokens_are_used_once() {
    let server = AuthorizationServer::start().await;
    server.records().is_approved = true;
    let credentials = Credentials::new().with(DeviceCode::new(public(&server), |_| {}));
    let agent = wanted(&credentials, device_code(&server)).unwrap();
    authorization(&agent).await.unwrap();

    let kept = Secret::new("").with_refresh_token("refresh-1");
    let credentials = Credentials::new().with(RefreshToken::new(public(&server), kept));
    let agent = wanted(&credentials, device_code(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-2");
    let refused = agent.credential().await.unwrap();
    let renewed = agent.renewed(&refused).await.unwrap();
    assert_eq!(renewed.authorization(), Some("Bearer access-3"));
    let used: Vec<_> = {
        let records = server.records();
        records.asked.iter().filter_map(|form| form.get("refresh_token").cloned()).collect()
    };
    assert_eq!(used, ["refresh-1", "refresh-2"]);

    // A token that is still valid is used before refreshing.
    let granted = Secret::new("at hand").with_refresh_token("refresh-3");
    let credentials = Credentials::new().with(RefreshToken::new(public(&server), granted));
    let agent = wanted(&credentials, device_code(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer at hand");
    let refused = agent.credential().await.unwrap();
    let renewed = agent.renewed(&refused).await.unwrap();
    assert_eq!(renewed.authorization(), Some("Bearer access-4"));
}

#[tokio::test]
async fn endpoints_come_from_the_provider_metadata() {
    let server = AuthorizationServer::start().await;
    let credentials = Credentials::new().with(ClientCredentials::new(confidential(&server)));
    let agent = wanted(&credentials, open_id(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-1");

    let configured = OAuthClient::confidential(ID, "s").unwrap().with_issuer(&server.url).unwrap();
    let credentials = Credentials::new().with(ClientCredentials::new(configured));
    let agent = wanted(&credentials, open_id(&server)).unwrap();
    assert_eq!(authorization(&agent).await.unwrap(), "Bearer access-2");

    // Metadata of another issuer is rejected.
    server.records().issuer = Some("https://login.example".into());
    let credentials = Credentials::new().with(ClientCredentials::new(confidential(&server)));
    let agent = wanted(&credentials, open_id(&server)).unwrap();
    let error = authorization(&agent).await.unwrap_err();
    assert!(matches!(error, CredentialError::InvalidResponse(_)), "{error}");
}

#[tokio::test]
async fn malformed_responses_are_rejected_with_a_reason() {
    let server = AuthorizationServer::start().await;
    let ok = StatusCode::OK;
    for (status, answer, expected) in [
        (ok, json!({"access_token": "t", "token_type": "DPoP"}), "unsupported token type"),
        (ok, json!({"access_token": ""}), "empty access token"),
        (ok, json!({"token_type": "bearer"}), "JSON Data error"),
        (ok, json!(["planted"]), "JSON "),
        (StatusCode::BAD_REQUEST, json!({"no": "error"}), "400"),
        (StatusCode::FOUND, json!({}), "302"),
        (StatusCode::UNAUTHORIZED, json!({"error": "invalid_client"}), "invalid_client"),
        (StatusCode::INTERNAL_SERVER_ERROR, json!({}), "authorization server unavailable"),
        (ok, json!({"access_token": "line\nbreak"}), "invalid characters"),
        (
            ok,
            json!({"access_token": "t", "x": "y".repeat(2 << 20)}),
            "authorization server unavailable",
        ),
    ] {
        server.records().answers = vec![(status, answer.clone())];
        let credentials = Credentials::new().with(ClientCredentials::new(confidential(&server)));
        let agent = wanted(&credentials, client_credentials(&server)).unwrap();
        let error = authorization(&agent).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!format!("{error:?}").contains("planted"), "{error:?}");
    }
}

#[tokio::test]
async fn concurrent_requests_obtain_one_token() {
    let server = AuthorizationServer::start().await;
    let credentials = Credentials::new().with(ClientCredentials::new(confidential(&server)));
    let agent = wanted(&credentials, client_credentials(&server)).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let (agent, seen) = (agent.clone(), seen.clone());
            tokio::spawn(async move {
                let token = authorization(&agent).await.unwrap();
                seen.lock().unwrap().push(token);
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(seen.lock().unwrap().iter().all(|token| token == "Bearer access-1"));
    assert_eq!(server.records().asked.len(), 1);
}
