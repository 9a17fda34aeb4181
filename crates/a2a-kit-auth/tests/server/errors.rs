//! Errors of unauthenticated and unauthorized callers.

use std::time::Duration;

use a2a_core::v1::{MutualTlsSecurityScheme, security_scheme::Scheme};
use a2a_kit::{
    AgentCard, Client, Error, ErrorKind, ServeError,
    client::{RetryPolicy, Transport},
    operations::Caller,
    types::ProtocolVersion,
    v1::AgentSkill,
};
use a2a_kit_auth::server::{ApiKeys, BearerTokens, Guard, GuardError, Throttle};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::fixture::{
    WAYS, Way, api_key, card, client, everything, http, http_scheme, requirement, serve, server,
    start,
};

const JSON_RPC: Way = Way(Transport::JsonRpc, ProtocolVersion::V1_0);

/// An agent that requires a token with the scopes `read` and `write`.
fn scoped() -> (AgentCard, Guard) {
    let card = card(
        &[("bearer", http_scheme("bearer"))],
        &[requirement(&[("bearer", &["write", "read"])])],
    );
    let tokens = BearerTokens::new()
        .with_token("all", Caller::authenticated("ann").with_scopes(["read", "write"]))
        .with_token("some", Caller::authenticated("bob").with_scopes(["read", "admin"]));
    (card, Guard::new().with_verifier("bearer", tokens))
}

async fn post(
    url: &str,
    version: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> reqwest::Response {
    let mut request = http()
        .post(url)
        .header("content-type", "application/json")
        .header("a2a-version", version)
        .body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

async fn json_of(response: reqwest::Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

fn rpc(method: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": "seven", "method": method,
        "params": {"message": {
            "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "kind": "message",
        }},
    })
}

//
#[tokio::test]
async fn unauthenticated_error_has_the_form_of_its_revision_and_all_challenges() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    let all = "Bearer realm=\"a2a\", ApiKey realm=\"a2a\", in=\"header\", name=\"x-api-key\", \
               ApiKey realm=\"a2a\", in=\"cookie\", name=\"session\", \
               Basic realm=\"a2a\", charset=\"UTF-8\"";
    let message =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
    for (path, version, body, code) in [
        ("/", "1.0", rpc("SendMessage"), -31401),
        ("/", "1.0", rpc("SendStreamingMessage"), -31401),
        ("/", "1.0", rpc("NoSuchMethod"), -31401),
        ("/", "0.3", rpc("message/send"), -31401),
        ("/", "0.3", rpc("message/stream"), -31401),
        ("/message:send", "1.0", message.clone(), 401),
        ("/message:stream", "1.0", message.clone(), 401),
        ("/message:send", "1.0", json!({"message": 7}), 401),
    ] {
        let response = post(&format!("http://{address}{path}"), version, &body, &[]).await;
        let context = format!("{path} {version} {body}");
        assert_eq!(response.status(), 401, "{context}");
        assert_eq!(response.headers()["www-authenticate"], all, "{context}");
        let answer: Value = json_of(response).await;
        assert_eq!(answer["error"]["code"], code, "{context}: {answer}");
        if code < 0 && !body["method"].as_str().unwrap().starts_with("No") {
            assert_eq!(answer["id"], "seven", "{context}: {answer}");
        }
    }
    for (method, path) in
        [("GET", "/tasks"), ("GET", "/tasks/t"), ("GET", "/v1/card"), ("PUT", "/tasks")]
    {
        let request = http()
            .request(method.parse().unwrap(), format!("http://{address}{path}"))
            .header("a2a-version", "1.0");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{method} {path}");
    }
}

//
#[tokio::test]
async fn missing_scope_is_named_in_the_error() {
    let (card, guard) = scoped();
    let address = start(card, guard).await;
    for way in WAYS.into_iter().chain([Way(Transport::JsonRpc, ProtocolVersion::V0_2)]) {
        let may = client(address, way, &[("authorization", "Bearer all")]).await;
        assert_eq!(may.send_text("hi").await.unwrap(), "ann read write", "{way:?}");
        let may_not = client(address, way, &[("authorization", "Bearer some")]).await;
        let error = may_not.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{way:?}");
        assert_eq!(error.message(), "missing scopes: write", "{way:?}");
        let challenge = "Bearer realm=\"a2a\", error=\"insufficient_scope\", scope=\"write\"";
        assert_eq!(error.challenge(), Some(challenge), "{way:?}");
        let unknown = client(address, way, &[("authorization", "Bearer none")]).await;
        let error = unknown.send_text("hi").await.unwrap_err();
        let challenge = "Bearer realm=\"a2a\", error=\"invalid_token\", scope=\"read write\"";
        assert_eq!(error.challenge(), Some(challenge), "{way:?}");
        assert_eq!(error.message(), "invalid credentials", "{way:?}");
    }
    let url = format!("http://{address}/");
    let response =
        post(&url, "1.0", &rpc("SendMessage"), &[("authorization", "Bearer some")]).await;
    assert_eq!(response.status(), 403);
    let answer: Value = json_of(response).await;
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-31403), &json!("seven")));
}

//
#[tokio::test]
async fn skill_requirements_apply_to_messages_for_the_skill() {
    let skill = |id: &str, scopes: &[&str]| AgentSkill {
        id: id.into(),
        name: id.into(),
        description: "What it does".into(),
        tags: vec!["test".into()],
        security_requirements: vec![requirement(&[("bearer", scopes)])],
        ..AgentSkill::default()
    };
    let card = card(&[("bearer", http_scheme("bearer"))], &[requirement(&[("bearer", &[])])])
        .with_skill(skill("pay", &["pay"]));
    let tokens = BearerTokens::new()
        .with_token("rich", Caller::authenticated("ann").with_scopes(["pay"]))
        .with_token("poor", Caller::authenticated("bob"));
    let guard = Guard::new().with_verifier("bearer", tokens).with_skill_resolver(|request| {
        let text = request.message.as_ref()?.text();
        Some(text.split(' ').next()?.to_owned())
    });
    let address = start(card, guard).await;
    for way in WAYS {
        let ann = client(address, way, &[("authorization", "Bearer rich")]).await;
        let bob = client(address, way, &[("authorization", "Bearer poor")]).await;
        assert_eq!(ann.send_text("pay 7").await.unwrap(), "ann pay", "{way:?}");
        assert_eq!(bob.send_text("look at 7").await.unwrap(), "bob", "{way:?}");
        let error = bob.send_text("pay 7").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{way:?}");
        assert_eq!(error.message(), "missing scopes: pay", "{way:?}");
        let error = bob.stream("pay 7").await.expect_err("rejected before the stream opens");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{way:?}");
    }
}

//
#[tokio::test]
async fn policy_and_tenants_restrict_authenticated_callers() {
    let (card, guard) = everything();
    let guard = guard
        .with_policy(|caller, operation, _tenant| {
            match (caller.subject(), operation.is_streaming()) {
                (Some("ann"), true) => {
                    Err(Error::new(ErrorKind::PermissionDenied, "ann does not stream"))
                }
                _ => Ok(()),
            }
        })
        .with_tenants(|caller, tenant| tenant.is_empty() || caller.subject() == Some("dan"));
    let address = start(card, guard).await;
    let ann = client(address, JSON_RPC, &[("x-api-key", "k-ann")]).await;
    ann.send_text("hi").await.unwrap();
    let error = ann.stream("hi").await.expect_err("she does not stream");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::PermissionDenied, "ann does not stream")
    );
    for (header, value, status) in
        [("x-api-key", "k-ann", 403), ("authorization", "Bearer t-dan", 200)]
    {
        let url = format!("http://{address}/acme/tasks");
        let request = http().get(url).header("a2a-version", "1.0").header(header, value);
        assert_eq!(request.send().await.unwrap().status(), status, "{value}");
    }
}

//
#[tokio::test]
async fn extended_card_requires_authentication_even_if_the_agent_does_not() {
    let card = card(&[("key", api_key("header", "x-key"))], &[]);
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
    let address = start(card, Guard::new().with_verifier("key", keys)).await;
    for way in WAYS {
        let anyone = client(address, way, &[]).await;
        assert_eq!(anyone.send_text("hi").await.unwrap(), "nobody", "{way:?}");
        match anyone.extended_card().await {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{way:?}: {error}"),
            // The gRPC method of 0.3 also returns the public card.
            Ok(card) => assert_eq!(card.description, "Says who calls", "{way:?}"),
        }
        let ann = client(address, way, &[("x-key", "secret")]).await;
        assert_eq!(ann.send_text("hi").await.unwrap(), "ann", "{way:?}");
        assert_eq!(ann.extended_card().await.unwrap().description, "Says more to those it knows");
        let liar = client(address, way, &[("x-key", "guess")]).await;
        let error = liar.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{way:?}: it is not passed over");
    }
}

#[tokio::test]
async fn guard_of_the_extended_card_ignores_the_credentials_of_other_calls() {
    let card = card(&[("key", api_key("header", "x-key"))], &[]);
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
    let guard = Guard::new()
        .with_verifier("key", keys)
        .with_throttle(Throttle::default().with_failures_allowed(3))
        .with_extended_card_only();
    let address = start(card, guard).await;
    for way in WAYS {
        let ann = client(address, way, &[("x-key", "secret")]).await;
        assert_eq!(ann.send_text("hi").await.unwrap(), "nobody", "{way:?}");
        assert_eq!(ann.extended_card().await.unwrap().description, "Says more to those it knows");
    }
    let liar = client(address, JSON_RPC, &[("x-key", "guess")]).await;
    let url = format!("http://{address}/");
    for number in 0..8 {
        assert_eq!(liar.send_text("hi").await.unwrap(), "nobody");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"});
        let response = post(&url, "1.0", &call, &[("x-key", "guess")]).await;
        let expected = if number < 4 { 401 } else { 429 };
        assert_eq!(response.status(), expected, "{number}");
    }
}

#[tokio::test]
async fn public_card_and_health_need_no_credentials() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    for path in ["/.well-known/agent-card.json", "/healthz", "/readyz"] {
        let response = http().get(format!("http://{address}{path}")).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
    }
}

//
#[tokio::test]
async fn private_card_requires_credentials() {
    let (required, guard) = everything();
    let open = card(&[("key", api_key("header", "x-api-key"))], &[]);
    let keys = ApiKeys::new().with_key("k-ann", Caller::authenticated("ann"));
    for (card, guard) in [(required, guard), (open, Guard::new().with_verifier("key", keys))] {
        let address = start(card.clone(), guard.with_private_card()).await;
        for path in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
            let get = || http().get(format!("http://{address}{path}"));
            for request in [get(), get().header("x-api-key", "guess")] {
                let refused = request.send().await.unwrap();
                assert_eq!(refused.status(), 401, "{path}");
                assert!(refused.headers().contains_key("www-authenticate"), "{path}");
                assert!(!refused.text().await.unwrap().contains("Says who calls"), "{path}");
            }
            let shown = get().header("x-api-key", "k-ann").send().await.unwrap();
            assert_eq!(shown.status(), 200, "{path}");
            assert_eq!(shown.headers()["cache-control"], "private, no-cache", "{path}");
            assert!(shown.text().await.unwrap().contains("Says who calls"), "{path}");
        }
        let listed = card.with_interface("GRPC", address.to_string());
        let mut of_0_3 = listed;
        "0.3".clone_into(&mut of_0_3.supported_interfaces[0].protocol_version);
        if !of_0_3.security_requirements.is_empty() {
            let client = Client::builder().retry(RetryPolicy::NEVER).build(of_0_3).unwrap();
            let error = client.extended_card().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "not by the other method");
        }
    }
}

#[tokio::test]
async fn body_of_a_rejected_request_is_not_awaited() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    for (path, media_type) in [
        ("/", "application/json"),
        ("/message:send", "application/json"),
        ("/", "application/grpc"),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\na2a-version: 1.0\r\ncontent-type: {media_type}\r\n\
             content-length: 30000000\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; 100 << 10]).await.unwrap();
        let mut answer = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(8), stream.read(&mut answer));
        let length = read.await.expect("a response is sent").unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]).to_ascii_lowercase();
        assert!(answer.contains("www-authenticate: bearer realm"), "{path} {media_type}: {answer}");
        let refused = if media_type.ends_with("grpc") { "grpc-status: 16" } else { " 401 " };
        assert!(answer.contains(refused), "{path} {media_type}: {answer}");
    }
}

//
#[tokio::test]
async fn guesses_are_throttled_but_verified_credentials_are_not() {
    let (card, guard) = everything();
    let throttle = Throttle::default().with_failures_allowed(5);
    let guard = guard
        .with_throttle(throttle.with_backoff(Duration::from_secs(600), Duration::from_secs(600)));
    let address = start(card, guard).await;
    let ann = client(address, JSON_RPC, &[("x-api-key", "k-ann")]).await;
    ann.send_text("hi").await.unwrap();
    for number in 0..20 {
        let guess = format!("Bearer guess-{number}");
        let guesser = client(address, JSON_RPC, &[("authorization", &guess)]).await;
        let error = guesser.send_text("hi").await.unwrap_err();
        if number < 6 {
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{number}");
        } else {
            assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{number}");
            assert!(error.retry_after().unwrap() > Duration::from_secs(500));
        }
    }
    for way in WAYS {
        // A correct guess is not verified either.
        let late = client(address, way, &[("authorization", "Bearer t-dan")]).await;
        let error = late.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{way:?}");
        assert!(error.retry_after().is_some(), "{way:?}");
        let known = client(address, way, &[("x-api-key", "k-ann")]).await;
        known.send_text("hi").await.unwrap();
        let nobody = client(address, way, &[]).await;
        let error = nobody.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{way:?}: that is no try");
    }
}

#[tokio::test]
async fn trusted_proxy_throttles_by_client_address() {
    let (card, guard) = everything();
    let throttle = Throttle::default()
        .with_failures_allowed(0)
        .with_backoff(Duration::from_secs(600), Duration::from_secs(600));
    let guard = guard.with_throttle(throttle).with_trusted_proxy("127.0.0.0/8".parse().unwrap());
    let address = start(card, guard).await;
    let wrong =
        client(address, JSON_RPC, &[("x-api-key", "guess"), ("x-forwarded-for", "198.51.100.7")])
            .await;
    assert_eq!(wrong.send_text("hi").await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    for (from, waits) in [
        ("198.51.100.7", true),
        ("203.0.113.1, 198.51.100.7", true),
        ("198.51.100.7, 198.51.100.8", false),
    ] {
        let headers = [("authorization", "Bearer t-dan"), ("x-forwarded-for", from)];
        let sent = client(address, JSON_RPC, &headers).await.send_text("hi").await;
        assert_eq!(sent.is_err(), waits, "{from}: {sent:?}");
    }
}

//
#[tokio::test]
async fn unenforceable_card_is_an_error() {
    let key = || api_key("header", "x-key");
    let keys = || ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
    let needs = |name: &str| [requirement(&[(name, &[])])];
    let mutual = Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default());
    let secured_skill = || AgentSkill {
        id: "pay".into(),
        name: "pay".into(),
        description: "Pays".into(),
        tags: vec!["money".into()],
        security_requirements: needs("key").into(),
        ..AgentSkill::default()
    };
    let named = |scheme: &str| scheme.to_owned();
    for (card, guard, expected) in [
        (
            card(&[("key", key())], &needs("key")),
            Guard::new(),
            GuardError::NoVerifier(named("key")),
        ),
        (
            card(&[("key", key()), ("mtls", mutual)], &needs("key")),
            Guard::new().with_verifier("key", keys()),
            GuardError::NoVerifier(named("mtls")),
        ),
        (
            card(&[("key", http_scheme("bearer"))], &needs("key")),
            Guard::new().with_verifier("key", keys()),
            GuardError::SchemeMismatch(named("key")),
        ),
        (
            card(&[], &[]),
            Guard::new().with_verifier("key", keys()),
            GuardError::Undeclared(named("key")),
        ),
        (
            card(&[("key", key())], &needs("other")),
            Guard::new().with_verifier("key", keys()),
            GuardError::UnknownScheme(named("other")),
        ),
        (
            card(&[("key", key())], &[]).with_skill(secured_skill()),
            Guard::new().with_verifier("key", keys()),
            GuardError::UnknownSkill(named("pay")),
        ),
        (card(&[], &[]).with_extended_card(true), Guard::new(), GuardError::OpenExtendedCard),
        (
            card(&[("key", http_scheme("digest"))], &needs("key")),
            Guard::new().with_verifier("key", keys()),
            GuardError::Unenforceable {
                scheme: named("key"),
                reason: "unsupported HTTP authentication scheme (expected Basic or Bearer)",
            },
        ),
        (
            card(&[("key", api_key("body", "x"))], &needs("key")),
            Guard::new().with_verifier("key", keys()),
            GuardError::Unenforceable {
                scheme: named("key"),
                reason: "location of the API key must be header, query or cookie",
            },
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let served = server(card).with_auth(guard).serve(listener, std::future::pending()).await;
        let Err(ServeError::Guard(error)) = served else { panic!("{expected}: {served:?}") };
        assert_eq!(error, expected);
    }
}

//
#[tokio::test]
async fn card_with_schemes_needs_a_guard_or_external_security() {
    let card = || card(&[("key", api_key("header", "x-key"))], &[requirement(&[("key", &[])])]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let served = server(card()).serve(listener, std::future::pending()).await;
    assert!(matches!(served, Err(ServeError::Unguarded)), "{served:?}");
    let address = serve(server(card()).trust_layers_for_auth()).await;
    let anyone = client(address, JSON_RPC, &[]).await;
    assert_eq!(anyone.send_text("hi").await.unwrap(), "nobody");
}

#[tokio::test]
async fn extended_card_can_be_made_public_explicitly() {
    let guard = Guard::new().with_open_extended_card();
    let address = serve(server(card(&[], &[]).with_extended_card(true)).with_auth(guard)).await;
    let anyone = client(address, JSON_RPC, &[]).await;
    assert_eq!(anyone.extended_card().await.unwrap().description, "Says more to those it knows");
}

//
#[tokio::test]
async fn unknown_user_and_wrong_password_are_indistinguishable() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    let url = format!("http://{address}/");
    let mut answers = Vec::new();
    for credentials in ["Ym9iOndyb25n", "bm9ib2R5Ondyb25n"] {
        let header = format!("Basic {credentials}");
        let response = post(&url, "1.0", &rpc("SendMessage"), &[("authorization", &header)]).await;
        let mut headers = response.headers().clone();
        headers.remove("date");
        answers.push((response.status(), headers, response.text().await.unwrap()));
    }
    assert_eq!(answers[0], answers[1]);
}
