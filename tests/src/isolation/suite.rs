//! Everything that is asked at one store.

use super::{
    Dialect, Place, Probe, Target,
    table::Table,
    things::{self, CONFIG, OWNER, Thing},
    wire::{Answer, Ask, Until},
};
use crate::{kept::Kept, webhook::Receiver};

/// Somebody whom the things do not belong to, and where they ask.
#[derive(Clone, Copy, Debug)]
struct Foreigner {
    name: &'static str,
    caller: Option<&'static str>,
    /// The tenant that they name.
    tenant: &'static str,
    /// The tenant of the things that they ask for.
    of: &'static str,
}

const OTHER_OWNER: Foreigner =
    Foreigner { name: "another owner", caller: Some("bob"), tenant: "", of: "" };

const FOREIGNERS: [Foreigner; 6] = [
    OTHER_OWNER,
    Foreigner { name: "nobody", caller: None, ..OTHER_OWNER },
    Foreigner { name: "another owner, same tenant", tenant: "acme", of: "acme", ..OTHER_OWNER },
    Foreigner { name: "another tenant", caller: Some(OWNER), tenant: "other", of: "acme" },
    Foreigner { name: "the owner without a tenant", caller: Some(OWNER), tenant: "", of: "acme" },
    Foreigner { name: "the owner in a tenant", caller: Some(OWNER), tenant: "other", of: "" },
];

/// Ids that nothing ever had, in the two forms that ids have.
pub(super) const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
pub(super) const UNKNOWN_CHOSEN: &str = "chosen-by-nobody";
pub(super) const CHOSEN: &str = "chosen-by-an-ann";

/// What was asked at one store so far.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) place: Place,
    pub(super) table: Table,
    /// Answers that told more than they should, in words.
    pub(super) deviations: Vec<String>,
}

/// Asks at a store for everything that belongs to somebody else, prints a table of the answers,
/// and returns how many there were.
///
/// # Panics
///
/// If one of them differs from the answer for what never existed.
pub async fn run(kept: Kept) -> usize {
    let mut anns = Receiver::start(0).await;
    let mut bobs = Receiver::start(0).await;
    let mut suite = Suite::new(kept, true).await;
    let things = suite.things(&anns.url).await;
    suite.foreigners(&things, &bobs.url, &Probe::NAMING).await;
    suite.cards().await;
    suite.sends(&things).await;
    suite.pages(&things).await;
    suite.webhooks(&things, &mut anns, &mut bobs).await;
    suite.owner(&anns.url).await;
    suite.finish()
}

/// Asks where nobody is told from anybody else, and returns how many answers told what they
/// should not: all is in vain if there are none.
pub async fn run_without_callers(kept: Kept) -> usize {
    let receiver = Receiver::start(0).await;
    let mut suite = Suite::new(kept, false).await;
    let things = suite.things(&receiver.url).await;
    // Nothing that waits for an end that does not come.
    let reading = [Probe::Get, Probe::GetConfig, Probe::ListConfigs];
    suite.foreigners(&things, &receiver.url, &reading).await;
    suite.deviations.len()
}

impl Suite {
    async fn new(kept: Kept, identifies: bool) -> Self {
        let place = Place::start(kept, identifies).await;
        let table = Table::new(format!("{kept:?}"));
        Self { place, table, deviations: Vec::new() }
    }

    /// What ann has, in each tenant.
    async fn things(&self, webhook: &str) -> Vec<Thing> {
        let mut things = Vec::new();
        for tenant in ["", "acme"] {
            for (what, word, state) in [
                ("one that waits", "input", "TASK_STATE_INPUT_REQUIRED"),
                ("one that runs", "hang", "TASK_STATE_WORKING"),
                ("one that ended", "echo", "TASK_STATE_COMPLETED"),
            ] {
                let thing = things::task(&self.place, what, tenant, word, state, webhook).await;
                things.push(thing);
            }
        }
        things.push(things::chosen(&self.place, CHOSEN, webhook).await);
        things
    }

    async fn foreigners(&mut self, things: &[Thing], webhook: &str, probes: &[Probe]) {
        for node in 0..self.place.nodes.len() {
            for foreigner in FOREIGNERS {
                for probe in probes {
                    self.names(node, foreigner, things, webhook, *probe).await;
                }
                self.lists(node, foreigner, things).await;
            }
        }
    }

    /// Asks for things by their ids.
    async fn names(
        &mut self,
        node: usize,
        foreigner: Foreigner,
        things: &[Thing],
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
            // Where clients choose ids, a send under one that is not known makes a task.
            let makes = dialect.has_chosen_ids() && matches!(probe, Probe::Send | Probe::Stream);
            if makes || (!foreigner.tenant.is_empty() && !dialect.has_tenants()) {
                continue;
            }
            for thing in things.iter().filter(|thing| thing.tenant == foreigner.of) {
                let unknown = if thing.id == CHOSEN { UNKNOWN_CHOSEN } else { UNKNOWN };
                let asks = dialect.ask(probe, &target(unknown));
                let Some((never, theirs)) = asks.zip(dialect.ask(probe, &target(&thing.id))) else {
                    continue;
                };
                let (never, theirs) = ((&never, unknown), (&theirs, &*thing.id));
                let why = match self.compare(node, foreigner.caller, never, theirs).await {
                    Ok(answer) if dialect.is_not_found(&answer) => {
                        self.table.add(probe.operation(), dialect);
                        continue;
                    }
                    Ok(answer) => format!("found {answer:?}"),
                    Err(why) => why,
                };
                let (operation, dialect) = (probe.operation().name(), dialect.name());
                let (who, what) = (foreigner.name, thing.what);
                self.deviations
                    .push(format!("{operation}, {dialect}, node {node}, {who}: {what}: {why}"));
            }
        }
    }

    /// Compares the answers for what never was and for what is somebody else's, and what it took
    /// to find them.
    async fn compare(
        &self,
        node: usize,
        caller: Option<&str>,
        (never, unknown): (&Ask, &str),
        (theirs, id): (&Ask, &str),
    ) -> Result<Answer, String> {
        let mut why = String::new();
        // The engine may have asked something by itself in between; not again and again.
        for _ in 0..3 {
            let (expected, expected_calls) = self.place.ask_counted(node, caller, never).await;
            let (answer, calls) = self.place.ask_counted(node, caller, theirs).await;
            let expected = expected.with(unknown, "<id>");
            let answer = answer.with(id, "<id>");
            if answer != expected {
                return Err(format!("expected\n{expected:?}\nand got\n{answer:?}"));
            }
            if calls == expected_calls {
                return Ok(answer);
            }
            why = format!("it took {calls:?} of the store, and not {expected_calls:?}");
        }
        Err(why)
    }

    /// Lists what there is for somebody who has nothing there.
    async fn lists(&mut self, node: usize, foreigner: Foreigner, things: &[Thing]) {
        let theirs: Vec<_> = things.iter().filter(|thing| thing.tenant == foreigner.of).collect();
        let asks_own = foreigner.caller == Some(OWNER) && foreigner.tenant.is_empty();
        for dialect in Dialect::ALL {
            if (!foreigner.tenant.is_empty() && !dialect.has_tenants()) || asks_own {
                continue;
            }
            let tenant = foreigner.tenant.to_owned();
            let target = Target { tenant, ..Target::default() };
            let Some(all) = dialect.ask(Probe::List, &target) else { continue };
            // Whoever never did anything.
            let expected = self.place.ask(node, Some("zoe"), &all, Until::End).await;
            let mut asked = vec![(all, "", "everything")];
            for thing in &theirs {
                let target = Target { context: thing.context.clone(), ..target.clone() };
                asked.extend(
                    dialect.ask(Probe::List, &target).map(|ask| (ask, &*thing.id, thing.what)),
                );
            }
            for (ask, _, what) in asked {
                let answer = self.place.ask(node, foreigner.caller, &ask, Until::End).await;
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

    /// The extended card says the same to everybody.
    async fn cards(&mut self) {
        for dialect in Dialect::ALL {
            let Some(ask) = dialect.ask(Probe::Card, &Target::default()) else { continue };
            let expected = self.place.ask(0, Some("zoe"), &ask, Until::End).await;
            for tenant in ["", "acme", "other"] {
                if !tenant.is_empty() && !dialect.has_tenants() {
                    continue;
                }
                let target = Target { tenant: tenant.to_owned(), ..Target::default() };
                let Some(ask) = dialect.ask(Probe::Card, &target) else { continue };
                for caller in [OWNER, "bob"] {
                    let answer = self.place.ask(0, Some(caller), &ask, Until::End).await;
                    if answer == expected && dialect.is_success(&answer) {
                        self.table.add(Probe::Card.operation(), dialect);
                    } else {
                        let told = format!("card, {}, {caller}: {answer:?}", dialect.name());
                        self.deviations.push(told);
                    }
                }
            }
        }
    }

    fn finish(self) -> usize {
        use std::io::Write as _;
        // Tests that pass print nothing through `println`, and many pass at once.
        let _written = std::io::stdout().write_all(self.table.to_string().as_bytes());
        let shown: Vec<_> = self.deviations.iter().take(10).map(String::as_str).collect();
        assert!(
            self.deviations.is_empty(),
            "{} deviations:\n{}",
            self.deviations.len(),
            shown.join("\n\n")
        );
        self.table.total()
    }
}
