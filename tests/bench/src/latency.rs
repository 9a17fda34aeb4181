//! Latency at a low rate, and startup time.

use std::time::{Duration, Instant};

use crate::{
    Result,
    load::{Length, Load},
    report::Results,
    request::{Ask, Binding},
    server::Program,
};

/// Requests per second.
const RATE: f64 = 5_000.0;
/// A server below twice this rate would show queueing.
const MIN_RATE: f64 = 2.0 * RATE;
/// Number of starts; the fastest counts, since delays are caused by other processes.
const STARTS: usize = 5;

/// Measures the latency of a new server.
pub(crate) fn measure(program: &mut Program, round: usize, results: &mut Results) -> Result<()> {
    let server = program.start();
    let asks = [Ask::Send("hello")];
    let (binding, length) = (Binding::JsonRpc, Length::USUAL);
    let load = Load { server: &server, binding, asks: &asks, in_flight: 64, rate: None, length };
    if load.run()?.rate() < MIN_RATE {
        return Ok(());
    }
    let length =
        Length::Time { warm_up: Duration::from_millis(500), measured: Duration::from_secs(3) };
    let outcome = Load { rate: Some(RATE), length, ..load }.run()?;
    results.figure("latency", &server.name, round, outcome.latency(0.5));
    Ok(())
}

/// Measures the startup time of a server, and its resident set afterwards.
pub(crate) fn start(program: &mut Program, round: usize, results: &mut Results) -> Result<()> {
    let asks = [Ask::Send("hello")];
    let mut best: Option<(Duration, u64)> = None;
    for _ in 0..STARTS {
        let begin = Instant::now();
        let server = program.start();
        let (binding, length) = (Binding::JsonRpc, Length::requests(1));
        let load = Load { server: &server, binding, asks: &asks, in_flight: 1, rate: None, length };
        load.run()?;
        let time = begin.elapsed();
        // Includes background work at startup.
        std::thread::sleep(Duration::from_millis(200));
        if best.is_none_or(|(best, _)| time < best) {
            best = Some((time, server.resident_set()));
        }
    }
    if let Some((time, resident_set)) = best {
        results.figure("start", &program.name, round, time.as_secs_f64());
        let mib = resident_set as f64 / f64::from(1 << 20);
        results.figure("memory.start", &program.name, round, mib);
    }
    Ok(())
}
