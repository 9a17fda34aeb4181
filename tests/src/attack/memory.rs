//! Large responses that nobody reads, and what memory they come to.

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
    Attack, Process, Scene, Started, Verdict, attacks,
    frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, block, frame},
    scene::{JSON, waiting},
};

/// Size of the metadata of each task, in bytes.
const TASK: usize = 1 << 20;
/// How often it is asked for.
const TIMES: usize = 150;
/// How many tasks are asked for that are more than one address may have.
const DISTINCT: usize = 24;
/// How many tasks are asked for before the server is left alone, within the share of an address.
const IDLE: usize = 60;
/// How much the responses have to come to for their return to be seen.
const GROWTH: u64 = 32 << 20;
/// The pause between two looks at the server.
const PAUSE: Duration = Duration::from_millis(500);
/// What the servers are told, so that small tasks do: one address may have a quarter.
const BUDGET: [&str; 4] =
    ["--max-pending-response-bytes", "64MiB", "--max-list-page-bytes", "2MiB"];
/// What one address may have of responses that it does not read.
const SHARE: u64 = 16 << 20;
/// What it takes to read and write tasks, however many ask: copies of a page for each connection of
/// the store and each processor, and what a connection takes.
const WORK: u64 = 56 << 20;
/// How long memory may take to come back.
const RETURN: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "lists nobody reads", "150 ListTasks over 16 tasks of 1 MiB; memory store" => |scene| lists(scene, Store::Memory);
        "lists nobody reads from SQLite", "150 ListTasks over 16 tasks of 1 MiB; SQLite" => |scene| lists(scene, Store::Sqlite);
        "a task nobody reads", "150 GetTask on a connection with a window of 0; memory store" => |scene| gets(scene, Store::Memory);
        "a task nobody reads from SQLite", "150 GetTask on a connection with a window of 0; SQLite" => |scene| gets(scene, Store::Sqlite);
        "many tasks nobody reads", "GetTask of 24 tasks over gRPC with a window of 0; SQLite" => distinct;
        "subscriptions nobody reads", "150 SubscribeToTask of a task of 1 MiB; memory store" => |scene| subscriptions(scene, Store::Memory);
        "subscriptions nobody reads from SQLite", "150 SubscribeToTask of a task of 1 MiB; SQLite" => |scene| subscriptions(scene, Store::Sqlite);
        "idle memory", "60 tasks of 1 MiB that nobody reads, and then nothing at all" => idle;
    }
}

#[derive(Clone, Copy)]
enum Store {
    Memory,
    Sqlite,
}

/// A server of its own, and how much memory it has with its tasks.
struct Target {
    started: Started,
    before: u64,
}

impl Target {
    async fn start(scene: &Scene, store: Store) -> Result<Self, String> {
        let mut arguments = BUDGET.to_vec();
        if matches!(store, Store::Memory) {
            arguments.extend(["--store", "memory"]);
        }
        let started = Started::with_arguments(scene, &arguments).await?;
        Ok(Self { started, before: 0 })
    }

    fn scene(&self) -> &Scene {
        &self.started.scene
    }

    fn process(&self) -> Result<&Process, String> {
        self.scene().process.as_ref().ok_or_else(|| "the server has no process".to_owned())
    }

    fn memory(&self) -> Result<u64, String> {
        self.process()?.memory().ok_or_else(|| "the server is gone".to_owned())
    }

    fn id(&self) -> Result<u32, String> {
        Ok(self.process()?.id)
    }

    /// Makes tasks with large metadata, each another one, and notes the memory.
    async fn tasks(&mut self, text: &str, count: usize) -> Result<Vec<String>, String> {
        let mut ids = Vec::new();
        for number in 0..count {
            let mut params = waiting(text);
            let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
            let large = letter.to_string().repeat(TASK);
            params["message"]["metadata"] = json!({"number": number, "x": large});
            let result = self.scene().works("SendMessage", params).await?;
            let id = result["task"]["id"].as_str().ok_or("no task")?;
            ids.push(id.to_owned());
        }
        // Reading fills the caches of the store, which stay.
        let read = |id| self.scene().works("GetTask", json!({"id": id}));
        let _read = join_all(ids.iter().cycle().take(8).map(read)).await;
        self.before = self.memory()?;
        // The peak is that of now on.
        let of_peak = format!("/proc/{}/clear_refs", self.id()?);
        fs::write(of_peak, "5").map_err(|error| format!("the peak can't be reset: {error}"))?;
        Ok(ids)
    }

    /// A line of what the system says of the process, in bytes.
    fn peak(&self) -> Result<u64, String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()?));
        let status = status.map_err(|error| error.to_string())?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kib.ok_or("the system tells no peak")? << 10)
    }

    /// The time that the process has worked, in ticks of the system.
    fn worked(&self) -> Result<u64, String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()?));
        let stat = stat.map_err(|error| error.to_string())?;
        let (_, fields) = stat.rsplit_once(')').ok_or("no statistics")?;
        let ticks = fields.split_whitespace().skip(11).take(2);
        Ok(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
    }

    /// Waits until the server does next to nothing any more.
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
                return Err("the server works on and on".to_owned());
            }
            before = now;
        }
    }

    /// Waits until the server has done what was asked of it, and says what its memory came to.
    async fn verdict(&self, asked: &str) -> Verdict {
        self.rests().await?;
        let (before, peak, most) = (self.before, self.peak()?, self.before + SHARE + WORK);
        let told = format!(
            "{asked}: {} MiB before, {} MiB at most, of {} MiB allowed",
            before >> 20,
            peak >> 20,
            most >> 20
        );
        if peak > most { Err(told) } else { Ok(told) }
    }
}

/// Makes requests of HTTP/1.1 on connections of their own, of which nothing is read.
async fn unread(scene: &Scene, request: &str, times: usize) -> Result<Vec<TcpStream>, String> {
    let mut connections = Vec::new();
    for _ in 0..times {
        let connect = async {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(4 << 10)?;
            let mut connection = socket.connect(scene.address).await?;
            connection.write_all(request.as_bytes()).await?;
            Ok::<_, std::io::Error>(connection)
        };
        connections.push(connect.await.map_err(|error| format!("can't ask: {error}"))?);
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
    unread(target.scene(), &post(&params, "ListTasks"), TIMES).await
}

async fn lists(scene: &Scene, store: Store) -> Verdict {
    let mut target = Target::start(scene, store).await?;
    let unread = ask_for_lists(&mut target).await?;
    let verdict = target.verdict("lists").await;
    drop(unread);
    verdict
}

async fn subscriptions(scene: &Scene, store: Store) -> Verdict {
    let mut target = Target::start(scene, store).await?;
    let ids = target.tasks("ask", 1).await?;
    let params = json!({"id": ids.first()});
    let unread = unread(target.scene(), &post(&params, "SubscribeToTask"), TIMES).await?;
    let verdict = target.verdict("subscriptions").await;
    drop(unread);
    verdict
}

/// The id of the stream with a number.
fn stream(number: usize) -> u32 {
    u32::try_from(number * 2 + 1).unwrap_or(u32::MAX >> 1)
}

async fn gets(scene: &Scene, store: Store) -> Verdict {
    let mut target = Target::start(scene, store).await?;
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
    let mut frames = Frames::open(target.scene(), &[(4, 0)]).await?;
    for number in 0..TIMES {
        let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        frames.write(&ask).await.map_err(|error| format!("can't ask: {error}"))?;
    }
    let verdict = target.verdict("GetTask").await;
    frames.read(PAUSE).await;
    verdict.map(|told| format!("{}, {told}", frames.told()))
}

async fn distinct(scene: &Scene) -> Verdict {
    let mut target = Target::start(scene, Store::Sqlite).await?;
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
    let mut frames = Frames::open(target.scene(), &[(4, 0)]).await?;
    for (number, id) in ids.iter().enumerate() {
        let length = u8::try_from(id.len()).map_err(|error| error.to_string())?;
        // The id is field 2.
        let message = [&[0x12, length], id.as_bytes()].concat();
        let body = [&[0, 0, 0, 0, length + 2], &message[..]].concat();
        let ask = [
            frame(HEADERS, END_HEADERS, stream(number), &head),
            frame(DATA, END_STREAM, stream(number), &body),
        ];
        frames.write(&ask.concat()).await.map_err(|error| format!("can't ask: {error}"))?;
    }
    let verdict = target.verdict("GetTask").await?;
    frames.read(PAUSE).await;
    // An error of gRPC is a head that ends its stream.
    let heads = frames.frames().into_iter().filter(|(kind, ..)| *kind == HEADERS);
    let refused = heads.filter(|(_, flags, _)| flags & END_STREAM != 0).count();
    let told = format!("{refused} of {DISTINCT} refused, {verdict}");
    if refused == 0 { Err(told) } else { Ok(told) }
}

/// Responses that are large, each another one, and not read until everybody hangs up.
async fn idle(scene: &Scene) -> Verdict {
    let started = Started::with_arguments(scene, &["--store", "memory"]).await?;
    let mut target = Target { started, before: 0 };
    let ids = target.tasks("echo x", IDLE).await?;
    let mut frames = Frames::open(target.scene(), &[(4, 0)]).await?;
    for (number, id) in ids.iter().enumerate() {
        let head = block(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", &format!("/tasks/{id}")),
            (":authority", "localhost"),
            ("a2a-version", "1.0"),
        ]);
        let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        frames.write(&ask).await.map_err(|error| format!("can't ask: {error}"))?;
    }
    target.rests().await?;
    let (before, peak) = (target.before, target.peak()?);
    drop(frames);
    let growth = peak.saturating_sub(before);
    if growth < GROWTH {
        return Err(format!("memory grew by {} MiB only, which shows nothing", growth >> 20));
    }
    let begun = Instant::now();
    loop {
        sleep(PAUSE).await;
        let (now, took) = (target.memory()?, begun.elapsed());
        let told = format!(
            "{} MiB before, {} MiB at most, {} MiB {took:.0?} after the last request",
            before >> 20,
            peak >> 20,
            now >> 20
        );
        if now <= before + growth / 4 {
            return Ok(told);
        }
        if took > RETURN {
            return Err(told);
        }
    }
}
