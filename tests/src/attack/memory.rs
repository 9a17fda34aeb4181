//! Memory of large unread responses.

use std::{
    fs,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use super::{
    Attack, Environment, Process, Started, Verdict, attacks,
    environment::{JSON, waiting},
    frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, block, frame},
};

/// Size of the metadata of each task, in bytes.
const TASK: usize = 1 << 20;
/// Number of requests.
const TIMES: usize = 150;
/// Number of tasks that exceed the share of one address.
const DISTINCT: usize = 24;
/// Number of tasks requested before the server is idle, within the share of an address.
const IDLE: usize = 60;
/// Minimum growth for the release to be measurable.
const GROWTH: u64 = 32 << 20;
/// Interval of samples.
const PAUSE: Duration = Duration::from_millis(500);
/// A reduced response budget, so that small tasks suffice; one address has a quarter.
const BUDGET: [&str; 4] =
    ["--max-pending-response-bytes", "64MiB", "--max-list-page-bytes", "2MiB"];
/// The share of one address in unread responses.
const SHARE: u64 = 16 << 20;
/// Memory for reading and writing tasks, independent of the number of requests: copies of a page
/// for each store connection and CPU, and connection state.
const WORK: u64 = 56 << 20;
/// Timeout for memory to be released.
const RETURN: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "unread lists", "150 ListTasks over 16 tasks of 1 MiB; memory store" => |env| lists(env, Store::Memory);
        "unread lists from SQLite", "150 ListTasks over 16 tasks of 1 MiB; SQLite" => |env| lists(env, Store::Sqlite);
        "unread task", "150 GetTask on a connection with a window of 0; memory store" => |env| gets(env, Store::Memory);
        "unread task from SQLite", "150 GetTask on a connection with a window of 0; SQLite" => |env| gets(env, Store::Sqlite);
        "unread tasks", "GetTask of 24 tasks over gRPC with a window of 0; SQLite" => distinct;
        "unread subscriptions", "150 SubscribeToTask of a task of 1 MiB; memory store" => |env| subscriptions(env, Store::Memory);
        "unread subscriptions from SQLite", "150 SubscribeToTask of a task of 1 MiB; SQLite" => |env| subscriptions(env, Store::Sqlite);
        "idle memory", "60 unread tasks of 1 MiB, then idle" => idle;
    }
}

#[derive(Clone, Copy)]
enum Store {
    Memory,
    Sqlite,
}

/// A separate server, and its memory with its tasks.
struct Target {
    started: Started,
    before: u64,
}

impl Target {
    async fn start(env: &Environment, store: Store) -> Result<Self, String> {
        let mut arguments = BUDGET.to_vec();
        if matches!(store, Store::Memory) {
            arguments.extend(["--store", "memory"]);
        }
        let started = Started::with_arguments(env, &arguments).await?;
        Ok(Self { started, before: 0 })
    }

    fn env(&self) -> &Environment {
        &self.started.env
    }

    fn process(&self) -> Result<&Process, String> {
        self.env().process.as_ref().ok_or_else(|| "the server has no process".to_owned())
    }

    fn memory(&self) -> Result<u64, String> {
        self.process()?.memory().ok_or_else(|| "the server is gone".to_owned())
    }

    fn id(&self) -> Result<u32, String> {
        Ok(self.process()?.id)
    }

    /// Creates distinct tasks with large metadata, and records the memory.
    async fn tasks(&mut self, text: &str, count: usize) -> Result<Vec<String>, String> {
        let mut ids = Vec::new();
        for number in 0..count {
            let mut params = waiting(text);
            let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
            let large = letter.to_string().repeat(TASK);
            params["message"]["metadata"] = json!({"number": number, "x": large});
            let result = self.env().works("SendMessage", params).await?;
            let id = result["task"]["id"].as_str().ok_or("no task")?;
            ids.push(id.to_owned());
        }
        // Reading fills the permanent caches of the store.
        let read = |id| self.env().works("GetTask", json!({"id": id}));
        let _read = join_all(ids.iter().cycle().take(8).map(read)).await;
        self.before = self.memory()?;
        // Resets the peak.
        let of_peak = format!("/proc/{}/clear_refs", self.id()?);
        fs::write(of_peak, "5").map_err(|error| format!("the peak can't be reset: {error}"))?;
        Ok(ids)
    }

    /// A value of `/proc/<pid>/status`, in bytes.
    fn peak(&self) -> Result<u64, String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()?));
        let status = status.map_err(|error| error.to_string())?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kib.ok_or("no peak in /proc")? << 10)
    }

    /// The CPU time of the process, in clock ticks.
    fn worked(&self) -> Result<u64, String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()?));
        let stat = stat.map_err(|error| error.to_string())?;
        let (_, fields) = stat.rsplit_once(')').ok_or("no statistics")?;
        let ticks = fields.split_whitespace().skip(11).take(2);
        Ok(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
    }

    /// Waits until the server is idle.
    async fn rests(&self) -> Result<(), String> {
        let end = Instant::now() + RETURN;
        let mut before = self.worked()?;
        loop {
            sleep(PAUSE).await;
            let now = self.worked()?;
            if now - before <= 3 {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("the server does not become idle".to_owned());
            }
            before = now;
        }
    }

    /// Waits until the server is idle, and checks its peak memory.
    async fn verdict(&self, asked: &str) -> Verdict {
        self.rests().await?;
        let (before, peak, most) = (self.before, self.peak()?, self.before + SHARE + WORK);
        let summary = format!(
            "{asked}: {} MiB before, {} MiB at most, of {} MiB allowed",
            before >> 20,
            peak >> 20,
            most >> 20
        );
        if peak > most { Err(summary) } else { Ok(summary) }
    }
}

/// Makes HTTP/1.1 requests on separate connections without reading the responses.
async fn unread(env: &Environment, request: &str, times: usize) -> Result<Vec<TcpStream>, String> {
    let mut connections = Vec::new();
    for _ in 0..times {
        let connect = async {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(4 << 10)?;
            let mut connection = socket.connect(env.address).await?;
            connection.write_all(request.as_bytes()).await?;
            Ok::<_, std::io::Error>(connection)
        };
        connections.push(connect.await.map_err(|error| format!("failed to send: {error}"))?);
    }
    Ok(connections)
}

fn post(params: &serde_json::Value, method: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let length = body.len();
    format!("POST / HTTP/1.1\r\nhost: localhost\r\n{JSON}content-length: {length}\r\n\r\n{body}")
}

async fn ask_for_lists(target: &mut Target) -> Result<Vec<TcpStream>, String> {
    target.tasks("echo x", 16).await?;
    let params = json!({"pageSize": 100, "historyLength": 100});
    unread(target.env(), &post(&params, "ListTasks"), TIMES).await
}

async fn lists(env: &Environment, store: Store) -> Verdict {
    let mut target = Target::start(env, store).await?;
    let unread = ask_for_lists(&mut target).await?;
    let verdict = target.verdict("lists").await;
    drop(unread);
    verdict
}

async fn subscriptions(env: &Environment, store: Store) -> Verdict {
    let mut target = Target::start(env, store).await?;
    let ids = target.tasks("ask", 1).await?;
    let params = json!({"id": ids.first()});
    let unread = unread(target.env(), &post(&params, "SubscribeToTask"), TIMES).await?;
    let verdict = target.verdict("subscriptions").await;
    drop(unread);
    verdict
}

/// The id of the n-th stream.
fn stream(number: usize) -> u32 {
    u32::try_from(number * 2 + 1).unwrap_or(u32::MAX >> 1)
}

async fn gets(env: &Environment, store: Store) -> Verdict {
    let mut target = Target::start(env, store).await?;
    let ids = target.tasks("echo x", 1).await?;
    let path = format!("/tasks/{}", ids.first().map_or("", String::as_str));
    let head = block(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", "localhost"),
        ("a2a-version", "1.0"),
    ]);
    // Setting 4 is the window of each stream.
    let mut frames = Frames::open(target.env(), &[(4, 0)]).await?;
    for number in 0..TIMES {
        let bytes = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        frames.write(&bytes).await.map_err(|error| format!("failed to send: {error}"))?;
    }
    let verdict = target.verdict("GetTask").await;
    frames.read(PAUSE).await;
    verdict.map(|summary| format!("{}, {summary}", frames.summary()))
}

async fn distinct(env: &Environment) -> Verdict {
    let mut target = Target::start(env, Store::Sqlite).await?;
    let ids = target.tasks("echo x", DISTINCT).await?;
    let head = block(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/lf.a2a.v1.A2AService/GetTask"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("a2a-version", "1.0"),
    ]);
    let mut frames = Frames::open(target.env(), &[(4, 0)]).await?;
    for (number, id) in ids.iter().enumerate() {
        let length = u8::try_from(id.len()).map_err(|error| error.to_string())?;
        // The id is field 2.
        let message = [&[0x12, length], id.as_bytes()].concat();
        let body = [&[0, 0, 0, 0, length + 2], &message[..]].concat();
        let bytes = [
            frame(HEADERS, END_HEADERS, stream(number), &head),
            frame(DATA, END_STREAM, stream(number), &body),
        ];
        frames.write(&bytes.concat()).await.map_err(|error| format!("failed to send: {error}"))?;
    }
    let verdict = target.verdict("GetTask").await?;
    frames.read(PAUSE).await;
    // A gRPC error is a head with END_STREAM.
    let heads = frames.frames().into_iter().filter(|(kind, ..)| *kind == HEADERS);
    let rejected = heads.filter(|(_, flags, _)| flags & END_STREAM != 0).count();
    let summary = format!("{rejected} of {DISTINCT} rejected, {verdict}");
    if rejected == 0 { Err(summary) } else { Ok(summary) }
}

/// Large distinct responses, unread until the connections close.
async fn idle(env: &Environment) -> Verdict {
    let started = Started::with_arguments(env, &["--store", "memory"]).await?;
    let mut target = Target { started, before: 0 };
    let ids = target.tasks("echo x", IDLE).await?;
    let mut frames = Frames::open(target.env(), &[(4, 0)]).await?;
    for (number, id) in ids.iter().enumerate() {
        let head = block(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", &format!("/tasks/{id}")),
            (":authority", "localhost"),
            ("a2a-version", "1.0"),
        ]);
        let bytes = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        frames.write(&bytes).await.map_err(|error| format!("failed to send: {error}"))?;
    }
    target.rests().await?;
    let (before, peak) = (target.before, target.peak()?);
    drop(frames);
    let growth = peak.saturating_sub(before);
    if growth < GROWTH {
        return Err(format!("memory grew by only {} MiB", growth >> 20));
    }
    let begun = Instant::now();
    loop {
        sleep(PAUSE).await;
        let (now, took) = (target.memory()?, begun.elapsed());
        let summary = format!(
            "{} MiB before, {} MiB at most, {} MiB {took:.0?} after the last request",
            before >> 20,
            peak >> 20,
            now >> 20
        );
        if now <= before + growth / 4 {
            return Ok(summary);
        }
        if took > RETURN {
            return Err(summary);
        }
    }
}
