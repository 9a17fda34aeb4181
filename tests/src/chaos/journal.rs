use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

/// The time since the start of the machine, which all its processes share. It goes on while a
/// process is stopped.
pub fn uptime() -> Duration {
    let text = fs::read_to_string("/proc/uptime").expect("Linux");
    let seconds = text.split(' ').next().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs_f64(seconds.expect("a number of seconds"))
}

/// A program for `a2a serve -- sh`, which writes a line for each side effect. Its arguments are the
/// name of the node and the journal, the first word of its input is the number of effects.
///
/// It also writes to its output, so that it ends after a server that was killed.
pub const PROGRAM: &str = r#"
node=$1 journal=$2 n=0
line() {
    read -r now _ </proc/uptime
    echo "$now $node $node.$$ $A2A_TASK_ID $1" >>"$journal"
}
read -r count _
line begin
while [ "$n" -lt "$count" ]; do
    sleep 0.25
    echo effect || exit 1
    line effect
    n=$((n + 1))
done
"#;

/// A line of a journal: what an executor did, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, since the start of the machine.
    pub at: Duration,
    /// The node.
    pub node: String,
    /// The run of the executor: that of another node is another one.
    pub run: String,
    /// The task.
    pub task: String,
    /// What it did.
    pub did: Did,
}

/// What an executor did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It began to run.
    Begin,
    /// It had a side effect.
    Effect,
    /// It began the `once` of this number.
    Once(u64),
}

impl Entry {
    /// Appends a line to a journal, in one write.
    pub fn append(&self, journal: &Path) -> io::Result<()> {
        let did = match self.did {
            Did::Begin => "begin".to_owned(),
            Did::Effect => "effect".to_owned(),
            Did::Once(number) => format!("once {number}"),
        };
        let Self { at, node, run, task, .. } = self;
        let line = format!("{:.2} {node} {run} {task} {did}\n", at.as_secs_f64());
        OpenOptions::new().create(true).append(true).open(journal)?.write_all(line.as_bytes())
    }

    /// The lines of a journal, in the order of their times.
    pub fn read(journal: &str) -> Result<Vec<Self>, String> {
        let complete = journal.rfind('\n').map_or("", |end| &journal[..end]);
        let entries = complete.lines().map(|line| {
            Self::parse(line).ok_or_else(|| format!("the journal has the line {line:?}"))
        });
        let mut entries: Vec<Self> = entries.collect::<Result<_, _>>()?;
        entries.sort_by_key(|entry| entry.at);
        Ok(entries)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let at = Duration::try_from_secs_f64(words.next()?.parse().ok()?).ok()?;
        let mut name = || words.next().map(str::to_owned);
        let (node, run, task) = (name()?, name()?, name()?);
        let did = match (words.next()?, words.next()) {
            ("begin", None) => Did::Begin,
            ("effect", None) => Did::Effect,
            ("once", Some(number)) => Did::Once(number.parse().ok()?),
            _ => return None,
        };
        Some(Self { at, node, run, task, did })
    }
}

/// A time in which a node did not renew its leases.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The node.
    pub node: String,
    /// Why.
    pub cause: Cause,
    /// The begin, since the start of the machine.
    pub from: Duration,
    /// The end.
    pub until: Duration,
}

impl Outage {
    /// An outage that begins now, with no end yet.
    pub fn begin(node: &str, cause: Cause) -> Self {
        Self { node: node.to_owned(), cause, from: uptime(), until: Duration::MAX }
    }
}

/// Why a node did not renew its leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its process was stopped.
    Stopped,
    /// Nothing passed its link to the database.
    Stalled,
}

/// What is known apart from the journal.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// When a client first saw that a task has ended, by the ids of tasks.
    pub ends: HashMap<String, Duration>,
    /// The outages of all nodes.
    pub outages: Vec<Outage>,
}
