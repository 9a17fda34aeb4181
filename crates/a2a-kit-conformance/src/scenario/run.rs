//! The scenario of 1.0, and that of older revisions: send, get, cancel and stream, in their own shapes.

use a2a_core::ProtocolVersion;
use a2a_kit_client::Transport;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{cancel, conversation, listing, push, refusal, sending};
use crate::{
    evidence::Evidence,
    exchange::{is_terminal, state, text},
    recorder::{Learned, NO_TASK, Recorder},
    step::Step,
    wire::Call,
};

/// Runs the scenario of 1.0 on an interface. Also returns the id of a task that has ended.
pub(crate) async fn run(mut recorder: Recorder<'_>) -> (Evidence, Option<String>) {
    let mut learned = Learned::default();
    sending::run(&mut recorder, &mut learned).await;
    listing::run(&mut recorder, &learned).await;
    conversation::run(&mut recorder, &learned).await;
    conversation::stream(&mut recorder, &mut learned).await;
    cancel::run(&mut recorder, &learned).await;
    push::run(&mut recorder, &learned).await;
    refusal::run(&mut recorder).await;
    refusal::callers(&mut recorder, &learned).await;
    recorder.clean_up().await;
    (recorder.evidence, learned.ended.map(|(id, _)| id))
}

/// The names of the operations of a revision on a binding.
struct Names {
    send: &'static str,
    stream: &'static str,
    get: &'static str,
    cancel: &'static str,
}

const RPC: Names = Names {
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    cancel: "CancelTask",
};
const V0_3: Names = Names {
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    cancel: "tasks/cancel",
};
const V0_1: Names = Names { send: "tasks/send", stream: "tasks/sendSubscribe", ..V0_3 };

/// Runs the scenario of an older revision on an interface.
pub(crate) async fn run_legacy(mut recorder: Recorder<'_>) -> Evidence {
    let Recorder { link, prompts, .. } = recorder;
    let names = match (link.binding, link.version) {
        (Transport::JsonRpc, ProtocolVersion::V0_1) => V0_1,
        (Transport::JsonRpc, ProtocolVersion::V0_2 | ProtocolVersion::V0_3) => V0_3,
        _ => RPC,
    };
    let message = |text: &str| params(link.binding, link.version, text);
    let hello = prompts.hello.as_str();
    let sent = recorder.step(Step::Send, Call::new(names.send, message(hello))).await;
    let task = sent.as_ref().and_then(|sent| sent.task()).filter(|task| is_terminal(state(task)));
    let id = task.map(|task| text(task, "id").to_owned());
    let of = |id: &str| json!({ "id": id });
    let unknown = Uuid::new_v4().to_string();
    recorder.step(Step::GetUnknown, Call::new(names.get, of(&unknown))).await;
    recorder.step(Step::CancelUnknown, Call::new(names.cancel, of(&unknown))).await;
    for (step, operation) in [(Step::GetTask, names.get), (Step::CancelTerminal, names.cancel)] {
        let call = id.as_ref().map(|id| Call::new(operation, of(id)));
        recorder.step_if(step, call, NO_TASK).await;
    }
    let prompt = prompts.stream.as_deref().unwrap_or(hello);
    let stream = Call::new(names.stream, message(prompt));
    let stream = recorder.evidence.card.can_stream().then_some(stream);
    recorder.step_if(Step::Stream, stream, "the card does not declare streaming").await;
    if link.binding == Transport::JsonRpc {
        recorder.step(Step::UnknownMethod, Call::new("no/such/method", json!({}))).await;
        let broken = Call::new(names.send, json!({})).with_raw_body("{\"jsonrpc\": ");
        recorder.step(Step::NotJson, broken).await;
        recorder.step(Step::SendNothing, Call::new(names.send, json!({}))).await;
    }
    recorder.clean_up().await;
    recorder.evidence
}

/// The parameters of a send.
fn params(binding: Transport, version: ProtocolVersion, text: &str) -> Value {
    let id = Uuid::new_v4().to_string();
    match (binding, version) {
        (_, ProtocolVersion::V0_1) => json!({
            "id": id,
            "sessionId": Uuid::new_v4().to_string(),
            "message": { "role": "user", "parts": [{ "type": "text", "text": text }] },
        }),
        (_, ProtocolVersion::V1Draft | ProtocolVersion::V1_0) => json!({
            "message": { "messageId": id, "role": "user", "parts": [{ "text": text }] },
            "configuration": { "blocking": true, "acceptedOutputModes": [] },
        }),
        (Transport::Rest | Transport::Grpc, _) => json!({
            "message": { "messageId": id, "role": "ROLE_USER", "content": [{ "text": text }] },
            "configuration": { "blocking": true },
        }),
        (_, ProtocolVersion::V0_2 | ProtocolVersion::V0_3) => json!({
            "message": {
                "kind": "message", "messageId": id, "role": "user",
                "parts": [{ "kind": "text", "text": text }],
            },
            "configuration": { "blocking": true, "acceptedOutputModes": ["text/plain"] },
        }),
    }
}
