//! Properties of all messages: they round-trip through JSON and protobuf, and decoding arbitrary
//! input never panics.
//!
//! Messages are generated from the descriptor by `prost-reflect`, which is also an independent
//! implementation of protobuf and ProtoJSON to compare with.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on unexpected results"
)]

mod arbitrary;
mod rules;
mod servers;

use std::fmt::Debug;

use a2a_core::{ErrorKind, Validate, json, v1};
use arbitrary::{Sample, pool, sample};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestCaseResult, TestRunner},
};
use prost::Message;
use prost_reflect::{DynamicMessage, ReflectMessage as _, SerializeOptions};
use serde::{Serialize, de::DeserializeOwned};

trait Protocol:
    Message + Default + PartialEq + Debug + Serialize + DeserializeOwned + Validate
{
}

impl<T> Protocol for T where
    T: Message + Default + PartialEq + Debug + Serialize + DeserializeOwned + Validate
{
}

/// The checks of a type, by its proto name.
struct Checks {
    name: &'static str,
    comes_back: fn(&DynamicMessage) -> TestCaseResult,
    agrees: fn(&DynamicMessage) -> TestCaseResult,
    follows_rules: fn(&DynamicMessage) -> TestCaseResult,
    reads: fn(&[u8]),
}

macro_rules! messages {
    ($($name:literal => $type:ident,)*) => {
        const MESSAGES: &[Checks] = &[$(Checks {
            name: $name,
            comes_back: comes_back::<v1::$type>,
            agrees: agrees::<v1::$type>,
            follows_rules: follows_rules::<v1::$type>,
            reads: reads::<v1::$type>,
        },)*];
    };
}

messages! {
    "APIKeySecurityScheme" => ApiKeySecurityScheme,
    "AgentCapabilities" => AgentCapabilities,
    "AgentCard" => AgentCard,
    "AgentCardSignature" => AgentCardSignature,
    "AgentExtension" => AgentExtension,
    "AgentInterface" => AgentInterface,
    "AgentProvider" => AgentProvider,
    "AgentSkill" => AgentSkill,
    "Artifact" => Artifact,
    "AuthenticationInfo" => AuthenticationInfo,
    "AuthorizationCodeOAuthFlow" => AuthorizationCodeOAuthFlow,
    "CancelTaskRequest" => CancelTaskRequest,
    "ClientCredentialsOAuthFlow" => ClientCredentialsOAuthFlow,
    "DeleteTaskPushNotificationConfigRequest" => DeleteTaskPushNotificationConfigRequest,
    "DeviceCodeOAuthFlow" => DeviceCodeOAuthFlow,
    "GetExtendedAgentCardRequest" => GetExtendedAgentCardRequest,
    "GetTaskPushNotificationConfigRequest" => GetTaskPushNotificationConfigRequest,
    "GetTaskRequest" => GetTaskRequest,
    "HTTPAuthSecurityScheme" => HttpAuthSecurityScheme,
    "ImplicitOAuthFlow" => ImplicitOAuthFlow,
    "ListTaskPushNotificationConfigsRequest" => ListTaskPushNotificationConfigsRequest,
    "ListTaskPushNotificationConfigsResponse" => ListTaskPushNotificationConfigsResponse,
    "ListTasksRequest" => ListTasksRequest,
    "ListTasksResponse" => ListTasksResponse,
    "Message" => Message,
    "MutualTlsSecurityScheme" => MutualTlsSecurityScheme,
    "OAuth2SecurityScheme" => OAuth2SecurityScheme,
    "OAuthFlows" => OAuthFlows,
    "OpenIdConnectSecurityScheme" => OpenIdConnectSecurityScheme,
    "Part" => Part,
    "PasswordOAuthFlow" => PasswordOAuthFlow,
    "SecurityRequirement" => SecurityRequirement,
    "SecurityScheme" => SecurityScheme,
    "SendMessageConfiguration" => SendMessageConfiguration,
    "SendMessageRequest" => SendMessageRequest,
    "SendMessageResponse" => SendMessageResponse,
    "StreamResponse" => StreamResponse,
    "StringList" => StringList,
    "SubscribeToTaskRequest" => SubscribeToTaskRequest,
    "Task" => Task,
    "TaskArtifactUpdateEvent" => TaskArtifactUpdateEvent,
    "TaskPushNotificationConfig" => TaskPushNotificationConfig,
    "TaskStatus" => TaskStatus,
    "TaskStatusUpdateEvent" => TaskStatusUpdateEvent,
}

#[test]
fn list_covers_every_message_of_the_proto() {
    let mut expected: Vec<_> = pool()
        .all_messages()
        .filter(|message| message.package_name() == "lf.a2a.v1" && !message.is_map_entry())
        .map(|message| message.name().to_owned())
        .collect();
    expected.sort();
    let listed: Vec<_> = MESSAGES.iter().map(|checks| checks.name).collect();
    assert_eq!(listed, expected);
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Runs a check on messages of every type.
fn for_every_message(check: fn(&Checks) -> fn(&DynamicMessage) -> TestCaseResult) {
    for checks in MESSAGES {
        let mut runner = runner(64);
        let strategy = sample(checks.name);
        let check = check(checks);
        if let Err(error) = runner.run(&strategy, |sample| check(&sample.0)) {
            panic!("{}: {error}", checks.name);
        }
    }
}

// covers: R-225, R-228, R-229, R-232, R-237
#[test]
fn messages_round_trip_through_json_and_protobuf() {
    for_every_message(|checks| checks.comes_back);
}

fn comes_back<T: Protocol>(message: &DynamicMessage) -> TestCaseResult {
    let read = T::decode(&*message.encode_to_vec())?;
    let printed = serde_json::to_vec(&read)?;
    let from_json: T = json::from_slice(&printed)?;
    prop_assert_eq!(&from_json, &read);
    let encoded = from_json.encode_to_vec();
    let from_protobuf = T::decode(&*encoded)?;
    prop_assert_eq!(&from_protobuf, &read);
    let printed_again = serde_json::to_vec(&from_protobuf)?;
    prop_assert_eq!(text(&printed_again), text(&printed));
    let by_reflection = DynamicMessage::decode(message.descriptor(), &*encoded)?;
    prop_assert!(by_reflection == *message, "{:?}", Sample(by_reflection));
    Ok(())
}

// covers: R-227, R-228, R-229, R-232, R-238
#[test]
fn protojson_matches_prost_reflect() {
    for_every_message(|checks| checks.agrees);
}

fn agrees<T: Protocol>(message: &DynamicMessage) -> TestCaseResult {
    let read = T::decode(&*message.encode_to_vec())?;
    let plain = SerializeOptions::new();
    for options in [
        plain.clone(),
        plain.clone().use_proto_field_name(true),
        plain.clone().use_enum_numbers(true),
        // Unset members as null.
        plain.skip_default_fields(false),
    ] {
        let mut printed = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut printed);
        message.serialize_with_options(&mut serializer, &options)?;
        let from_json = json::from_slice::<T>(&printed)
            .map_err(|error| TestCaseError::fail(format!("{error}: {}", text(&printed))))?;
        prop_assert_eq!(&from_json, &read, "{}", text(&printed));
    }
    let printed = serde_json::to_string(&read)?;
    let mut deserializer = serde_json::Deserializer::from_str(&printed);
    let by_reflection = DynamicMessage::deserialize(message.descriptor(), &mut deserializer)?;
    // Again through protobuf, which does not preserve printed defaults.
    let by_reflection =
        DynamicMessage::decode(message.descriptor(), &*by_reflection.encode_to_vec())?;
    prop_assert!(by_reflection == *message, "{printed}");
    Ok(())
}

// covers: R-014, R-228, R-229, R-230, R-231, R-233, R-234
#[test]
fn messages_are_printed_according_to_the_rules() {
    for_every_message(|checks| checks.follows_rules);
}

fn follows_rules<T: Protocol>(message: &DynamicMessage) -> TestCaseResult {
    let read = T::decode(&*message.encode_to_vec())?;
    let printed = serde_json::to_value(&read)?;
    let faults = rules::faults(&message.descriptor(), &printed);
    prop_assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), printed);
    Ok(())
}

/// Decodes bytes in both forms and processes the result like a server.
fn reads<T: Protocol>(bytes: &[u8]) {
    for message in [T::decode(bytes).ok(), json::from_slice::<T>(bytes).ok()].into_iter().flatten()
    {
        let _ = message.violations();
        // A protobuf message may have no JSON form, which is an error.
        let _ = serde_json::to_vec(&message);
        let _ = message.encode_to_vec();
    }
}

// covers: R-440
#[test]
fn arbitrary_bytes_do_not_panic() {
    let mut runner = runner(256);
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    let outcome = runner.run(&bytes, |bytes| {
        for checks in MESSAGES {
            (checks.reads)(&bytes);
        }
        Ok(())
    });
    outcome.expect("no panic");
}

// covers: R-440
#[test]
fn damaged_messages_do_not_panic() {
    for checks in MESSAGES {
        let mut runner = runner(64);
        let damage = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
        let strategy = (sample(checks.name), proptest::collection::vec(damage, 1..4));
        let outcome = runner.run(&strategy, |(Sample(message), damage)| {
            for mut bytes in [message.encode_to_vec(), serde_json::to_vec(&message).unwrap()] {
                for (at, byte, cuts) in &damage {
                    if bytes.is_empty() {
                        break;
                    }
                    let at = at.index(bytes.len());
                    match cuts {
                        true => bytes.truncate(at),
                        false => bytes[at] = *byte,
                    }
                }
                (checks.reads)(&bytes);
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", checks.name));
    }
}

// covers: R-421, R-440
#[test]
fn deep_nesting_is_an_error() {
    const DEPTH: usize = 200_000;
    let deep = "[".repeat(DEPTH);
    let objects = r#"{"a":"#.repeat(DEPTH);
    for text in [
        deep.clone(),
        format!(r#"{{"data":{deep}"#),
        format!(r#"{{"metadata":{objects}"#),
        // The depth limit applies to ignored members too.
        format!(r#"{{"unknown":{deep}"#),
        format!(r#"{{"data":{}{}}}"#, "[".repeat(200), "]".repeat(200)),
        format!(r#"{{"metadata":{}1{}}}"#, r#"{"a":"#.repeat(200), "}".repeat(200)),
    ] {
        let error = json::from_slice::<v1::Part>(text.as_bytes()).expect_err("an error");
        let start: String = text.chars().take(20).collect();
        assert_eq!(error.kind(), ErrorKind::ParseError, "{start}");
    }
    // A list value in a list value, and so on: number 6 of Value, number 1 of ListValue.
    let mut value = Vec::new();
    for _ in 0..10_000 {
        value = field(6, &field(1, &value));
    }
    assert!(v1::Part::decode(&*field(4, &value)).is_err());
    let mut value = Vec::new();
    for _ in 0..10_000 {
        value = field(5, &field(1, &[field(1, b"a"), field(2, &value)].concat()));
    }
    assert!(v1::Part::decode(&*field(4, &value)).is_err());
}

/// A member of wire type 2.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encode_length_delimiter(content.len(), &mut bytes).expect("room");
    bytes.extend_from_slice(content);
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
