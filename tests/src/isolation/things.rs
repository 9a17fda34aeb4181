//! What somebody has.

use a2a_core::ProtocolVersion::{V0_1, V1_0};

use super::{
    Dialect, Place, Probe, Target,
    wire::{Answer, Until},
};

/// Whose the things are.
pub(super) const OWNER: &str = "ann";

/// A task, with a webhook.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) what: &'static str,
    pub(super) tenant: &'static str,
    pub(super) id: String,
    pub(super) context: String,
}

/// The name of the webhook that each task has.
pub(super) const CONFIG: &str = "config";

/// A task that is begun by `word`, once it is in a state.
pub(super) async fn task(
    place: &Place,
    what: &'static str,
    tenant: &'static str,
    word: &str,
    state: &str,
    webhook: &str,
) -> Thing {
    let dialect = Dialect::JsonRpc(V1_0);
    let target = Target { tenant: tenant.to_owned(), text: word.to_owned(), ..Target::default() };
    let answer = by_owner(place, dialect, Probe::Stream, &target).await;
    let id = member(&answer.text(), "id").unwrap_or_else(|| panic!("no task in {answer:?}"));
    let context = member(&answer.text(), "contextId").expect("a context");
    let thing = Thing { what, tenant, id: id.clone(), context };
    let target = Target { tenant: tenant.to_owned(), task: id, ..Target::default() };
    let mut found = false;
    for _ in 0..1_000 {
        found = by_owner(place, dialect, Probe::Get, &target).await.names(state);
        if found {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(found, "the task gets to {state}");
    with_webhook(place, dialect, &target, webhook).await;
    thing
}

/// A task that waits, of a client of 0.1, which chose its id.
pub(super) async fn chosen(place: &Place, id: &str, webhook: &str) -> Thing {
    let dialect = Dialect::JsonRpc(V0_1);
    let target = Target { task: id.to_owned(), text: "input".to_owned(), ..Target::default() };
    let answer = by_owner(place, dialect, Probe::Send, &target).await;
    assert!(dialect.is_success(&answer), "{answer:?}");
    let context = member(&answer.text(), "sessionId").unwrap_or_default();
    with_webhook(place, dialect, &target, webhook).await;
    Thing { what: "one with a chosen id", tenant: "", id: id.to_owned(), context }
}

async fn with_webhook(place: &Place, dialect: Dialect, target: &Target, webhook: &str) {
    let target =
        Target { config: CONFIG.to_owned(), webhook: webhook.to_owned(), ..target.clone() };
    let answer = by_owner(place, dialect, Probe::CreateConfig, &target).await;
    assert!(dialect.is_success(&answer), "{answer:?}");
}

/// Asks the first node in the owner's name.
pub(super) async fn by_owner(
    place: &Place,
    dialect: Dialect,
    probe: Probe,
    target: &Target,
) -> Answer {
    let ask = dialect.ask(probe, target).expect("the revision has it");
    let until = if probe.streams() { Until::FirstFrame } else { Until::End };
    place.ask(0, Some(OWNER), &ask, until).await
}

/// The first member of a name in some JSON, where it is a text.
pub(super) fn member(json: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\":\"");
    let at = json.find(&start)? + start.len();
    json[at..].split('"').next().map(str::to_owned)
}
