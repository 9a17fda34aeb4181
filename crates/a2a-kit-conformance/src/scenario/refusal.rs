//! Requests that have to be refused, versions, extensions and callers.

use a2a_kit_client::Transport;
use serde_json::{Value, json};

use crate::{
    check::Feature,
    recorder::{Learned, NO_TASK, Recorder, merge, message, send},
    step::Step,
    wire::{Call, Principal, UNKNOWN_ROUTE, VersionHeader},
};

/// An extension that no agent has.
const UNKNOWN_EXTENSION: &str = "https://a2a.invalid/extensions/unknown/v1";

pub(super) async fn run(recorder: &mut Recorder<'_>) {
    versions(recorder).await;
    malformed(recorder).await;
    invalid(recorder).await;
    extensions(recorder).await;
}

async fn versions(recorder: &mut Recorder<'_>) {
    let hello = recorder.prompts.hello.clone();
    let call = || Call::new("SendMessage", send(&hello, json!({})));
    recorder.step(Step::VersionUnknown, call().with_version(VersionHeader::Is("9.9"))).await;
    recorder.step(Step::VersionMissing, call().with_version(VersionHeader::Missing)).await;
    recorder.step(Step::VersionPatch, call().with_version(VersionHeader::Is("1.0.7"))).await;
}

/// Requests that are none of the binding.
async fn malformed(recorder: &mut Recorder<'_>) {
    let is_rest = recorder.link.binding == Transport::Rest;
    let unknown = if is_rest { UNKNOWN_ROUTE } else { "NoSuchMethod" };
    recorder.step(Step::UnknownMethod, Call::new(unknown, json!({}))).await;
    if recorder.link.binding == Transport::Grpc {
        let steps = [Step::NotJson, Step::NotARequest, Step::WrongJsonRpcVersion];
        return recorder.missing(&steps, "gRPC has no JSON");
    }
    let raw = |body: &'static str| Call::new("SendMessage", json!({})).with_raw_body(body);
    recorder.step(Step::NotJson, raw("{\"jsonrpc\": \"2.0\", \"id\": 1, ")).await;
    if recorder.link.binding == Transport::JsonRpc {
        recorder.step(Step::NotARequest, raw("{\"hello\": \"world\"}")).await;
        let body = json!({
            "jsonrpc": "1.0", "id": "a2a-conformance-version", "method": "GetTask",
            "params": { "id": "x" },
        });
        let call = Call::new("GetTask", json!({})).with_raw_body(body.to_string());
        recorder.step(Step::WrongJsonRpcVersion, call).await;
    }
}

/// Parameters that violate the schema.
async fn invalid(recorder: &mut Recorder<'_>) {
    let hello = recorder.prompts.hello.clone();
    let with = |members: Value| {
        let mut message = message(&hello);
        merge(&mut message, members);
        json!({ "message": message })
    };
    let without = |member: &str| {
        let mut params = with(json!({}));
        if let Some(message) = params.get_mut("message").and_then(Value::as_object_mut) {
            message.remove(member);
        }
        params
    };
    let all = [
        (Step::SendNothing, json!({})),
        (Step::SendWithoutParts, with(json!({ "parts": [] }))),
        (Step::SendWithoutMessageId, without("messageId")),
        (Step::SendWithoutRole, without("role")),
        (
            Step::SendTwoContents,
            with(json!({ "parts": [{ "text": "a", "url": "https://a2a.invalid/" }] })),
        ),
        (Step::SendWrongType, json!({ "message": "text" })),
    ];
    for (step, params) in all {
        let needs_json = matches!(step, Step::SendTwoContents | Step::SendWrongType);
        if needs_json && recorder.link.binding == Transport::Grpc {
            recorder.missing(&[step], "protobuf can't express it");
            continue;
        }
        recorder.step(step, Call::new("SendMessage", params)).await;
    }
}

async fn extensions(recorder: &mut Recorder<'_>) {
    let hello = recorder.prompts.hello.clone();
    let call = || Call::new("SendMessage", send(&hello, json!({})));
    recorder
        .step(Step::UnknownExtension, call().with_extensions(vec![UNKNOWN_EXTENSION.to_owned()]))
        .await;
    let card = &recorder.evidence.card;
    let known = card.extensions().first().map(|one| call().with_extensions(vec![one.uri.clone()]));
    let is_required = Feature::RequiredExtension.is_declared(card);
    recorder.step_if(Step::KnownExtension, known, "the card declares no extension").await;
    let without = is_required.then(|| call().without_required_extensions());
    let reason = "the card declares no required extension";
    recorder.step_if(Step::WithoutRequiredExtension, without, reason).await;
}

/// Callers: none, another one, and the extended card.
pub(super) async fn callers(recorder: &mut Recorder<'_>, learned: &Learned) {
    let hello = recorder.prompts.hello.clone();
    recorder.step(Step::ExtendedCard, Call::new("GetExtendedAgentCard", json!({}))).await;
    let call = Call::new("GetExtendedAgentCard", json!({})).with_principal(Principal::Anonymous);
    let call = Some(call).filter(|_| !recorder.evidence.card.security_schemes.is_empty());
    let reason = "the card declares no security scheme for its extended card";
    recorder.step_if(Step::ExtendedCardAnonymous, call, reason).await;
    let call =
        Call::new("SendMessage", send(&hello, json!({}))).with_principal(Principal::Anonymous);
    let call = Feature::Credentials.is_declared(&recorder.evidence.card).then_some(call);
    recorder.step_if(Step::Anonymous, call, "the card requires no credentials").await;
    others(recorder, learned).await;
}

/// Another caller looks for the tasks of the first one.
async fn others(recorder: &mut Recorder<'_>, learned: &Learned) {
    let id = learned.ended.as_ref().map(|(id, _)| id.clone()).unwrap_or_default();
    let steps = [
        (Step::GetByOther, "GetTask", json!({ "id": id })),
        (Step::CancelByOther, "CancelTask", json!({ "id": id })),
        (Step::SubscribeByOther, "SubscribeToTask", json!({ "id": id })),
        (Step::PushByOther, "ListTaskPushNotificationConfigs", json!({ "taskId": id })),
        (Step::ListByOther, "ListTasks", json!({ "pageSize": 100 })),
    ];
    for (step, operation, params) in steps {
        if recorder.link.second.is_none() {
            let reason = "it needs a second caller: --second-bearer or --second-api-key";
            recorder.missing(&[step], reason);
        } else if id.is_empty() {
            recorder.missing(&[step], NO_TASK);
        } else {
            recorder
                .step(step, Call::new(operation, params).with_principal(Principal::Second))
                .await;
        }
    }
}
