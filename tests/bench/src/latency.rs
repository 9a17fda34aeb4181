//! Latency at a rate that leaves the server idle most of the time, and at start.

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
/// A server that can't do twice as many would show its queue.
const MIN_RATE: f64 = 2.0 * RATE;
/// Starts, of which the quickest counts: what delays one is another process.
const STARTS: usize = 5;

/// Measures the latency of a server of its own.
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

/// Measures how long a server takes to start, and its resident set then.
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
        // What is done in the background at start is part of it.
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
