//! The part of the suite for a gateway in front of an agent of another SDK.

use std::net::SocketAddr;

use a2a_core::{
    ProtocolVersion::{V0_3, V1_0},
    fresh_id,
};

use super::{
    Cluster, Dialect, Probe, Target,
    fixtures::{self, OWNER, OwnedTask, by_owner, member},
    suite::Suite,
    wire::Until,
};

/// Requests everything of other callers from a gateway, whose agent has the words of the drivers in
/// `tests/interop`. Returns the number of responses, and what differs from an unknown task.
///
/// # Panics
///
/// If the owner does not get its own tasks.
pub async fn run_before_sdk(
    gateway: SocketAddr,
    credential: fn(&str) -> (&'static str, String),
    name: &str,
) -> (usize, Vec<String>) {
    let mut suite = Suite::new(Cluster::of_gateway(gateway, credential), name);
    let mut fixtures = Vec::new();
    for (what, text, state) in [
        ("waiting task", "ask", "TASK_STATE_INPUT_REQUIRED"),
        ("ended task", "stream 2", "TASK_STATE_COMPLETED"),
    ] {
        fixtures.push(fixtures::begin(&suite.cluster, what, "", Probe::Send, text, state).await);
    }
    suite.foreigners(&fixtures, "https://example.com/", &Probe::NAMING).await;
    suite.pages(&fixtures).await;
    suite.joins(&fixtures).await;
    suite.gets(&fixtures).await;
    suite.report()
}

impl Suite {
    /// Sends as bob with ids of ann: a context is one of bob's own, a key is unused.
    async fn joins(&mut self, fixtures: &[OwnedTask]) {
        let bindings = [
            Dialect::JsonRpc(V1_0),
            Dialect::Rest(V1_0),
            Dialect::Grpc(V1_0),
            Dialect::JsonRpc(V0_3),
        ];
        for dialect in bindings {
            let key = fresh_id();
            let base = || Target { text: "stream 1".to_owned(), ..Target::default() };
            let keyed = Target { idempotency_key: key, ..base() };
            let first = by_owner(&self.cluster, Dialect::JsonRpc(V1_0), Probe::Send, &keyed).await;
            let of_key =
                member(&first.text(), "id").unwrap_or_else(|| panic!("no task: {first:?}"));
            let in_context =
                |owned: &OwnedTask| Target { context: owned.context.clone(), ..base() };
            let reference = |owned: &OwnedTask| Target { reference: owned.id.clone(), ..base() };
            for (target, secret) in [
                (in_context(&fixtures[0]), &fixtures[0].id),
                (in_context(&fixtures[1]), &fixtures[1].id),
                (reference(&fixtures[0]), &fixtures[0].id),
                (keyed, &of_key),
            ] {
                let request = dialect.request(Probe::Send, &target).expect("every revision has it");
                let answer = self.cluster.request(0, Some("bob"), &request, Until::End).await;
                let keeps = target.context.is_empty() || answer.names(&target.context);
                if answer.names(secret) || !keeps || !dialect.is_success(&answer) {
                    self.deviations.push(format!("{}, {target:?}: {answer:?}", dialect.name()));
                } else {
                    self.table.add(Probe::Send.operation(), dialect);
                }
            }
        }
        for owned in fixtures {
            let target = Target { context: owned.context.clone(), ..Target::default() };
            let dialect = Dialect::JsonRpc(V1_0);
            let listed = by_owner(&self.cluster, dialect, Probe::List, &target).await;
            assert!(listed.names(&owned.id) && listed.names("\"totalSize\":1"), "{listed:?}");
        }
    }

    /// The owner gets its tasks in every dialect, so the rejections have no other cause.
    async fn gets(&self, fixtures: &[OwnedTask]) {
        for (dialect, owned) in Dialect::ALL
            .into_iter()
            .flat_map(|dialect| fixtures.iter().map(move |one| (dialect, one)))
        {
            let target = Target { task: owned.id.clone(), ..Target::default() };
            let request = dialect.request(Probe::Get, &target).expect("every revision has it");
            let answer = self.cluster.request(0, Some(OWNER), &request, Until::End).await;
            assert!(answer.names(&owned.id) && dialect.is_success(&answer), "{answer:?}");
        }
    }
}
