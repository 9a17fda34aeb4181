//! Errors of providers.

use std::time::{Duration, SystemTime};

use a2a_core::Part;
use a2a_kit_models::{ModelError, ProviderModel, model::ModelErrorKind};

use crate::{
    WIRES, answer, asking,
    fake::{Fake, Script, events, response},
    model, settings,
};

async fn error(provider: &str, script: Script) -> ModelError {
    let fake = Fake::start([script]).await;
    let (events, error) = answer(&model(provider, &fake), asking(vec![Part::text("a")])).await;
    assert!(events.is_empty(), "{events:?}");
    error.unwrap()
}

#[tokio::test]
async fn status_and_code_decide_the_kind() {
    use ModelErrorKind as Kind;
    let coded =
        |code: &str| format!("{{\"error\":{{\"message\":\"secret\",\"code\":\"{code}\"}}}}");
    let typed = |name: &str| {
        format!("{{\"type\":\"error\",\"error\":{{\"type\":\"{name}\",\"message\":\"secret\"}}}}")
    };
    let said =
        |message: &str| format!("{{\"error\":{{\"message\":\"{message}\",\"type\":\"e\"}}}}");
    let of_gemini = |status: &str, detail: &str| {
        format!(
            "{{\"error\":{{\"code\":9,\"message\":\"secret\",\
             \"status\":\"{status}\",\"details\":[{{}},{detail}]}}}}"
        )
    };
    for (status, body, kind, code) in [
        (401, coded("invalid_api_key"), Kind::Credentials, Some("invalid_api_key")),
        (403, typed("permission_error"), Kind::Credentials, Some("permission_error")),
        (404, coded("model_not_found"), Kind::UnknownModel, Some("model_not_found")),
        (402, typed("billing_error"), Kind::Quota, Some("billing_error")),
        (429, coded("insufficient_quota"), Kind::Quota, Some("insufficient_quota")),
        (429, typed("rate_limit_error"), Kind::RateLimit, Some("rate_limit_error")),
        (400, coded("context_length_exceeded"), Kind::TooLong, Some("context_length_exceeded")),
        (400, said("Prompt is too long: 9 tokens"), Kind::TooLong, Some("e")),
        (400, said("the context length is 8"), Kind::TooLong, Some("e")),
        (413, typed("request_too_large"), Kind::TooLong, Some("request_too_large")),
        (400, said("secret"), Kind::Rejected, Some("e")),
        (422, "[]".to_owned(), Kind::Rejected, None),
        (408, String::new(), Kind::Unavailable, None),
        (409, "secret".to_owned(), Kind::Unavailable, None),
        (500, r#"{"error":"secret"}"#.to_owned(), Kind::Unavailable, None),
        (503, coded("a secret that is not a code"), Kind::Unavailable, None),
        (
            502,
            r#"{"error":{"code":502,"message":"secret"}}"#.to_owned(),
            Kind::Unavailable,
            Some("502"),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"secret"}}]"#.to_owned(),
            Kind::Rejected,
            Some("400"),
        ),
        (400, of_gemini("INVALID_ARGUMENT", "{}"), Kind::Rejected, Some("INVALID_ARGUMENT")),
        (
            400,
            of_gemini("INVALID_ARGUMENT", r#"{"reason":"API_KEY_INVALID"}"#),
            Kind::Credentials,
            Some("API_KEY_INVALID"),
        ),
        (429, of_gemini("RESOURCE_EXHAUSTED", "{}"), Kind::RateLimit, Some("RESOURCE_EXHAUSTED")),
        (400, said("the input token count is 9"), Kind::TooLong, Some("e")),
        (529, typed("overloaded_error"), Kind::Unavailable, Some("overloaded_error")),
        (500, format!("\"{}\"", "x".repeat(100 << 10)), Kind::Unavailable, None),
    ] {
        for (provider, _) in WIRES {
            let error = error(provider, response(status, "request-id: req_9\r\n", &body)).await;
            let short: String = body.chars().take(80).collect();
            assert_eq!(error.kind, kind, "{provider} {status} {short}");
            assert_eq!((error.status, error.code.as_deref()), (Some(status), code), "{short}");
            assert_eq!(error.request_id.as_deref(), Some("req_9"));
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }
}

#[tokio::test]
async fn wait_is_read_in_every_form() {
    let date = httpdate(SystemTime::now() + Duration::from_secs(40));
    for (headers, least, most) in [
        ("retry-after-ms: 1500\r\nretry-after: 9\r\n".to_owned(), 1500, 1500),
        ("retry-after: 61\r\n".to_owned(), 61_000, 61_000),
        ("retry-after: 1.5\r\n".to_owned(), 1500, 1500),
        (format!("retry-after: {date}\r\n"), 30_000, 40_000),
    ] {
        let wait = error("anthropic", response(429, &headers, "")).await.retry_after.unwrap();
        let range = Duration::from_millis(least)..=Duration::from_millis(most);
        assert!(range.contains(&wait), "{headers}: {wait:?}");
    }
    let body = r#"{"error":{"details":[{"retryDelay":"36.5s"}]}}"#;
    for (headers, seconds) in [("", 36.5), ("retry-after: 7\r\n", 7.0)] {
        let wait = error("gemini", response(429, headers, body)).await.retry_after;
        assert_eq!(wait, Some(Duration::from_secs_f64(seconds)), "{headers}");
    }
    for headers in ["", "retry-after: soon\r\n", "retry-after: -1\r\n", "retry-after-ms: NaN\r\n"] {
        let error = error("openai-chat", response(503, headers, "")).await;
        assert_eq!(error.retry_after, None, "{headers}");
    }
    for (value, expected) in [("true", Some(true)), ("false", Some(false)), ("x", None)] {
        let headers = format!("x-should-retry: {value}\r\n");
        let error = error("openai-chat", response(400, &headers, "")).await;
        assert_eq!(error.should_retry, expected, "{value}");
    }
}

fn httpdate(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

#[tokio::test]
async fn error_within_a_stream_has_its_code() {
    use ModelErrorKind as Kind;
    for (provider, event, kind, status, code) in [
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"secret"}}"#,
            Kind::Unavailable,
            Some(529),
            "overloaded_error",
        ),
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"odd_error","message":"secret"}}"#,
            Kind::Unavailable,
            None,
            "odd_error",
        ),
        (
            "openai-chat",
            r#"{"error":{"code":429,"message":"secret"},"choices":[]}"#,
            Kind::RateLimit,
            Some(429),
            "429",
        ),
        (
            "openai-chat",
            r#"{"error":{"type":"server_error","code":null,"message":"secret"}}"#,
            Kind::Unavailable,
            Some(500),
            "server_error",
        ),
        (
            "openai-chat",
            r#"{"error":{"code":"insufficient_quota","message":"secret"}}"#,
            Kind::Quota,
            None,
            "insufficient_quota",
        ),
        (
            "openai",
            r#"{"type":"error","code":"server_error","message":"secret","param":null}"#,
            Kind::Unavailable,
            Some(500),
            "server_error",
        ),
        (
            "openai",
            r#"{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"secret"}}"#,
            Kind::RateLimit,
            Some(429),
            "rate_limit_exceeded",
        ),
        (
            "openai",
            r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"secret"}}}"#,
            Kind::Rejected,
            Some(400),
            "invalid_prompt",
        ),
        (
            "openai",
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"secret"}}}"#,
            Kind::TooLong,
            None,
            "context_length_exceeded",
        ),
        (
            "gemini",
            r#"{"error":{"code":503,"message":"secret","status":"UNAVAILABLE"}}"#,
            Kind::Unavailable,
            Some(503),
            "UNAVAILABLE",
        ),
    ] {
        let error = error(provider, events(&format!("event: error\ndata: {event}\n\n"))).await;
        assert_eq!((error.kind, error.status), (kind, status), "{event}");
        assert_eq!(error.code.as_deref(), Some(code), "{event}");
        assert_eq!(error.request_id.as_deref(), Some("req_1"), "{event}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn provider_that_cannot_be_reached_is_unavailable() {
    let fake = Fake::start([]).await;
    let mut settings = settings(&fake);
    settings.base_url = Some("http://127.0.0.1:1".to_owned());
    let model = ProviderModel::new("anthropic/m", settings).unwrap();
    let (_, error) = answer(&model, asking(vec![Part::text("a")])).await;
    let error = error.unwrap();
    assert_eq!((error.kind, error.status), (ModelErrorKind::Unavailable, None));
    assert!(error.source.is_some());
}

#[tokio::test]
async fn compressed_answer_is_not_read() {
    let script = response(200, "content-encoding: gzip\r\n", "x");
    assert_eq!(error("openai-chat", script).await.kind, ModelErrorKind::Cut);
}
