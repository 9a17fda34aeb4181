//! Methods, health and reflection of the service.

use a2a_core::{DESCRIPTOR, ErrorKind, Operation, SERVICE};
use a2a_kit_grpc::GrpcOptions;
use a2a_kit_http::Limits;
use prost_reflect::DescriptorPool;
use tokio_stream::StreamExt as _;
use tonic::{
    Code,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::{
    fake::{Fake, Served},
    raw,
};

async fn channel(served: &Served) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    endpoint.connect().await.unwrap()
}

//
#[tokio::test]
async fn methods_of_the_descriptor_map_to_operations() {
    let pool = DescriptorPool::decode(DESCRIPTOR).unwrap();
    let service = pool.get_service_by_name(SERVICE).unwrap();
    let methods: Vec<_> = service.methods().map(|method| method.name().to_owned()).collect();
    let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
    assert_eq!(methods, names);

    let agent = Fake::default();
    let router = a2a_kit_grpc::router(agent.clone());
    for operation in Operation::ALL {
        agent.fail(a2a_core::Error::new(ErrorKind::PermissionDenied, "no"));
        let answer = raw::call(router.clone(), operation.name(), vec![], &[]).await;
        assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied, "{operation:?}");
        assert_eq!(agent.last().operation, operation);
    }
}

#[tokio::test]
async fn the_service_and_the_server_are_healthy() {
    let served = Served::new().await;
    let mut health = HealthClient::new(channel(&served).await);
    for service in ["", SERVICE] {
        let request = HealthCheckRequest { service: service.into() };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    let unknown = HealthCheckRequest { service: "other".into() };
    assert_eq!(health.check(unknown).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn health_watches_have_a_limit_per_address_and_an_idle_timeout() {
    let limits = Limits::default()
        .with_max_health_watches(8)
        .with_idle_timeout(std::time::Duration::from_millis(500));
    let served = Served::with(GrpcOptions::default().with_limits(limits)).await;
    let mut health = HealthClient::new(channel(&served).await);
    let mut watches = Vec::new();
    for _ in 0..2 {
        let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
        assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
        watches.push(watch);
    }
    let refused = health.watch(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("health watches"), "{refused}");
    assert!(health.check(HealthCheckRequest::default()).await.is_ok());
    for mut watch in watches {
        let ended = watch.message().await.unwrap_err();
        assert_eq!(ended.code(), Code::Unavailable, "{ended}");
    }
    // Their reservations are released.
    let watch = health.watch(HealthCheckRequest::default()).await.unwrap();
    let mut dropped = watch.into_inner();
    assert!(dropped.message().await.unwrap().is_some());
}

#[tokio::test]
async fn both_reflection_versions_return_the_service_with_options() {
    let served = Served::new().await;
    let channel = channel(&served).await;

    let mut client = v1::server_reflection_client::ServerReflectionClient::new(channel.clone());
    let ask = |request| v1::ServerReflectionRequest {
        message_request: Some(request),
        ..Default::default()
    };
    use v1::{
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let requests = vec![
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(SERVICE.into())),
    ];
    let answers = client.server_reflection_info(tokio_stream::iter(requests)).await.unwrap();
    let mut answers = answers.into_inner();
    let services = answers.next().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = services else {
        panic!("{services:?}")
    };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in [SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let file = answers.next().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::FileDescriptorResponse(files)) = file else { panic!("{file:?}") };
    // HTTP rules are extensions, which a decoder without them would drop.
    let bytes = &files.file_descriptor_proto[0];
    assert!(bytes.windows(13).any(|window| window == b"/message:send"));

    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let request = v1alpha::ServerReflectionRequest {
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
        ..Default::default()
    };
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await.unwrap();
    let answer = answers.into_inner().next().await.unwrap().unwrap();
    assert!(format!("{answer:?}").contains(SERVICE));
}

#[tokio::test]
async fn reflection_and_health_can_be_disabled() {
    let options = GrpcOptions::default().with_reflection(false).with_health(false);
    let served = Served::with(options).await;
    let channel = channel(&served).await;
    for path in [
        "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ] {
        let status = raw::call(channel.clone(), path, vec![], &[]).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
}
