//! Service parameters in metadata.

use a2a_core::{Error, ErrorKind, v1::GetTaskRequest};
use a2a_kit_grpc::{
    Client, ClientSettings, GrpcOptions,
    operations::{Agent as _, Call, CallContext, Caller, EventId},
};
use a2a_kit_http::VersionPolicy;
use prost::Message as _;
use tonic::transport::Endpoint;

use crate::{
    fake::{Fake, Served},
    raw,
};

fn get() -> GetTaskRequest {
    GetTaskRequest { id: "t1".into(), ..Default::default() }
}

#[tokio::test]
async fn call_context_is_sent_without_the_caller() {
    let served = Served::new().await;
    let mut context = CallContext::default();
    context.extensions = ["urn:a", "urn:b"].into_iter().collect();
    context.parameters.insert("a2a-budget".into(), "7".into());
    context.parameters.insert("traceparent".into(), "00-1-2-01".into());
    context.last_event_id = EventId::new(12);
    context.idempotency_key = Some("once".into());
    context.caller = Caller::authenticated("me");

    served.client().get_task(Call::from_parts(context.clone(), get())).await.unwrap();
    let arrived = served.agent.last().context;
    assert_eq!(arrived.version, context.version);
    assert_eq!(arrived.extensions, context.extensions);
    assert_eq!(arrived.parameters, context.parameters);
    assert_eq!(arrived.last_event_id, None, "it is read in subscriptions only");
    assert_eq!(arrived.idempotency_key, context.idempotency_key);
    assert_eq!(arrived.caller, Caller::ANONYMOUS);
}

//
#[tokio::test]
async fn extensions_are_read_joined_or_repeated_and_returned_in_initial_metadata() {
    let served = Served::new().await;
    served.agent.activate(["urn:a", "urn:c"].into_iter().collect());
    let metadata = [("a2a-extensions", "urn:a, urn:b"), ("a2a-extensions", "urn:c")];
    let channel = Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    let channel = channel.connect().await.unwrap();
    let answer = raw::call(channel, "GetTask", get().encode_to_vec(), &metadata).await.unwrap();
    assert_eq!(answer.metadata().get("a2a-extensions").unwrap(), "urn:a,urn:c");
    assert_eq!(served.agent.last().context.extensions.to_string(), "urn:a,urn:b,urn:c");

    let reply = served.client().get_task(Call::new(get())).await.unwrap();
    assert_eq!(reply.activated.to_string(), "urn:a,urn:c");
}

//
#[tokio::test]
async fn unsupported_version_is_rejected_before_the_agent_is_called() {
    for (versions, version, accepted) in [
        (VersionPolicy::Strict, Some("1.0.3"), true),
        (VersionPolicy::Strict, Some("0.3"), false),
        (VersionPolicy::Strict, Some("9.9"), false),
        (VersionPolicy::Strict, None, false),
        (VersionPolicy::Lenient, None, true),
        (VersionPolicy::Lenient, Some("0.3"), false),
    ] {
        let agent = Fake::default();
        let options = GrpcOptions::default().with_version_policy(versions);
        let router = a2a_kit_grpc::router_with(agent.clone(), options);
        // The version that the helper adds is removed, so that there is none.
        let router = tower::util::MapRequest::new(router, move |mut request: http::Request<_>| {
            request.headers_mut().remove("a2a-version");
            if let Some(version) = version {
                request.headers_mut().insert("a2a-version", version.parse().unwrap());
            }
            request
        });
        let answer = raw::call(router, "GetTask", get().encode_to_vec(), &[]).await;
        assert_eq!(answer.is_ok(), accepted, "{versions:?} {version:?}");
        assert_eq!(agent.asked().len(), usize::from(accepted), "{versions:?} {version:?}");
        if let Err(status) = answer {
            assert_eq!(status.code(), tonic::Code::FailedPrecondition);
        }
    }
}

#[tokio::test]
async fn headers_of_the_settings_are_sent_with_every_call() {
    let served = Served::new().await;
    let mut headers = http::HeaderMap::new();
    headers.insert("a2a-budget", "7".parse().unwrap());
    let settings = ClientSettings::default().with_headers(headers);
    let client = Client::connect_with(&served.address.to_string(), settings).unwrap();
    client.get_task(Call::new(get())).await.unwrap();
    assert_eq!(served.agent.last().context.parameters["a2a-budget"], "7");
}

#[tokio::test]
async fn caller_is_set_by_a_layer() {
    let agent = Fake::default();
    let router = a2a_kit_grpc::router(agent.clone());
    let router = tower::util::MapRequest::new(router, |mut request: http::Request<_>| {
        request.extensions_mut().insert(Caller::authenticated("alice"));
        request
    });
    let client = Client::with_channel(router, ClientSettings::default());
    client.get_task(Call::new(get())).await.unwrap();
    assert_eq!(agent.last().context.caller.subject(), Some("alice"));
}

#[tokio::test]
async fn errors_have_challenge_and_retry_delay() {
    let served = Served::new().await;
    served.agent.fail(
        Error::new(ErrorKind::Unauthenticated, "who are you?")
            .with_challenge("Bearer")
            .with_retry_after(std::time::Duration::from_secs(3)),
    );
    let error = served.client().get_task(Call::new(get())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(error.challenge(), Some("Bearer"));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(3)));
}
