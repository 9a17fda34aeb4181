//! All requests to one store.

use super::{
    Callers, Cluster, Dialect, Probe, Target,
    fixtures::{self, CONFIG, OWNER, OwnedTask},
    table::Table,
    wire::{Answer, Until, WireRequest},
};
use crate::{backend::Backend, webhook::Receiver};

/// A caller without access to the fixtures, and the tenant of its requests.
#[derive(Clone, Copy, Debug)]
struct Foreigner {
    name: &'static str,
    caller: Option<&'static str>,
    /// The tenant of the requests.
    tenant: &'static str,
    /// The tenant of the requested fixtures.
    of: &'static str,
}

const OTHER_OWNER: Foreigner =
    Foreigner { name: "another owner", caller: Some("bob"), tenant: "", of: "" };

const FOREIGNERS: [Foreigner; 6] = [
    OTHER_OWNER,
    Foreigner { name: "anonymous", caller: None, ..OTHER_OWNER },
    Foreigner { name: "another owner, same tenant", tenant: "acme", of: "acme", ..OTHER_OWNER },
    Foreigner { name: "another tenant", caller: Some(OWNER), tenant: "other", of: "acme" },
    Foreigner { name: "the owner without a tenant", caller: Some(OWNER), tenant: "", of: "acme" },
    Foreigner { name: "the owner in a tenant", caller: Some(OWNER), tenant: "other", of: "" },
];

/// Unknown ids, generated and chosen by a client.
pub(super) const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
// As long as a known one, so that responses have the same length.
pub(super) const UNKNOWN_CHOSEN: &str = "chosen-unknown-x";
pub(super) const CHOSEN: &str = "chosen-by-an-ann";

/// The state of a run with one store.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) cluster: Cluster,
    pub(super) table: Table,
    /// Responses that disclose something.
    pub(super) deviations: Vec<String>,
}

/// Requests everything of other owners from an agent with a store, prints a table of the
/// responses, and returns their number.
///
/// # Panics
///
/// If a response differs from that for an unknown task.
pub async fn run(backend: Backend) -> usize {
    run_on(Cluster::start(backend, Callers::ByName).await, format!("{backend:?}")).await
}

/// Runs with these nodes, which `name` describes.
///
/// # Panics
///
/// If a response differs from that for an unknown task.
pub async fn run_on(cluster: Cluster, name: impl Into<String>) -> usize {
    let mut anns = Receiver::start(0).await;
    let mut bobs = Receiver::start(0).await;
    let mut suite = Suite::new(cluster, name);
    let fixtures = suite.fixtures(&anns.url).await;
    suite.foreigners(&fixtures, &bobs.url, &Probe::NAMING).await;
    suite.neighbours(&fixtures, &bobs.url).await;
    suite.cards().await;
    suite.sends(&fixtures).await;
    suite.pages(&fixtures).await;
    suite.webhooks(&fixtures, &mut anns, &mut bobs).await;
    suite.owner(&anns.url).await;
    suite.finish()
}

/// Runs without the identification of callers, and returns the number of deviations, to verify
/// that the suite detects missing isolation.
pub async fn run_without_callers(backend: Backend) -> usize {
    let receiver = Receiver::start(0).await;
    let cluster = Cluster::start(backend, Callers::Unknown).await;
    let mut suite = Suite::new(cluster, format!("{backend:?}"));
    let fixtures = suite.fixtures(&receiver.url).await;
    // No requests that would wait forever.
    let reading = [Probe::Get, Probe::GetConfig, Probe::ListConfigs];
    suite.foreigners(&fixtures, &receiver.url, &reading).await;
    suite.deviations.len()
}

impl Suite {
    pub(super) fn new(cluster: Cluster, name: impl Into<String>) -> Self {
        Self { cluster, table: Table::new(name), deviations: Vec::new() }
    }

    /// The tasks of ann, in each tenant.
    async fn fixtures(&self, webhook: &str) -> Vec<OwnedTask> {
        let mut fixtures = Vec::new();
        for tenant in ["", "acme"] {
            for (what, word, state) in [
                ("waiting task", "input", "TASK_STATE_INPUT_REQUIRED"),
                ("running task", "hang", "TASK_STATE_WORKING"),
                ("ended task", "echo", "TASK_STATE_COMPLETED"),
            ] {
                let owned = fixtures::task(&self.cluster, what, tenant, word, state, webhook).await;
                fixtures.push(owned);
            }
        }
        fixtures.push(fixtures::chosen(&self.cluster, CHOSEN, webhook).await);
        fixtures
    }

    pub(super) async fn foreigners(
        &mut self,
        fixtures: &[OwnedTask],
        webhook: &str,
        probes: &[Probe],
    ) {
        for node in 0..self.cluster.nodes.len() {
            for foreigner in FOREIGNERS {
                for probe in probes {
                    self.names(node, foreigner, fixtures, webhook, *probe).await;
                }
                self.lists(node, foreigner, fixtures).await;
            }
        }
    }

    /// Requests fixtures by id.
    async fn names(
        &mut self,
        node: usize,
        foreigner: Foreigner,
        fixtures: &[OwnedTask],
        webhook: &str,
        probe: Probe,
    ) {
        let target = |id: &str| Target {
            tenant: foreigner.tenant.to_owned(),
            task: id.to_owned(),
            config: CONFIG.to_owned(),
            webhook: webhook.to_owned(),
            text: "more".to_owned(),
            ..Target::default()
        };
        for dialect in Dialect::ALL {
            // With ids chosen by clients, a send with an unknown id creates a task.
            let makes = dialect.has_chosen_ids() && matches!(probe, Probe::Send | Probe::Stream);
            if makes || (!foreigner.tenant.is_empty() && !dialect.has_tenants()) {
                continue;
            }
            for owned in fixtures.iter().filter(|owned| owned.tenant == foreigner.of) {
                let unknown = if owned.id == CHOSEN { UNKNOWN_CHOSEN } else { UNKNOWN };
                let requests = dialect.request(probe, &target(unknown));
                let Some((never, theirs)) =
                    requests.zip(dialect.request(probe, &target(&owned.id)))
                else {
                    continue;
                };
                let (never, theirs) = ((&never, unknown), (&theirs, &*owned.id));
                let why = match self.compare(node, foreigner.caller, never, theirs).await {
                    Ok(answer) if dialect.is_not_found(&answer) => {
                        self.table.add(probe.operation(), dialect);
                        continue;
                    }
                    Ok(answer) => format!("found {answer:?}"),
                    Err(why) => why,
                };
                let (operation, dialect) = (probe.operation().name(), dialect.name());
                let (who, what) = (foreigner.name, owned.what);
                self.deviations
                    .push(format!("{operation}, {dialect}, node {node}, {who}: {what}: {why}"));
            }
        }
    }

    /// Requests the fixtures as their owner, but from another agent of the port.
    async fn neighbours(&mut self, fixtures: &[OwnedTask], webhook: &str) {
        if self.cluster.is_behind_gateways() {
            return;
        }
        for (node, dialect) in
            (0..self.cluster.nodes.len()).flat_map(|node| Dialect::ALL.map(|one| (node, one)))
        {
            for probe in Probe::NAMING {
                let makes =
                    dialect.has_chosen_ids() && matches!(probe, Probe::Send | Probe::Stream);
                let is_grpc = matches!(dialect, Dialect::Grpc(_));
                if makes || (is_grpc && !dialect.has_tenants()) {
                    continue;
                }
                for owned in fixtures.iter().filter(|owned| owned.tenant.is_empty()) {
                    let target = |id: &str| Target {
                        tenant: if is_grpc { "another-agent".to_owned() } else { String::new() },
                        task: id.to_owned(),
                        config: CONFIG.to_owned(),
                        webhook: webhook.to_owned(),
                        text: "more".to_owned(),
                        ..Target::default()
                    };
                    let unknown = if owned.id == CHOSEN { UNKNOWN_CHOSEN } else { UNKNOWN };
                    let request = |id| {
                        let mut request = dialect.request(probe, &target(id))?;
                        if !is_grpc {
                            let path = request.path.trim_end_matches('/');
                            request.path = format!("/another-agent{path}");
                        }
                        Some(request)
                    };
                    let Some((never, theirs)) = request(unknown).zip(request(&owned.id)) else {
                        continue;
                    };
                    let (never, theirs) = ((&never, unknown), (&theirs, &*owned.id));
                    match self.compare(node, Some(OWNER), never, theirs).await {
                        Ok(answer) if dialect.is_not_found(&answer) => {
                            self.table.add(probe.operation(), dialect);
                        }
                        outcome => {
                            let (operation, dialect) = (probe.operation().name(), dialect.name());
                            self.deviations.push(format!(
                                "{operation}, {dialect}, another agent: {}: {outcome:?}",
                                owned.what
                            ));
                        }
                    }
                }
            }
        }
    }

    /// Compares the responses and the store calls for an unknown task and for one of another
    /// owner.
    async fn compare(
        &self,
        node: usize,
        caller: Option<&str>,
        (never, unknown): (&WireRequest, &str),
        (theirs, id): (&WireRequest, &str),
    ) -> Result<Answer, String> {
        let mut why = String::new();
        // Background work of the engine may call the store in between, but not every time.
        for _ in 0..3 {
            let (expected, expected_calls) =
                self.cluster.request_recorded(node, caller, never).await;
            let (answer, calls) = self.cluster.request_recorded(node, caller, theirs).await;
            let expected = expected.with(unknown, "<id>");
            let answer = answer.with(id, "<id>");
            if answer != expected {
                return Err(format!("expected\n{expected:?}\nand got\n{answer:?}"));
            }
            if calls == expected_calls {
                return Ok(answer);
            }
            why = format!("store calls {calls:?} instead of {expected_calls:?}");
        }
        Err(why)
    }

    /// Lists as a caller that owns nothing.
    async fn lists(&mut self, node: usize, foreigner: Foreigner, fixtures: &[OwnedTask]) {
        let theirs: Vec<_> = fixtures.iter().filter(|owned| owned.tenant == foreigner.of).collect();
        let asks_own = foreigner.caller == Some(OWNER) && foreigner.tenant.is_empty();
        for dialect in Dialect::ALL {
            if (!foreigner.tenant.is_empty() && !dialect.has_tenants()) || asks_own {
                continue;
            }
            let tenant = foreigner.tenant.to_owned();
            let target = Target { tenant, ..Target::default() };
            let Some(all) = dialect.request(Probe::List, &target) else { continue };
            // A caller without any tasks.
            let expected = self.cluster.request(node, Some("zoe"), &all, Until::End).await;
            let mut asked = vec![(all, "", "everything")];
            for owned in &theirs {
                let target = Target { context: owned.context.clone(), ..target.clone() };
                asked.extend(
                    dialect
                        .request(Probe::List, &target)
                        .map(|request| (request, &*owned.id, owned.what)),
                );
            }
            for (request, _, what) in asked {
                let answer =
                    self.cluster.request(node, foreigner.caller, &request, Until::End).await;
                if answer == expected && dialect.is_success(&answer) {
                    self.table.add(Probe::List.operation(), dialect);
                } else {
                    let name = foreigner.name;
                    self.deviations
                        .push(format!("list, {}, {name}, {what}: {answer:?}", dialect.name()));
                }
            }
        }
    }

    /// The extended card is the same for all callers.
    async fn cards(&mut self) {
        for dialect in Dialect::ALL {
            let Some(request) = dialect.request(Probe::Card, &Target::default()) else { continue };
            let expected = self.cluster.request(0, Some("zoe"), &request, Until::End).await;
            for tenant in ["", "acme", "other"] {
                if !tenant.is_empty() && !dialect.has_tenants() {
                    continue;
                }
                let target = Target { tenant: tenant.to_owned(), ..Target::default() };
                let Some(request) = dialect.request(Probe::Card, &target) else { continue };
                for caller in [OWNER, "bob"] {
                    let answer = self.cluster.request(0, Some(caller), &request, Until::End).await;
                    if answer == expected && dialect.is_success(&answer) {
                        self.table.add(Probe::Card.operation(), dialect);
                    } else {
                        let detail = format!("card, {}, {caller}: {answer:?}", dialect.name());
                        self.deviations.push(detail);
                    }
                }
            }
        }
    }

    fn finish(self) -> usize {
        let (total, deviations) = self.report();
        let shown: Vec<_> = deviations.iter().take(10).map(String::as_str).collect();
        assert!(deviations.is_empty(), "{} deviations:\n{}", deviations.len(), shown.join("\n\n"));
        total
    }

    /// Prints the table, and returns the number of responses and the deviations.
    pub(super) fn report(self) -> (usize, Vec<String>) {
        use std::io::Write as _;
        // Bypass the capture of `println` by the test harness, with a single write.
        let _written = std::io::stdout().write_all(self.table.to_string().as_bytes());
        (self.table.total(), self.deviations)
    }
}
