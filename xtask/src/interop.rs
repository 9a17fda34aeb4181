//! Tests interoperability with the official SDKs in both directions, and prints a matrix.
//!
//! Each SDK has two roles, on each of its bindings: its client calls `a2a serve`, and our client
//! calls an agent written with it. The drivers in `tests/interop/` print one line of JSON per
//! operation, from which this task builds a matrix.

mod agent;
mod cards;
mod conformance;
mod frameworks;
mod install;
mod isolation;
mod matrix;
mod page;
mod proxy;
mod rows;
mod sdk;
mod table;

use std::{fs, path::PathBuf, process::Command, thread, time::Duration};

use crate::{Result, process, workspace};

pub(crate) use self::agent::{Peer, start_agent};
use self::{
    install::Installed,
    matrix::{Column, Matrix},
    process::{Lines, Server},
    sdk::{Extra, Peers, Programs, Sdk, select},
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
    sdk: Option<String>,
    /// Test agent frameworks in place of SDKs; with a value, only this one
    #[arg(long, value_name = "FRAMEWORK", num_args = 0..=1, conflicts_with = "sdk")]
    frameworks: Option<Option<String>>,
    /// Run `a2a conformance` on the smallest agents of SDKs, and compare what it finds
    #[arg(long, conflicts_with_all = ["frameworks", "only"])]
    conformance: bool,
    /// Run the isolation suite through gateways in front of the agents of SDKs
    #[arg(long, conflicts_with_all = ["frameworks", "conformance", "only"])]
    isolation: bool,
    /// Write docs/interop.md from the reports of the last runs, without a run
    #[arg(long, conflicts_with_all = ["sdk", "frameworks", "conformance", "isolation", "only"])]
    page: bool,
    /// Only this operation, a row of the matrix; repeatable
    #[arg(long, value_name = "OPERATION")]
    only: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result {
    if args.page {
        let (sources, target) = folders();
        return page::write(Peers::load(&sources)?, &sources, &target);
    }
    let bench = Bench::prepare()?;
    let peers = Peers::load(&bench.sources)?;
    if let Some(name) = &args.frameworks {
        return bench.frameworks(&select(&peers.frameworks, name.as_deref())?, &args.only);
    }
    if args.conformance {
        return bench.conformance(&select(&peers.sdks, args.sdk.as_deref())?);
    }
    if args.isolation {
        return bench.isolation(&select(&peers.sdks, args.sdk.as_deref())?);
    }
    let matrix = |rows| Matrix::new(rows, &bench.sources, &args.only);
    let mut sdks = matrix(rows::OPERATIONS)?;
    let mut proxied = matrix(rows::OPERATIONS)?;
    let mut older = matrix(rows::OLDER)?;
    let mut translated = matrix(rows::OLDER)?;
    let mut wire = matrix(rows::WIRE)?;
    let mut cards = matrix(rows::CARDS)?;
    let mut schema = matrix(rows::SCHEMA)?;
    if [&sdks, &older, &wire, &cards, &schema].into_iter().all(Matrix::is_empty) {
        return Err("--only: unknown operation".into());
    }
    for sdk in select(&peers.sdks, args.sdk.as_deref())? {
        let is_current = sdk.revision.is_none() && sdk.extra != Extra::Schema;
        let matrix = match sdk.extra {
            Extra::Schema => &mut schema,
            _ if is_current => &mut sdks,
            _ => &mut older,
        };
        eprintln!("{}: installing", sdk.name);
        let programs = match install::install(sdk, &bench.sources, &bench.target)? {
            Installed::Ready(programs) => programs,
            Installed::Absent(reason) => {
                if sdk.extra == Extra::Cards {
                    cards.skip(&sdk.name, reason.clone());
                }
                if is_current {
                    proxied.skip(&sdk.name, reason.clone());
                }
                if sdk.name == "python" {
                    wire.skip("http", reason.clone());
                }
                matrix.skip(&sdk.name, reason);
                continue;
            }
        };
        eprintln!("{}: running", sdk.name);
        if !matrix.is_empty() {
            if sdk.extra == Extra::Schema {
                bench.checks_schema(&programs, &args.only, matrix)?;
            } else {
                bench.sdk_calls_us(&programs, &args.only, matrix)?;
                bench.we_call_sdk(&programs, &args.only, matrix)?;
            }
        }
        if is_current && !proxied.is_empty() {
            bench.sdk_calls_proxy(&programs, &args.only, &mut proxied)?;
            bench.proxy_calls_sdk(&programs, &args.only, &mut proxied)?;
            bench.sdk_calls_nginx(&programs, &args.only, &mut proxied)?;
        }
        if sdk.extra == Extra::Cards && !cards.is_empty() {
            bench.cards(&programs, &mut cards)?;
        }
        if sdk.name == "python" && !wire.is_empty() {
            bench.http_calls_us(&programs, &args.only, &mut wire)?;
        }
        if sdk.extra == Extra::Upstream && !translated.is_empty() {
            let caller = {
                let compat = select(&peers.sdks, Some("python-compat"))?;
                install::install(compat[0], &bench.sources, &bench.target)?
            };
            bench.calls_older_by_proxy(&programs, &caller, &args.only, &mut translated)?;
        }
    }
    bench.report(
        "report.json",
        [
            ("sdks", sdks),
            ("proxied", proxied),
            ("older", older),
            ("translated", translated),
            ("wire", wire),
            ("cards", cards),
            ("schema", schema),
        ],
    )
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

/// The drivers and their data; installed SDKs and output.
fn folders() -> (PathBuf, PathBuf) {
    (workspace::root().join("tests/interop"), workspace::root().join("target/interop"))
}

impl Bench {
    fn prepare() -> Result<Self> {
        let (sources, target) = folders();
        fs::create_dir_all(target.join("logs"))?;
        let programs = [
            "a2a",
            "a2a-test-agent",
            "interop-cards",
            "interop-client",
            "interop-isolation",
            "interop-nginx",
        ];
        let binaries = workspace::build(&programs, false)?;
        Ok(Self { sources, target, binaries })
    }

    /// Runs the frameworks in both roles.
    fn frameworks(&self, frameworks: &[&'static Sdk], only: &[String]) -> Result {
        let mut clients = Matrix::new(rows::FRAMEWORK_CLIENTS, &self.sources, only)?;
        let mut agents = Matrix::new(rows::FRAMEWORK_AGENTS, &self.sources, only)?;
        if clients.is_empty() && agents.is_empty() {
            return Err("--only: unknown operation".into());
        }
        for framework in frameworks {
            self.framework(framework, only, &mut clients, &mut agents)?;
        }
        self.report("frameworks.json", [("clients", clients), ("agents", agents)])
    }

    /// Prints the matrices, and writes their data to a file.
    fn report<const N: usize>(&self, file: &str, matrices: [(&str, Matrix); N]) -> Result {
        let mut data = serde_json::Map::new();
        for (name, matrix) in &matrices {
            if !matrix.is_unused() {
                println!("{matrix}");
            }
            data.insert((*name).to_owned(), matrix.to_json());
        }
        let report = self.target.join(file);
        fs::write(&report, format!("{:#}\n", serde_json::Value::Object(data)))?;
        println!("wrote {}; the logs are in logs/ next to it", workspace::relative(&report));
        match matrices.iter().map(|(_, matrix)| matrix.failures()).sum::<usize>() {
            0 => Ok(()),
            failures => Err(format!("{failures} operations failed").into()),
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.target.join("logs").join(format!("{name}.log"))
    }

    /// The SDK's client against `a2a serve`.
    fn sdk_calls_us(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let peer = &*sdk.sdk.name;
        let server = self.serve(&format!("{peer}-client"), &[])?;
        let client = |binding| sdk.client("client", &server.address, binding, only);
        self.columns(peer, "client", &sdk.sdk.bindings(), client, matrix)
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
        self.columns("schemathesis", "checker", &checker.sdk.bindings(), client, matrix)
    }

    /// Our client against an agent written with the SDK.
    fn we_call_sdk(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let peer = &*sdk.sdk.name;
        let server = self.agent(sdk, &[], &format!("{peer}-server"))?;
        let client = |binding: &'static str| {
            let mut client = Command::new(self.binaries.join("interop-client"));
            // The current revision is the default.
            let wanted = sdk
                .sdk
                .revision
                .as_ref()
                .map_or_else(|| binding.to_owned(), |revision| format!("{binding}@{revision}"));
            client.args([server.address.as_str(), &wanted]).args(only);
            client
        };
        self.columns(peer, "server", &sdk.sdk.bindings(), client, matrix)
    }

    /// Starts an agent written with an SDK, with a log named for its purpose.
    fn agent(&self, sdk: &Programs, arguments: &[&str], name: &str) -> Result<Server> {
        agent::serve(sdk, arguments, &self.log(&format!("{name}-serve")))
    }

    /// Starts `a2a serve`, with a log named for its caller.
    fn serve(&self, caller: &str, arguments: &[&str]) -> Result<Server> {
        self.serve_at("0", caller, arguments)
    }

    /// Starts `a2a serve` on a port.
    fn serve_at(&self, port: &str, caller: &str, arguments: &[&str]) -> Result<Server> {
        // A new directory, as the store is a file in the current one.
        let folder = self.target.join("servers").join(caller);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder)?;
        let mut serve = Command::new(self.binaries.join("a2a-test-agent"));
        serve.args(["serve", "--port", port, "--allow-webhook", "127.0.0.1"]).args(arguments);
        serve.current_dir(folder);
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
