//! How much of what axum and tonic can do is left with an agent on them: `a2a serve` against
//! handlers that answer the same without an engine, in the same run.
//!
//! ```sh
//! cargo xtask bench wire                        # five rounds
//! cargo xtask bench wire --only grpc            # the cases with that in their name
//! cargo xtask bench wire --against <binary>     # beside another build of a2a
//! ```
//!
//! The servers have one core, and the load comes from another. In each round they are started
//! anew, and every case goes over all of them in turn; what is told is the median of the rounds.
//! Every answer is looked at. It ends with an error if a limit was not kept.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench talks on standard output, and stops where something does not work"
)]

mod case;
mod floor;
mod grpc;
mod http1;
mod load;
mod server;
mod verdict;

use std::{path::PathBuf, process::ExitCode};

use case::{CASES, Case};
use load::Figures;
use server::Server;
use verdict::Verdict;

/// What the command line asks for.
struct Ask {
    rounds: usize,
    only: Vec<String>,
    against: Option<PathBuf>,
}

impl Ask {
    fn new(words: impl Iterator<Item = String>) -> Self {
        let mut ask = Self { rounds: 5, only: Vec::new(), against: None };
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => {
                    let rounds = words.next().and_then(|text| text.parse().ok());
                    ask.rounds = rounds.filter(|rounds| *rounds > 0).expect("--rounds N");
                }
                "--only" => ask.only.extend(words.next()),
                "--against" => ask.against = words.next().map(PathBuf::from),
                // Cargo says so to every bench.
                "--bench" => {}
                _ => panic!("{word} is not known"),
            }
        }
        ask
    }

    fn wants(&self, case: &Case) -> bool {
        let name = case.name().to_lowercase();
        self.only.is_empty() || self.only.iter().any(|only| name.contains(&only.to_lowercase()))
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == floor::COMMAND).is_some() {
        floor::serve();
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&Ask::new(words)))
}

async fn measure(ask: &Ask) -> ExitCode {
    let cases: Vec<_> = CASES.iter().filter(|case| ask.wants(case)).collect();
    // By case, by server, by round.
    let mut figures: Vec<[Vec<Figures>; 3]> = cases.iter().map(|_| Default::default()).collect();
    for round in 1..=ask.rounds {
        let mut servers = vec![Server::floor(), Server::agent(env!("CARGO_BIN_EXE_a2a").as_ref())];
        servers.extend(ask.against.as_deref().map(Server::agent));
        for (case, figures) in cases.iter().zip(&mut figures) {
            for (server, figures) in servers.iter().zip(figures) {
                let figure = load::run(case, server).await;
                println!("round {round}: {}, {}: {figure}", case.name(), server.name());
                figures.push(figure);
            }
        }
    }
    let mut verdict = Verdict::default();
    println!();
    for (case, [floor, agent, other]) in cases.iter().zip(&figures) {
        verdict.judge(case, floor, agent);
        if !other.is_empty() {
            println!("{:>40}: {}", "beside the other build", verdict::compared(other, agent));
        }
    }
    verdict.end()
}
