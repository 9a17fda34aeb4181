//! Tests interoperability with the official SDKs in both directions, and prints a matrix.
//!
//! Each SDK has two roles, on each of its bindings: its client calls `a2a serve`, and our client
//! calls an agent written with it. The drivers in `tests/interop/` print one line of JSON per
//! operation, from which this task builds a matrix.

mod cards;
mod install;
mod matrix;
mod process;
mod proxy;
mod rows;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use clap::ValueEnum;

use crate::{Result, workspace};

use self::{
    install::Installed,
    matrix::{Column, Matrix},
    process::{Lines, Server},
};

/// The bindings, as agent cards name them.
const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// Timeout for a server to start listening.
const START: Duration = Duration::from_secs(60);

/// Timeout of a client for all operations; each operation has its own, much shorter one.
const ALL_OPERATIONS: Duration = Duration::from_secs(600);

/// The arguments of `cargo xtask interop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this SDK
    #[arg(long)]
    sdk: Option<Sdk>,
    /// Only this operation, a row of the matrix; repeatable
    #[arg(long, value_name = "OPERATION")]
    only: Vec<String>,
}

/// An official SDK, the current one or that of an older revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sdk {
    Python,
    Js,
    #[value(name = "python-0.3")]
    Python03,
    /// The current one with 0.3 compatibility.
    PythonCompat,
    #[value(name = "python-0.2")]
    Python02,
    /// The current one with 0.3 compatibility.
    JsCompat,
    #[value(name = "js-0.3")]
    Js03,
    #[value(name = "js-0.2")]
    Js02,
    /// No SDK: it checks our OpenAPI document, and our server against it.
    Schemathesis,
}

impl Sdk {
    const ALL: [Self; 9] = [
        Self::Python,
        Self::Js,
        Self::PythonCompat,
        Self::Python03,
        Self::Python02,
        Self::JsCompat,
        Self::Js03,
        Self::Js02,
        Self::Schemathesis,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Js => "js",
            Self::PythonCompat => "python-compat",
            Self::Python03 => "python-0.3",
            Self::Python02 => "python-0.2",
            Self::JsCompat => "js-compat",
            Self::Js03 => "js-0.3",
            Self::Js02 => "js-0.2",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// The directory of its drivers, below `tests/interop`.
    fn folder(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Js | Self::JsCompat => "js",
            Self::PythonCompat => "python/compat",
            Self::Python03 => "python/v0_3",
            Self::Python02 => "python/v0_2",
            Self::Js03 => "js/v0_3",
            Self::Js02 => "js/v0_2",
            Self::Schemathesis => "python/schema",
        }
    }

    /// Additional arguments of its drivers.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::JsCompat => &["--compat"],
            _ => &[],
        }
    }

    fn language(self) -> Language {
        match self {
            Self::Python
            | Self::PythonCompat
            | Self::Python03
            | Self::Python02
            | Self::Schemathesis => Language::Python,
            Self::Js | Self::JsCompat | Self::Js03 | Self::Js02 => Language::Js,
        }
    }

    /// Its revision, if that is an older one.
    fn older(self) -> Option<&'static str> {
        match self {
            Self::Python | Self::Js | Self::Schemathesis => None,
            Self::PythonCompat | Self::Python03 | Self::JsCompat | Self::Js03 => Some("0.3"),
            Self::Python02 | Self::Js02 => Some("0.2"),
        }
    }

    /// Its bindings.
    fn bindings(self) -> &'static [&'static str] {
        match self {
            Self::Python02 => &["JSONRPC", "GRPC"],
            Self::Js02 => &["JSONRPC"],
            Self::Schemathesis => &["HTTP+JSON"],
            _ => &BINDINGS,
        }
    }
}

/// The language of an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    Js,
}

pub(crate) fn run(args: Args) -> Result {
    let bench = Bench::prepare()?;
    let mut sdks = Matrix::new(rows::OPERATIONS, &bench.sources, &args.only)?;
    let mut older = Matrix::new(rows::OLDER, &bench.sources, &args.only)?;
    let mut proxied = Matrix::new(rows::OLDER, &bench.sources, &args.only)?;
    let mut wire = Matrix::new(rows::WIRE, &bench.sources, &args.only)?;
    let mut cards = Matrix::new(rows::CARDS, &bench.sources, &args.only)?;
    let mut schema = Matrix::new(rows::SCHEMA, &bench.sources, &args.only)?;
    if [&sdks, &older, &wire, &cards, &schema].into_iter().all(Matrix::is_empty) {
        return Err("--only: unknown operation".into());
    }
    for sdk in Sdk::ALL {
        if args.sdk.is_some_and(|wanted| wanted != sdk) {
            continue;
        }
        let matrix = match sdk {
            Sdk::Schemathesis => &mut schema,
            _ if sdk.older().is_some() => &mut older,
            _ => &mut sdks,
        };
        match install::install(sdk, &bench.sources, &bench.target)? {
            Installed::Ready(checker) if sdk == Sdk::Schemathesis => {
                if !matrix.is_empty() {
                    bench.checks_schema(&checker, &args.only, matrix)?;
                }
            }
            Installed::Ready(programs) => {
                if !matrix.is_empty() {
                    bench.sdk_calls_us(&programs, &args.only, matrix)?;
                    bench.we_call_sdk(&programs, &args.only, matrix)?;
                }
                if matches!(sdk, Sdk::Python | Sdk::Js) && !cards.is_empty() {
                    bench.cards(&programs, &mut cards)?;
                }
                if sdk == Sdk::Python && !wire.is_empty() {
                    bench.http_calls_us(&programs, &args.only, &mut wire)?;
                }
                if sdk == Sdk::Python03 && !proxied.is_empty() {
                    let caller =
                        install::install(Sdk::PythonCompat, &bench.sources, &bench.target)?;
                    bench.calls_by_proxy(&programs, &caller, &args.only, &mut proxied)?;
                }
            }
            Installed::Absent(reason) => {
                if sdk == Sdk::Python {
                    wire.skip("http", reason.clone());
                }
                if matches!(sdk, Sdk::Python | Sdk::Js) {
                    cards.skip(sdk.name(), reason.clone());
                }
                matrix.skip(sdk.name(), reason);
            }
        }
    }
    let all = [&sdks, &older, &proxied, &wire, &cards, &schema];
    for matrix in all {
        if !matrix.is_unused() {
            println!("{matrix}");
        }
    }
    let report = bench.target.join("report.json");
    let data = serde_json::json!({
        "sdks": sdks.to_json(), "older": older.to_json(), "proxied": proxied.to_json(),
        "wire": wire.to_json(), "cards": cards.to_json(), "schema": schema.to_json(),
    });
    fs::write(&report, format!("{data:#}\n"))?;
    println!("wrote {}; the logs are in logs/ next to it", workspace::relative(&report));
    match all.into_iter().map(Matrix::failures).sum::<usize>() {
        0 => Ok(()),
        failures => Err(format!("{failures} operations failed").into()),
    }
}

/// The paths that the runs need.
struct Bench {
    /// The drivers, `tests/interop`.
    sources: PathBuf,
    /// Installed SDKs and output, `target/interop`.
    target: PathBuf,
    /// The executables built by cargo.
    binaries: PathBuf,
}

impl Bench {
    fn prepare() -> Result<Self> {
        let sources = workspace::root().join("tests/interop");
        let target = workspace::root().join("target/interop");
        fs::create_dir_all(target.join("logs"))?;
        let build = ["build", "--quiet", "-p", "a2a-cli", "-p", "a2a-tests", "--bins"];
        process::succeed(workspace::cargo().args(build))?;
        // The same cargo built this program.
        let here = std::env::current_exe()?;
        let binaries = here.parent().ok_or("the path of this program has no parent")?.to_path_buf();
        Ok(Self { sources, target, binaries })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.target.join("logs").join(format!("{name}.log"))
    }

    /// The SDK's client against `a2a serve`.
    fn sdk_calls_us(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let peer = sdk.sdk.name();
        let server = self.serve(&format!("{peer}-client"), &[])?;
        let client = |binding| sdk.client("client", &server.address, binding, only);
        self.columns(peer, "client", sdk.sdk.bindings(), client, matrix)
    }

    /// Plain HTTP against `a2a serve`, in all forms of deployed clients.
    fn http_calls_us(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let server = self.serve("http-client", &[])?;
        let client = |binding| sdk.client("wire", &server.address, binding, only);
        self.columns("http", "client", &BINDINGS[..2], client, matrix)
    }

    /// Valid and invalid requests according to the OpenAPI document, against `a2a serve`.
    fn checks_schema(&self, checker: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let server = self.serve("schemathesis", &[])?;
        let client = |binding| checker.client("checker", &server.address, binding, only);
        self.columns("schemathesis", "checker", checker.sdk.bindings(), client, matrix)
    }

    /// Our client against an agent written with the SDK.
    fn we_call_sdk(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let peer = sdk.sdk.name();
        let server = self.agent(sdk, &[], &format!("{peer}-server"))?;
        let client = |binding: &'static str| {
            let mut client = Command::new(self.binaries.join("interop-client"));
            // The current revision is the default.
            let wanted = sdk
                .sdk
                .older()
                .map_or_else(|| binding.to_owned(), |revision| format!("{binding}@{revision}"));
            client.args([server.address.as_str(), &wanted]).args(only);
            client
        };
        self.columns(peer, "server", sdk.sdk.bindings(), client, matrix)
    }

    /// Starts an agent written with an SDK, with a log named for its purpose.
    fn agent(&self, sdk: &Programs, arguments: &[&str], name: &str) -> Result<Server> {
        let mut server = sdk.command("server");
        server.args(arguments);
        Server::start(server, &self.log(&format!("{name}-serve")), START, |line| {
            let ready: serde_json::Value = serde_json::from_str(line).ok()?;
            ready["card"].as_str().map(str::to_owned)
        })
    }

    /// Starts `a2a serve`, with a log named for its caller.
    fn serve(&self, caller: &str, arguments: &[&str]) -> Result<Server> {
        let mut serve = Command::new(self.binaries.join("a2a"));
        serve.args(["serve", "--port", "0", "--allow-webhook", "127.0.0.1"]).args(arguments);
        Server::start(serve, &self.log(&format!("{caller}-serve")), START, |line| {
            let (_, url) = line.split_once("http://")?;
            Some(format!("http://{}", url.split_whitespace().next()?))
        })
    }

    /// Runs one client per binding, in parallel.
    fn columns(
        &self,
        peer: &'static str,
        role: &'static str,
        bindings: &[&'static str],
        client: impl Fn(&'static str) -> Command + Sync,
        matrix: &mut Matrix,
    ) -> Result {
        let client = &client;
        let ran: Vec<Lines> = thread::scope(|scope| {
            let start = |binding: &&'static str| {
                let (binding, log) = (*binding, format!("{peer}-{role}-{binding}"));
                let log = self.log(&log.replace('+', "-").to_lowercase());
                scope.spawn(move || process::lines(client(binding), &log, ALL_OPERATIONS))
            };
            // Start all before waiting for the first.
            let runs: Vec<_> = bindings.iter().map(start).collect();
            let panicked = || Err("the thread panicked".to_owned());
            runs.into_iter().map(|run| run.join().unwrap_or_else(|_panic| panicked())).collect()
        });
        for (binding, lines) in bindings.iter().zip(ran) {
            matrix.add(Column { peer, role, binding }, lines);
        }
        Ok(())
    }
}

/// The programs written with an SDK.
struct Programs {
    sdk: Sdk,
    interpreter: PathBuf,
    folder: PathBuf,
    extension: &'static str,
}

impl Programs {
    /// A driver that calls the agent at `card`.
    fn client(&self, name: &str, card: &str, binding: &str, only: &[String]) -> Command {
        let mut client = self.command(name);
        client.args(["--card", card, "--binding", binding]);
        client.args(only.iter().flat_map(|operation| ["--only", operation]));
        client
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.arg(self.folder.join(name).with_extension(self.extension));
        command.args(self.sdk.arguments());
        // No bytecode caches in the source directories.
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(Path::new(&self.folder));
        command
    }
}
