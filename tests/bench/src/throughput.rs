//! Requests and events per second, with one core for the server.

use crate::{
    Result,
    load::{Length, Load, Outcome},
    report::{MIN_UTILIZATION, Results, Sample},
    request::{Ask, Binding},
    server::{STARTED, Server},
    started::{self, Started},
};

/// The chunks of a streamed response.
pub(crate) const CHUNKS: usize = 100;

/// Maximum repetitions of a case if the load did not saturate the servers.
const ATTEMPTS: usize = 3;

/// A measurement, and the request.
struct Case {
    name: &'static str,
    binding: Binding,
    ask: Ask,
    in_flight: usize,
}

const fn send(name: &'static str, binding: Binding, in_flight: usize) -> Case {
    Case { name, binding, ask: Ask::Send("hello"), in_flight }
}

const fn stream(name: &'static str, binding: Binding) -> Case {
    Case { name, binding, ask: Ask::Stream(CHUNKS), in_flight: 64 }
}

static CASES: [Case; 9] = [
    send("send.jsonrpc.16", Binding::JsonRpc, 16),
    send("send.jsonrpc.64", Binding::JsonRpc, 64),
    send("send.rest.16", Binding::Rest, 16),
    send("send.rest.64", Binding::Rest, 64),
    send("send.grpc.16", Binding::Grpc, 16),
    send("send.grpc.64", Binding::Grpc, 64),
    stream("stream.jsonrpc", Binding::JsonRpc),
    stream("stream.rest", Binding::Rest),
    stream("stream.grpc", Binding::Grpc),
];

/// Measures every case on all servers in sequence, and then on `a2a serve` with its defaults.
pub(crate) fn measure(
    servers: &[Server],
    started: &Started,
    round: usize,
    results: &mut Results,
) -> Result<()> {
    for case in CASES.iter().filter(|case| results.wants(case.name)).collect::<Vec<_>>() {
        let run = |server: &Server, ask: &Ask| {
            let (binding, in_flight) = (case.binding, case.in_flight);
            let asks = std::slice::from_ref(ask);
            Load { server, binding, asks, in_flight, rate: None, length: Length::USUAL }.run()
        };
        for (server, outcome) in busy(servers, case.binding, |server| run(server, &case.ask))? {
            results.add(case.name, &server.name, round, sample(&outcome));
        }
        let (server, ask) = match &case.ask {
            ask @ Ask::Stream(_) => (&started.streams, ask),
            _ => (&started.sends, &started::ASK),
        };
        results.add(case.name, STARTED, round, started::sample(&run(server, ask)?));
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

/// Measures the servers that have a binding, and repeats it if one that is not a rival did not have
/// its core. Failures of rivals are only printed.
fn busy<'a>(
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
