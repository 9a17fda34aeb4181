//! An agent that returns its caller, behind a guard.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use a2a_core::v1::{
    ApiKeySecurityScheme, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, HttpAuthSecurityScheme, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SecurityRequirement, SecurityScheme, SendMessageRequest, StringList,
    SubscribeToTaskRequest, TaskPushNotificationConfig,
    security_scheme::Scheme,
    {CancelTaskRequest, DeleteTaskPushNotificationConfigRequest},
};
use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, RequestContext, Server, TaskUpdater,
    client::{RetryPolicy, Transport},
    operations::{Agent, Call, Caller, EngineConfig},
    types::{Operation, ProtocolVersion, Result},
};
use a2a_kit_auth::server::{ApiKeys, BasicUsers, BearerTokens, Guard};
use argon2::{Argon2, PasswordHasher as _};
use http::{HeaderName, HeaderValue};
use tokio::net::TcpListener;

/// Replies with the subject and scopes of the caller; `wait` never completes, `claims` and
/// `parameters` return those of the call.
pub(crate) struct WhoAmI;

impl AgentExecutor for WhoAmI {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> std::result::Result<(), BoxError> {
        if context.text() == "wait" {
            updates.start().await?;
            return std::future::pending().await;
        }
        let caller = &context.call().caller;
        let asked = match &*context.text() {
            "claims" => serde_json::to_string(caller.claims()).ok(),
            "parameters" => serde_json::to_string(&context.call().parameters).ok(),
            _ => None,
        };
        if let Some(asked) = asked {
            updates.reply(asked).await?;
            return Ok(());
        }
        let scopes = caller.scopes().iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let name = caller.subject().unwrap_or("nobody");
        updates.reply(format!("{name} {scopes}").trim()).await?;
        Ok(())
    }
}

pub(crate) fn api_key(location: &str, name: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        location: location.into(),
        name: name.into(),
        ..ApiKeySecurityScheme::default()
    })
}

pub(crate) fn http_scheme(scheme: &str) -> Scheme {
    Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: scheme.into(),
        ..HttpAuthSecurityScheme::default()
    })
}

/// An alternative: schemes with their required scopes.
pub(crate) fn requirement(schemes: &[(&str, &[&str])]) -> SecurityRequirement {
    let schemes = schemes.iter().map(|(name, scopes)| {
        let list = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        ((*name).to_owned(), StringList { list })
    });
    SecurityRequirement { schemes: schemes.collect() }
}

pub(crate) fn card(schemes: &[(&str, Scheme)], requirements: &[SecurityRequirement]) -> AgentCard {
    let mut card = AgentCard::new("Who", "Says who calls")
        .with_extended_card(!schemes.is_empty())
        .with_push_notifications(true);
    card.security_schemes = schemes
        .iter()
        .map(|(name, scheme)| ((*name).to_owned(), SecurityScheme { scheme: Some(scheme.clone()) }))
        .collect::<BTreeMap<_, _>>()
        .into_iter()
        .collect();
    card.security_requirements = requirements.to_vec();
    card
}

/// A fast hash for tests.
pub(crate) fn password(text: &str) -> String {
    let params = argon2::Params::new(8, 1, 1, None).unwrap();
    let argon = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    argon.hash_password_with_salt(text.as_bytes(), b"somesalt").unwrap().to_string()
}

/// Four schemes, each sufficient: API keys, a password and static tokens.
pub(crate) fn everything() -> (AgentCard, Guard) {
    let card = card(
        &[
            ("key", api_key("header", "X-API-Key")),
            ("cookie", api_key("cookie", "session")),
            ("basic", http_scheme("basic")),
            ("bearer", http_scheme("Bearer")),
        ],
        &["key", "cookie", "basic", "bearer"].map(|name| requirement(&[(name, &[])])),
    );
    let users = BasicUsers::new()
        .with_user("bob", &password("open sesame"), Caller::authenticated("bob"))
        .unwrap();
    let guard = Guard::new()
        .with_verifier("key", ApiKeys::new().with_key("k-ann", Caller::authenticated("ann")))
        .with_verifier("cookie", ApiKeys::new().with_key("c-cy", Caller::authenticated("cy")))
        .with_verifier("basic", users)
        .with_verifier(
            "bearer",
            BearerTokens::new().with_token("t-dan", Caller::authenticated("dan")),
        );
    (card, guard)
}

pub(crate) fn server(card: AgentCard) -> Server {
    let mut config = EngineConfig::default();
    config.cancel_grace = Duration::from_millis(50);
    let extended = AgentCard::new("Who", "Says more to those it knows");
    let engine =
        Engine::builder(card.clone(), WhoAmI).config(config).extended_card(extended).build();
    Server::from(engine)
}

pub(crate) async fn start(card: AgentCard, guard: Guard) -> SocketAddr {
    serve(server(card).with_auth(guard)).await
}

pub(crate) async fn serve(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// A binding and a revision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way(pub(crate) Transport, pub(crate) ProtocolVersion);

/// The three bindings of the current revision, and of 0.3.
pub(crate) const WAYS: [Way; 6] = [
    Way(Transport::JsonRpc, ProtocolVersion::V1_0),
    Way(Transport::Rest, ProtocolVersion::V1_0),
    Way(Transport::Grpc, ProtocolVersion::V1_0),
    Way(Transport::JsonRpc, ProtocolVersion::V0_3),
    Way(Transport::Rest, ProtocolVersion::V0_3),
    Way(Transport::Grpc, ProtocolVersion::V0_3),
];

/// A client without retries, with these headers.
pub(crate) async fn client(
    address: SocketAddr,
    way: Way,
    headers: &[(&'static str, &str)],
) -> Client {
    let mut builder = Client::builder()
        .only([way.0])
        .version(way.1)
        .retry(RetryPolicy::NEVER)
        .resume(RetryPolicy::NEVER);
    for (name, value) in headers {
        let value = HeaderValue::try_from(*value).unwrap();
        builder = builder.header(HeaderName::from_static(name), value);
    }
    builder.connect(&address.to_string()).await.unwrap()
}

/// A plain HTTP client, for requests that an agent client would not send.
pub(crate) fn http() -> reqwest::Client {
    http_builder().build().unwrap()
}

pub(crate) fn http_builder() -> reqwest::ClientBuilder {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls)
}

pub(crate) type Outcomes = Vec<(Operation, Result<()>)>;

/// Calls all operations of the revision, for a task that does not exist.
pub(crate) async fn every_operation(client: &Client, way: Way) -> Outcomes {
    let agent: Arc<dyn Agent> = client.agent();
    let mut message = a2a_kit::Message::user("hi");
    message.message_id = "m".into();
    let send = SendMessageRequest { message: Some(message), ..SendMessageRequest::default() };
    let id = || "t".to_owned();
    let webhook = TaskPushNotificationConfig {
        task_id: id(),
        id: "c".into(),
        url: "https://hook.example".into(),
        ..TaskPushNotificationConfig::default()
    };
    let get = GetTaskPushNotificationConfigRequest {
        task_id: id(),
        id: "c".into(),
        ..GetTaskPushNotificationConfigRequest::default()
    };
    let list = ListTaskPushNotificationConfigsRequest {
        task_id: id(),
        ..ListTaskPushNotificationConfigsRequest::default()
    };
    let delete = DeleteTaskPushNotificationConfigRequest {
        task_id: id(),
        id: "c".into(),
        ..DeleteTaskPushNotificationConfigRequest::default()
    };
    let mut outcomes = Outcomes::new();
    macro_rules! call {
        ($method:ident $operation:ident $request:expr) => {
            let answer = agent.$method(Call::from_parts(client.context().clone(), $request)).await;
            outcomes.push((Operation::$operation, answer.map(|_| ())));
        };
    }
    call!(send_message SendMessage send.clone());
    call!(send_streaming_message SendStreamingMessage send);
    call!(get_task GetTask GetTaskRequest { id: id(), ..GetTaskRequest::default() });
    if way.1 != ProtocolVersion::V0_3 {
        call!(list_tasks ListTasks ListTasksRequest::default());
    }
    call!(cancel_task CancelTask CancelTaskRequest { id: id(), ..CancelTaskRequest::default() });
    call!(subscribe_to_task SubscribeToTask
        SubscribeToTaskRequest { id: id(), ..SubscribeToTaskRequest::default() });
    call!(create_task_push_notification_config CreateTaskPushNotificationConfig webhook);
    call!(get_task_push_notification_config GetTaskPushNotificationConfig get);
    call!(list_task_push_notification_configs ListTaskPushNotificationConfigs list);
    call!(delete_task_push_notification_config DeleteTaskPushNotificationConfig delete);
    // The gRPC method of 0.3 also returns the public card.
    if way != Way(Transport::Grpc, ProtocolVersion::V0_3) {
        call!(get_extended_agent_card GetExtendedAgentCard GetExtendedAgentCardRequest::default());
    }
    outcomes
}
