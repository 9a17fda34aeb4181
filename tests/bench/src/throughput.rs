//! Requests and events per second, with one core for the server.

use crate::{
    Result,
    load::{Length, Load, Outcome},
    report::{MIN_UTILIZATION, Results, Sample},
    request::{Ask, Binding},
    server::Server,
};

/// The chunks of a streamed response.
pub(crate) const CHUNKS: usize = 100;

/// Maximum repetitions of a case if the load did not saturate the servers.
const ATTEMPTS: usize = 3;

/// A row of the report, the row of its CPU time, and the request.
struct Case {
    row: &'static str,
    cpu: Option<&'static str>,
    binding: Binding,
    ask: Ask,
    in_flight: usize,
}

const fn send(
    row: &'static str,
    cpu: Option<&'static str>,
    binding: Binding,
    in_flight: usize,
) -> Case {
    Case { row, cpu, binding, ask: Ask::Send("hello"), in_flight }
}

const fn stream(row: &'static str, binding: Binding) -> Case {
    Case { row, cpu: None, binding, ask: Ask::Stream(CHUNKS), in_flight: 64 }
}

static CASES: [Case; 8] = [
    send("send.jsonrpc.16", Some("cpu.jsonrpc.16"), Binding::JsonRpc, 16),
    send("send.jsonrpc.64", Some("cpu.jsonrpc.64"), Binding::JsonRpc, 64),
    send("send.rest.16", Some("cpu.rest.16"), Binding::Rest, 16),
    send("send.rest.64", Some("cpu.rest.64"), Binding::Rest, 64),
    send("send.grpc.16", None, Binding::Grpc, 16),
    send("send.grpc.64", None, Binding::Grpc, 64),
    stream("stream.jsonrpc", Binding::JsonRpc),
    stream("stream.grpc", Binding::Grpc),
];

/// Measures every case on all servers in sequence.
pub(crate) fn measure(servers: &[Server], round: usize, results: &mut Results) -> Result<()> {
    for case in &CASES {
        let asks = [case.ask.clone()];
        let load = |server| Load {
            server,
            binding: case.binding,
            asks: &asks,
            in_flight: case.in_flight,
            rate: None,
            length: Length::USUAL,
        };
        for (server, outcome) in busy(servers, case.binding, |server| load(server).run())? {
            results.add(case.row, &server.name, round, sample(&outcome));
            if let Some(row) = case.cpu {
                results.figure(row, &server.name, round, outcome.cpu_each());
            }
        }
    }
    Ok(())
}

pub(crate) fn sample(outcome: &Outcome) -> Sample {
    Sample {
        figure: outcome.rate(),
        cpu: Some(outcome.cpu_each()),
        utilization: Some(outcome.utilization()),
    }
}

/// Measures the servers that have a binding, and repeats it if the floor or ours, the first two,
/// did not have its core. Failures of rivals are only printed.
pub(crate) fn busy<'a>(
    servers: &'a [Server],
    binding: Binding,
    mut measure: impl FnMut(&'a Server) -> Result<Outcome>,
) -> Result<Vec<(&'a Server, Outcome)>> {
    let mut attempt = 1;
    loop {
        let mut outcomes = Vec::new();
        for server in servers.iter().filter(|server| binding.is_served_by(server)) {
            match measure(server) {
                Ok(outcome) => outcomes.push((server, outcome)),
                Err(error) if server.is_rival => println!("FAILED: {error}"),
                Err(error) => return Err(error),
            }
        }
        let had_cores = |(server, outcome): &(&Server, Outcome)| {
            server.is_rival || outcome.utilization() >= MIN_UTILIZATION
        };
        if attempt == ATTEMPTS || outcomes.iter().all(had_cores) {
            return Ok(outcomes);
        }
        attempt += 1;
    }
}
