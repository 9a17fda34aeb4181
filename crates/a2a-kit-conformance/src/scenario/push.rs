//! Push notification configs, and deliveries to a local webhook.

use std::time::Duration;

use a2a_core::ErrorKind;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    exchange::{Exchange, is_interrupted, state, text},
    recorder::{Learned, NO_TASK, Recorder, merge, send},
    step::Step,
    webhook::{TOKEN, Webhook},
    wire::Call,
};

/// A webhook that is never called: the configs for it belong to tasks without further events.
const REMOTE: &str = "https://example.com/a2a-conformance";

/// How long deliveries are waited for.
const DELIVERY: Duration = Duration::from_secs(4);

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &Learned) {
    let webhook = recorder.webhook;
    if !recorder.evidence.card.can_push() {
        return unsupported(recorder, learned).await;
    }
    let unknown = json!({ "taskId": Uuid::new_v4().to_string(), "url": REMOTE });
    let create = |params| Call::new("CreateTaskPushNotificationConfig", params);
    recorder.step(Step::PushCreateUnknownTask, create(unknown)).await;
    let Some(task) = task(recorder, learned).await else {
        let steps = [
            Step::PushCreate,
            Step::PushGet,
            Step::PushList,
            Step::PushDelete,
            Step::PushDeleteAgain,
            Step::PushGetDeleted,
            Step::PushListAfterDelete,
            Step::PushGetUnknown,
        ];
        recorder.missing(&steps, NO_TASK);
        return inline(recorder, webhook).await;
    };
    let is_local = configs(recorder, &task, webhook).await;
    if let (true, true, Some(webhook)) = (is_local, task.waits, webhook) {
        let answer = send(&recorder.prompts.hello, json!({ "taskId": task.id }));
        recorder.link.call(Call::new("SendMessage", answer)).await;
        webhook.wait_for(&["/second", "/third"], DELIVERY).await;
    }
    inline(recorder, webhook).await;
    if let Some(webhook) = webhook {
        recorder.evidence.notifications = webhook.received();
    }
}

/// The task that gets configs.
struct Target {
    id: String,
    /// Whether the task waits for input, so that a message gives further events.
    waits: bool,
}

/// A task that waits, so that its configs are called when it goes on; else one that has ended.
async fn task(recorder: &mut Recorder<'_>, learned: &Learned) -> Option<Target> {
    if let Some(prompt) = &learned.asking {
        let call = Call::new("SendMessage", send(prompt, json!({})));
        let asking = recorder.step(Step::SendAsking, call).await;
        if let Some(task) = asking.as_ref().and_then(Exchange::task)
            && is_interrupted(state(task))
        {
            return Some(Target { id: text(task, "id").to_owned(), waits: true });
        }
    }
    learned.ended.as_ref().map(|(id, _)| Target { id: id.clone(), waits: false })
}

/// The life of a config. Returns whether the configs are for the local webhook.
async fn configs(recorder: &mut Recorder<'_>, task: &Target, webhook: Option<&Webhook>) -> bool {
    let config = |url: String, members: Value| {
        let mut config = json!({ "taskId": task.id, "url": url, "token": TOKEN });
        merge(&mut config, members);
        Call::new("CreateTaskPushNotificationConfig", config)
    };
    let url = |path: &str| REMOTE.to_owned() + path;
    let local = |path: &str| webhook.map(|webhook| webhook.url(path)).unwrap_or_default();
    let mut created = None;
    let mut is_local = false;
    if webhook.is_some() {
        // A refusal of the local address is right as well, and no evidence.
        let answer = recorder.link.call(config(local("/first"), json!({}))).await;
        if !answer.is_error(ErrorKind::InvalidParams) {
            is_local = true;
            created = Some(recorder.record(Step::PushCreate, answer));
        }
    }
    if created.is_none() {
        created = recorder.step(Step::PushCreate, config(url("/first"), json!({}))).await;
    }
    let id =
        created.as_ref().and_then(Exchange::result).map(|config| text(config, "id").to_owned());
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        let steps = [Step::PushGet, Step::PushDelete, Step::PushGetDeleted];
        recorder.missing(&steps, "no config with an id was created");
        return false;
    };
    for path in ["/second", "/third"] {
        let address = if is_local { local(path) } else { url(path) };
        let authentication =
            json!({ "scheme": "Bearer", "credentials": "a2a-conformance-webhook" });
        let call = config(address, json!({ "authentication": authentication }));
        recorder.step(Step::PushCreateSecond, call).await;
    }
    let of = |operation, id: &str| Call::new(operation, json!({ "taskId": task.id, "id": id }));
    let list = || Call::new("ListTaskPushNotificationConfigs", json!({ "taskId": task.id }));
    recorder.step(Step::PushGet, of("GetTaskPushNotificationConfig", &id)).await;
    let unknown = Uuid::new_v4().to_string();
    recorder.step(Step::PushGetUnknown, of("GetTaskPushNotificationConfig", &unknown)).await;
    recorder.step(Step::PushList, list()).await;
    recorder.step(Step::PushDelete, of("DeleteTaskPushNotificationConfig", &id)).await;
    recorder.step(Step::PushDeleteAgain, of("DeleteTaskPushNotificationConfig", &id)).await;
    recorder.step(Step::PushGetDeleted, of("GetTaskPushNotificationConfig", &id)).await;
    recorder.step(Step::PushListAfterDelete, list()).await;
    is_local
}

/// A config in a request, which the local webhook receives the events of.
async fn inline(recorder: &mut Recorder<'_>, webhook: Option<&Webhook>) {
    let Some(webhook) = webhook else {
        let reason = "notifications are received on loopback only, and the agent is elsewhere";
        return recorder.missing(&[Step::SendWithPush], reason);
    };
    let prompts = recorder.prompts.clone();
    let prompt = prompts.stream.as_ref().or(prompts.artifact.as_ref()).unwrap_or(&prompts.hello);
    let mut params = send(prompt, json!({}));
    let config = json!({
        "url": webhook.url("/inline"),
        "token": TOKEN,
        "authentication": { "scheme": "Bearer", "credentials": "a2a-conformance-webhook" },
    });
    merge(&mut params, json!({ "configuration": { "taskPushNotificationConfig": config } }));
    let answer = recorder.step(Step::SendWithPush, Call::new("SendMessage", params)).await;
    if answer.as_ref().is_some_and(|answer| answer.task().is_some()) {
        webhook.wait_for(&["/inline"], DELIVERY).await;
    }
}

/// Without the capability, everything is refused.
async fn unsupported(recorder: &mut Recorder<'_>, learned: &Learned) {
    let task = match &learned.ended {
        Some((id, _)) => id.clone(),
        None => Uuid::new_v4().to_string(),
    };
    for (step, operation, members) in [
        (Step::PushCreate, "CreateTaskPushNotificationConfig", json!({ "url": REMOTE })),
        (Step::PushGet, "GetTaskPushNotificationConfig", json!({ "id": "x" })),
        (Step::PushList, "ListTaskPushNotificationConfigs", json!({})),
        (Step::PushDelete, "DeleteTaskPushNotificationConfig", json!({ "id": "x" })),
    ] {
        let mut params = json!({ "taskId": task });
        merge(&mut params, members);
        recorder.step(step, Call::new(operation, params)).await;
    }
    let mut params = send(&recorder.prompts.hello, json!({}));
    let config = json!({ "url": REMOTE });
    merge(&mut params, json!({ "configuration": { "taskPushNotificationConfig": config } }));
    recorder.step(Step::SendWithPush, Call::new("SendMessage", params)).await;
}
