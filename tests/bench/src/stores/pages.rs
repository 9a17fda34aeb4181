//! The time of a page among many tasks, relative to few.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::TaskState;
use a2a_kit_operations::{
    Scope, Store,
    store::{PageKey, TaskQuery},
};
use a2a_kit_store_testing::store::fixtures::{new_task, query, scope, task};
use futures_util::{StreamExt as _, stream};
use uuid::Uuid;

use super::{databases::Databases, verdict::Verdict};

const FEW: usize = 1_000;
const PAGE: usize = 50;
const ROUNDS: usize = 300;
/// Limit of the ratio.
const LIMIT: f64 = 5.0;
const IN_FLIGHT: usize = 512;
/// Status time of the first task, in milliseconds since 1970; later tasks are a second apart.
const START: i64 = 1_760_000_000_000;

pub(crate) async fn run(databases: &Databases, many: usize, verdict: &mut Verdict) {
    println!("\npages of {PAGE}: median time among {FEW} and among {many} tasks; limit x{LIMIT}");
    println!("  stored one by one through the store, each with its first event");
    let (few, more) = (Arc::new(databases.sqlite().await), Arc::new(databases.sqlite().await));
    compare("SQLite", few, Arc::clone(&more) as Arc<dyn Store>, many, verdict).await;
    more.close().await;
    let (few, more) = (Arc::new(databases.postgres().await), Arc::new(databases.postgres().await));
    compare("PostgreSQL", few, more, many, verdict).await;
}

/// A store and its number of tasks.
struct Filled {
    store: Arc<dyn Store>,
    tasks: usize,
}

async fn compare(
    name: &str,
    few: Arc<dyn Store>,
    more: Arc<dyn Store>,
    many: usize,
    verdict: &mut Verdict,
) {
    let scope = scope("ann");
    let few = Filled { store: few, tasks: FEW };
    let more = Filled { store: more, tasks: many };
    few.fill(&scope).await;
    let start = Instant::now();
    more.fill(&scope).await;
    let rate = many as f64 / start.elapsed().as_secs_f64();
    println!("  {name}: {many} tasks stored in {:.0?}, {rate:.0}/s", start.elapsed());
    for case in Case::ALL {
        let (mut times, mut others) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            times.push(few.time(&scope, case, round).await);
            others.push(more.time(&scope, case, round).await);
        }
        let (few, more) = (median(times), median(others));
        let ratio = more.as_secs_f64() / few.as_secs_f64();
        let what = format!("{name}, {}", case.name());
        let word = verdict.limit(&what, ratio, LIMIT);
        println!("  {what:<40} {few:>10.1?} {more:>10.1?}  x{ratio:.2}  {word}");
    }
}

impl Filled {
    /// Stores the tasks. A quarter is in the context `c0`, a quarter has failed, and 50 share another
    /// context.
    async fn fill(&self, scope: &Scope) {
        let one = |number: usize| async move {
            let context_id = match number % (self.tasks / PAGE) {
                1 => "rare".to_owned(),
                _ => format!("c{}", number % 4),
            };
            let state = if is_failed(number) { TaskState::Failed } else { TaskState::Completed };
            let id = Uuid::now_v7().to_string();
            let new = new_task(&task(&id, &context_id, state, millis(number)));
            self.store.insert(scope, new).await.expect("the task is new");
        };
        stream::iter(0..self.tasks).map(one).buffer_unordered(IN_FLIGHT).count().await;
    }

    /// Times one page, which has to be full and have the correct total.
    async fn time(&self, scope: &Scope, case: Case, round: usize) -> Duration {
        let query = case.query(self.tasks, round);
        let start = Instant::now();
        let page = self.store.list(scope, &query).await.expect("the store succeeds");
        let time = start.elapsed();
        assert_eq!(page.tasks.len(), PAGE, "{}", case.name());
        assert_eq!(page.total, case.total(self.tasks), "{}", case.name());
        time
    }
}

#[derive(Clone, Copy)]
enum Case {
    First,
    Deep,
    Anywhere,
    Context,
    RareContext,
    State,
    DeepInState,
    ContextAndState,
}

impl Case {
    const ALL: [Self; 8] = [
        Self::First,
        Self::Deep,
        Self::Anywhere,
        Self::Context,
        Self::RareContext,
        Self::State,
        Self::DeepInState,
        Self::ContextAndState,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::First => "first page",
            Self::Deep => "page in the middle",
            Self::Anywhere => "another page each time",
            Self::Context => "context of a quarter",
            Self::RareContext => "context of 50 tasks",
            Self::State => "state of a quarter",
            Self::DeepInState => "in a state, another page each time",
            Self::ContextAndState => "context and state",
        }
    }

    fn query(self, tasks: usize, round: usize) -> TaskQuery {
        // Steps that visit all regions, with more than a page left at the end.
        let anywhere = 300 + round * 7_919 % (tasks - 300);
        let behind = |number: usize| Some(PageKey::new(millis(number), ""));
        let context = |id: &str| Some(id.to_owned());
        let mut query = query(PAGE);
        match self {
            Self::First => {}
            Self::Deep => query.after = behind(tasks / 2),
            Self::Anywhere => query.after = behind(anywhere),
            Self::Context => query.context_id = context("c0"),
            Self::RareContext => query.context_id = context("rare"),
            Self::State => query.state = Some(TaskState::Failed),
            Self::DeepInState => {
                query.state = Some(TaskState::Failed);
                query.after = behind(anywhere);
            }
            Self::ContextAndState => {
                query.context_id = context("c3");
                query.state = Some(TaskState::Failed);
            }
        }
        query
    }

    /// The number of matching tasks.
    fn total(self, tasks: usize) -> usize {
        let is_rare = |number: usize| number % (tasks / PAGE) == 1;
        let numbers = 0..tasks;
        match self {
            Self::First | Self::Deep | Self::Anywhere => tasks,
            Self::Context => numbers.filter(|n| n % 4 == 0 && !is_rare(*n)).count(),
            Self::RareContext => PAGE,
            Self::State | Self::DeepInState => numbers.filter(|n| is_failed(*n)).count(),
            Self::ContextAndState => {
                numbers.filter(|n| n % 4 == 3 && is_failed(*n) && !is_rare(*n)).count()
            }
        }
    }
}

/// Whether a task has failed: a quarter of each context.
fn is_failed(number: usize) -> bool {
    (number / 4).is_multiple_of(4)
}

fn millis(number: usize) -> i64 {
    START + i64::try_from(number).expect("not that many") * 1_000
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
