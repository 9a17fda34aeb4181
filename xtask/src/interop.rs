//! Calls the official SDKs and is called by them, and prints what works.
//!
//! Each SDK plays two roles, at each binding it has: its client calls `a2a serve`, and our
//! client calls an agent written with it. The drivers are in `tests/interop/`; each prints one
//! line of JSON per operation, and this task makes a matrix of the lines.

mod install;
mod matrix;
mod process;

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

/// How long a server may take until it says where it listens.
const START: Duration = Duration::from_secs(60);

/// How long a client may take for all operations; each has a limit of its own, far below.
const ALL_OPERATIONS: Duration = Duration::from_secs(300);

/// What `cargo xtask interop` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this SDK
    #[arg(long)]
    sdk: Option<Sdk>,
    /// Only this operation, a row of the matrix; repeatable
    #[arg(long, value_name = "OPERATION")]
    only: Vec<String>,
}

/// An official SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sdk {
    Python,
    Js,
}

/// Which side of a call the SDK is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

impl Sdk {
    const ALL: [Self; 2] = [Self::Python, Self::Js];

    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Js => "js",
        }
    }
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

pub(crate) fn run(args: Args) -> Result {
    let bench = Bench::prepare()?;
    let mut matrix = Matrix::new(&bench.sources, &args.only)?;
    for sdk in Sdk::ALL {
        if args.sdk.is_some_and(|wanted| wanted != sdk) {
            continue;
        }
        match install::install(sdk, &bench.sources, &bench.target)? {
            Installed::Ready(programs) => {
                bench.sdk_calls_us(&programs, &args.only, &mut matrix)?;
                bench.we_call_sdk(&programs, &args.only, &mut matrix)?;
            }
            Installed::Absent(reason) => matrix.skip(sdk, reason),
        }
    }
    print!("{matrix}");
    let report = bench.target.join("report.json");
    fs::write(&report, format!("{:#}\n", matrix.to_json()))?;
    println!("wrote {}, the logs are beside it", workspace::relative(&report));
    match matrix.failures() {
        0 => Ok(()),
        failures => Err(format!("{failures} operations don't work").into()),
    }
}

/// Where everything is that the runs need.
struct Bench {
    /// The drivers, `tests/interop`.
    sources: PathBuf,
    /// What is installed and written, `target/interop`.
    target: PathBuf,
    /// What cargo built.
    binaries: PathBuf,
}

impl Bench {
    fn prepare() -> Result<Self> {
        let sources = workspace::root().join("tests/interop");
        let target = workspace::root().join("target/interop");
        fs::create_dir_all(target.join("logs"))?;
        let build = ["build", "--quiet", "-p", "a2a-cli", "-p", "a2a-tests", "--bins"];
        process::succeed(workspace::cargo().args(build))?;
        // This program was put there by the same cargo.
        let here = std::env::current_exe()?;
        let binaries = here.parent().ok_or("this program is nowhere")?.to_path_buf();
        Ok(Self { sources, target, binaries })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.target.join("logs").join(format!("{name}.log"))
    }

    /// The SDK's client against `a2a serve`.
    fn sdk_calls_us(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let mut serve = Command::new(self.binaries.join("a2a"));
        serve.args(["serve", "--port", "0", "--allow-webhook", "127.0.0.1"]);
        let log = self.log(&format!("{}-client-serve", sdk.sdk.name()));
        let server = Server::start(serve, &log, START, |line| {
            let (_, url) = line.split_once("http://")?;
            Some(format!("http://{}", url.split_whitespace().next()?))
        })?;
        let client = |binding: &'static str| {
            let mut client = sdk.client();
            client.args(["--card", &server.address, "--binding", binding]);
            client.args(only.iter().flat_map(|operation| ["--only", operation]));
            client
        };
        self.columns(sdk.sdk, Role::Client, client, matrix)
    }

    /// Our client against an agent written with the SDK.
    fn we_call_sdk(&self, sdk: &Programs, only: &[String], matrix: &mut Matrix) -> Result {
        let log = self.log(&format!("{}-server-serve", sdk.sdk.name()));
        let server = Server::start(sdk.server(), &log, START, |line| {
            let ready: serde_json::Value = serde_json::from_str(line).ok()?;
            ready["card"].as_str().map(str::to_owned)
        })?;
        let client = |binding: &'static str| {
            let mut client = Command::new(self.binaries.join("interop-client"));
            client.args([server.address.as_str(), binding]).args(only);
            client
        };
        self.columns(sdk.sdk, Role::Server, client, matrix)
    }

    /// Runs one client per binding, side by side.
    fn columns(
        &self,
        sdk: Sdk,
        role: Role,
        client: impl Fn(&'static str) -> Command + Sync,
        matrix: &mut Matrix,
    ) -> Result {
        let client = &client;
        let ran: Vec<(&'static str, Lines)> = thread::scope(|scope| {
            let runs = BINDINGS.map(|binding| {
                let log = format!("{}-{}-{binding}", sdk.name(), role.name());
                let log = self.log(&log.replace('+', "-").to_lowercase());
                scope.spawn(move || process::lines(client(binding), &log, ALL_OPERATIONS))
            });
            let joined = runs.map(|run| {
                run.join().unwrap_or_else(|_panic| Err("the thread panicked".to_owned()))
            });
            BINDINGS.into_iter().zip(joined).collect()
        });
        for (binding, lines) in ran {
            matrix.add(Column { sdk, role, binding }, lines);
        }
        Ok(())
    }
}

/// How to start what is written with an SDK.
struct Programs {
    sdk: Sdk,
    interpreter: PathBuf,
    folder: PathBuf,
    extension: &'static str,
}

impl Programs {
    fn client(&self) -> Command {
        self.command("client")
    }

    fn server(&self) -> Command {
        self.command("server")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.arg(self.folder.join(name).with_extension(self.extension));
        // The sources stay free of what the interpreter would cache beside them.
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(Path::new(&self.folder));
        command
    }
}
