//! API keys, passwords and static tokens.

use a2a_kit::{ErrorKind, client::Transport, operations::Caller, types::ProtocolVersion};
use a2a_kit_auth::server::{ApiKeys, Guard};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::fixture::{
    WAYS, Way, api_key, card, client, every_operation, everything, http, requirement, start,
};

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

// covers: R-268, R-310, R-314
#[tokio::test]
async fn each_scheme_identifies_its_caller_on_every_binding() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    for way in WAYS {
        for (header, value, name) in [
            ("x-api-key", "k-ann".to_owned(), "ann"),
            ("cookie", "theme=dark; session=c-cy".into(), "cy"),
            ("authorization", basic("bob", "open sesame"), "bob"),
            ("authorization", "Bearer t-dan".into(), "dan"),
        ] {
            let client = client(address, way, &[(header, &value)]).await;
            assert_eq!(client.send_text("hi").await.unwrap(), name, "{way:?}");
        }
    }
}

// covers: R-123, R-124, R-157, R-310, R-311, R-312, R-380, R-416
#[tokio::test]
async fn operations_reject_missing_and_invalid_credentials() {
    let (card, guard) = everything();
    let guard = guard.with_throttle(
        a2a_kit_auth::server::Throttle::default().with_failures_allowed(u32::MAX - 1),
    );
    let address = start(card, guard).await;
    for way in WAYS {
        for headers in [
            &[][..],
            &[("x-api-key", "k-bob")],
            &[("authorization", "Bearer t-ann")],
            &[("authorization", "Digest username=\"bob\"")],
            &[("authorization", &*basic("bob", "wrong"))],
            // A valid credential does not compensate for an invalid one.
            &[("authorization", "Bearer t-dan"), ("x-api-key", "k-bob")],
        ] {
            let client = client(address, way, headers).await;
            for (operation, outcome) in every_operation(&client, way).await {
                let error = outcome.expect_err(&format!("{operation:?} {way:?} {headers:?}"));
                let context = format!("{operation:?} {way:?} {headers:?}: {error}");
                assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{context}");
                let challenge = error.challenge().expect(&context);
                assert!(challenge.starts_with("Bearer realm=\"a2a\""), "{context}: {challenge}");
            }
        }
    }
}

// covers: R-310
#[tokio::test]
async fn operations_accept_valid_credentials() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    for way in WAYS {
        let client = client(address, way, &[("x-api-key", "k-ann")]).await;
        for (operation, outcome) in every_operation(&client, way).await {
            let kind = outcome.err().map(|error| error.kind());
            let refused = [ErrorKind::Unauthenticated, ErrorKind::PermissionDenied];
            assert!(kind.is_none_or(|kind| !refused.contains(&kind)), "{operation:?} {way:?}");
        }
    }
}

#[tokio::test]
async fn api_key_in_the_query_is_accepted() {
    let card = card(&[("key", api_key("query", "key"))], &[requirement(&[("key", &[])])]);
    let keys = ApiKeys::new().with_key("secret&more", Caller::authenticated("ann"));
    let address = start(card, Guard::new().with_verifier("key", keys)).await;
    let http = http();
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    for (query, status) in [("", 401), ("?key=secret", 401), ("?key=secret%26more", 200)] {
        let request = http
            .post(format!("http://{address}/message:send{query}"))
            .header("a2a-version", "1.0")
            .header("content-type", "application/json")
            .body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{query}");
        if status == 401 {
            let challenge = response.headers()["www-authenticate"].to_str().unwrap();
            assert_eq!(challenge, "ApiKey realm=\"a2a\", in=\"query\", name=\"key\"");
        }
    }
}

// covers: R-316
#[tokio::test]
async fn tasks_of_another_caller_are_not_found() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    let way = Way(Transport::JsonRpc, ProtocolVersion::V1_0);
    let ann = client(address, way, &[("x-api-key", "k-ann")]).await;
    let dan = client(address, way, &[("authorization", "Bearer t-dan")]).await;
    let mut events = ann.stream("wait").await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    let id = first.task().unwrap().id.clone();
    ann.get(&*id).await.unwrap();
    assert_eq!(dan.get(&*id).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn api_key_in_an_a2a_header_is_not_a_service_parameter() {
    let card = card(&[("key", api_key("header", "A2A-Key"))], &[requirement(&[("key", &[])])]);
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
    let address = start(card, Guard::new().with_verifier("key", keys)).await;
    for way in WAYS {
        let headers = [("a2a-key", "secret"), ("a2a-budget", "7")];
        let client = client(address, way, &headers).await;
        // Service parameters are stored with the task and forwarded by gateways.
        let parameters = client.send_text("parameters").await.unwrap();
        assert!(parameters.contains("a2a-budget"), "{way:?}: {parameters}");
        assert!(!parameters.contains("secret"), "{way:?}: {parameters}");
    }
}

#[tokio::test]
async fn tenants_named_like_grpc_services_need_credentials() {
    let (card, guard) = everything();
    let address = start(card, guard).await;
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    for tenant in ["grpc.acme", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
        for (key, status) in [(None, 401), (Some("k-bob"), 401), (Some("k-ann"), 200)] {
            let mut request = http()
                .post(format!("http://{address}/{tenant}/message:send"))
                .header("a2a-version", "1.0")
                .header("content-type", "application/json")
                .body(body);
            if let Some(key) = key {
                request = request.header("x-api-key", key);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), status, "{tenant} {key:?}");
        }
    }
}
