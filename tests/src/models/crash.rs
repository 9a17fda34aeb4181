//! A server that is killed during a run, and the run that a restart or another node completes.

use std::{fs, path::Path, process::Command};

use a2a_core::TaskState;
use a2a_kit_client::{Client, WaitOptions};
use a2a_test_servers::postgres;
use futures_util::future::join_all;

use super::{
    Cell, LIMIT, Plan, Result, Seen,
    chat::{said, tool_call},
    expect::{expect, same},
    fake::{Fake, Script, Step, head},
    process::Process,
};

/// The point of a run at which the server is killed.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub name: &'static str,
    /// The responses of the model.
    scripts: fn() -> Vec<Script>,
    /// The number of requests to the model before the kill.
    requests: usize,
    /// Whether callers have seen text before the kill.
    has_text: bool,
}

/// The points.
pub const POINTS: [Point; 3] = [
    Point {
        name: "before the head",
        scripts: || vec![vec![Step::Silence], said("Oslo")],
        requests: 1,
        has_text: false,
    },
    Point {
        name: "after the first chunk",
        scripts: || {
            let mut cut = said("It is Bergen");
            cut.truncate(2);
            vec![[cut, vec![Step::Silence]].concat(), said("Oslo")]
        },
        requests: 1,
        has_text: true,
    },
    Point {
        name: "after a call",
        scripts: || {
            let unknown = tool_call("call_1", "unknown", "{}");
            vec![unknown, vec![head(), Step::Silence], said("Oslo")]
        },
        requests: 2,
        has_text: false,
    },
];

/// What continues the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// The same server, restarted on SQLite.
    Restart,
    /// A second node on PostgreSQL.
    Node,
}

impl Successor {
    pub const ALL: [Self; 2] = [Self::Restart, Self::Node];

    pub fn name(self) -> &'static str {
        match self {
            Self::Restart => "kill -9",
            Self::Node => "takeover",
        }
    }
}

/// The name of a check.
pub fn name(successor: Successor, point: &Point) -> String {
    format!("{}/{}", successor.name(), point.name)
}

/// Runs the checks, all at the same time, with a column for each successor. Returns the number of
/// repeated calls, too.
pub(super) async fn run(plan: &Plan) -> (Vec<(Successor, Vec<Cell>)>, usize) {
    let (mut columns, mut total) = (Vec::new(), 0);
    for successor in Successor::ALL {
        let checks = POINTS.map(|point| async move {
            if !plan.wants(&name(successor, &point)) {
                return (Cell::Omitted, 0);
            }
            let mut repeated = 0;
            let check = check(plan, successor, point, &mut repeated);
            let cell = Cell::of(tokio::time::timeout(LIMIT, check).await);
            (cell, repeated)
        });
        let (cells, repeated): (Vec<_>, Vec<_>) = join_all(checks).await.into_iter().unzip();
        columns.push((successor, cells));
        total += repeated.into_iter().sum::<usize>();
    }
    (columns, total)
}

async fn check(plan: &Plan, successor: Successor, point: Point, repeated: &mut usize) -> Result {
    let folder = plan.folder.join(name(successor, &point).replace(' ', "-"));
    fs::create_dir_all(&folder)?;
    let store = match successor {
        Successor::Restart => "tasks.db".to_owned(),
        Successor::Node => match postgres().await {
            Ok(postgres) => postgres.database().await,
            Err(skipped) => return Err(Box::new(skipped)),
        },
    };
    let scripts = (point.scripts)();
    let expected = scripts.len();
    let model = Fake::start(scripts).await;
    let start = || Node::start(plan, &folder, &store, &model);
    let first = start().await?;
    let second = match successor {
        Successor::Restart => None,
        Successor::Node => Some(start().await?),
    };
    let mut seen = Seen::default();
    let mut events = first.client.stream("What is the capital of Norway?").await?;
    while seen.task.is_empty() || (point.has_text && seen.text().is_empty()) {
        expect(seen.next(&mut events).await?, "the stream ends before the kill")?;
    }
    model.wait(|requests| requests.len() == point.requests).await;
    drop((first, events));
    let second = match second {
        Some(node) => node,
        None => start().await?,
    };
    let task = second.client.wait(&*seen.task, WaitOptions::default()).await?;
    let requests = model.requests();
    *repeated = requests.len().saturating_sub(expected);
    same(task.state(), TaskState::Completed, "state")?;
    same(task.text().as_str(), "Oslo", "text")?;
    same(requests.len(), expected, "requests")?;
    let [before, after] = [point.requests - 1, point.requests].map(|index| &requests[index].body);
    expect(before == after, "the interrupted call is made again with another body")
}

/// `a2a serve --model`, killed on drop.
struct Node {
    client: Client,
    _process: Process,
}

impl Node {
    async fn start(plan: &Plan, folder: &Path, store: &str, model: &Fake) -> Result<Self> {
        let mut command = Command::new(&plan.binary);
        command.args(["serve", "--port", "0", "--store", store, "--model", "openai-chat/m"]);
        command.args(["--base-url", &format!("{}/v1", model.url)]).current_dir(folder);
        let process = Process::start(&mut command, "Listening: ", &folder.join("log"))?;
        Ok(Self { client: Client::connect(&process.url).await?, _process: process })
    }
}
