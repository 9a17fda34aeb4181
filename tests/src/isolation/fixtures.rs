//! Tasks of one owner.

use a2a_core::ProtocolVersion::{V0_1, V1_0};

use super::{
    Cluster, Dialect, Probe, Target,
    wire::{Answer, Until},
};

/// The owner of the fixtures.
pub(super) const OWNER: &str = "ann";

/// A task, with a webhook.
#[derive(Clone, Debug)]
pub(super) struct OwnedTask {
    pub(super) what: &'static str,
    pub(super) tenant: &'static str,
    pub(super) id: String,
    pub(super) context: String,
}

/// The id of the webhook of each task.
pub(super) const CONFIG: &str = "config";

/// Starts a task with `word`, waits until it is in a state, and gives it a webhook.
pub(super) async fn task(
    cluster: &Cluster,
    what: &'static str,
    tenant: &'static str,
    word: &str,
    state: &str,
    webhook: &str,
) -> OwnedTask {
    let owned = begin(cluster, what, tenant, Probe::Stream, word, state).await;
    let target = Target { tenant: tenant.to_owned(), task: owned.id.clone(), ..Target::default() };
    with_webhook(cluster, Dialect::JsonRpc(V1_0), &target, webhook).await;
    owned
}

/// Starts a task with a text, and waits until it is in a state.
pub(super) async fn begin(
    cluster: &Cluster,
    what: &'static str,
    tenant: &'static str,
    probe: Probe,
    text: &str,
    state: &str,
) -> OwnedTask {
    let dialect = Dialect::JsonRpc(V1_0);
    let target = Target { tenant: tenant.to_owned(), text: text.to_owned(), ..Target::default() };
    let answer = by_owner(cluster, dialect, probe, &target).await;
    let id = member(&answer.text(), "id").unwrap_or_else(|| panic!("no task in {answer:?}"));
    let context = member(&answer.text(), "contextId").expect("a context");
    let owned = OwnedTask { what, tenant, id: id.clone(), context };
    let target = Target { tenant: tenant.to_owned(), task: id, ..Target::default() };
    let mut found = false;
    for _ in 0..1_000 {
        found = by_owner(cluster, dialect, Probe::Get, &target).await.names(state);
        if found {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(found, "the task reaches {state}");
    owned
}

/// A waiting task whose id was chosen by a client of 0.1.
pub(super) async fn chosen(cluster: &Cluster, id: &str, webhook: &str) -> OwnedTask {
    let dialect = Dialect::JsonRpc(V0_1);
    let target = Target { task: id.to_owned(), text: "input".to_owned(), ..Target::default() };
    let answer = by_owner(cluster, dialect, Probe::Send, &target).await;
    assert!(dialect.is_success(&answer), "{answer:?}");
    let context = member(&answer.text(), "sessionId").unwrap_or_default();
    with_webhook(cluster, dialect, &target, webhook).await;
    OwnedTask { what: "task with a chosen id", tenant: "", id: id.to_owned(), context }
}

async fn with_webhook(cluster: &Cluster, dialect: Dialect, target: &Target, webhook: &str) {
    let target =
        Target { config: CONFIG.to_owned(), webhook: webhook.to_owned(), ..target.clone() };
    let answer = by_owner(cluster, dialect, Probe::CreateConfig, &target).await;
    assert!(dialect.is_success(&answer), "{answer:?}");
}

/// Sends a request to the first node as the owner.
pub(super) async fn by_owner(
    cluster: &Cluster,
    dialect: Dialect,
    probe: Probe,
    target: &Target,
) -> Answer {
    let request = dialect.request(probe, target).expect("the revision has the operation");
    let until = if probe.streams() { Until::FirstFrame } else { Until::End };
    cluster.request(0, Some(OWNER), &request, until).await
}

/// The value of the first string member with this name.
pub(super) fn member(json: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\":\"");
    let at = json.find(&start)? + start.len();
    json[at..].split('"').next().map(str::to_owned)
}
