//! Streams: many idle ones, many of one task, and one with a burst of events.

use std::time::Instant;

use crate::{
    Result,
    http1::Subscribers,
    load::{Length, Load},
    report::{Results, Sample},
    request::{Ask, Binding},
    server::{Program, Server},
    tasks::task_id,
};

/// Idle streams.
const IDLE: usize = 2_000;
/// Tasks of the idle streams.
const HELD: usize = 20;
/// Streams of one task.
const SUBSCRIBERS: usize = 1_000;
/// Sent to the task with all subscribers: a second later it has 400 events.
const LATER: &str = "later:400";
const LATER_EVENTS: usize = 400;
/// The events of a burst.
const BURST: usize = 10_000;

/// Measures a new server for the idle streams, and one for the others.
pub(crate) fn measure(program: &mut Program, round: usize, results: &mut Results) -> Result<()> {
    if results.wants("memory.subscriber") {
        let each = idle(&program.start())?;
        results.figure("memory.subscriber", &program.name, round, each);
    }
    if !results.wants("fan-out") && !results.wants("burst") {
        return Ok(());
    }
    let server = program.start();
    // Rivals do not support this command.
    if !server.is_rival && results.wants("fan-out") {
        results.add("fan-out", &server.name, round, fan_out(&server)?);
    }
    if results.wants("burst") {
        results.figure("burst", &server.name, round, lost(&server)?);
    }
    Ok(())
}

/// The events that a stream without pauses lost, over SSE and gRPC.
fn lost(server: &Server) -> Result<f64> {
    if server.is_floor() {
        return Ok(0.0);
    }
    let asks = [Ask::Stream(BURST)];
    let mut lost = 0;
    for binding in [Binding::JsonRpc, Binding::Grpc] {
        if binding.is_served_by(server) {
            let length = Length::requests(1);
            let load = Load { server, binding, asks: &asks, in_flight: 1, rate: None, length };
            // The chunks and the final status; the load fails with fewer.
            lost += (BURST + 1).saturating_sub(load.run()?.events);
        }
    }
    Ok(lost as f64)
}

/// Sends messages without waiting, and returns the ids of their tasks.
fn begin(server: &Server, text: &'static str, count: usize) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    let asks = [Ask::SendAndReturn(text)];
    let (binding, length) = (Binding::JsonRpc, Length::requests(count));
    let load = Load { server, binding, asks: &asks, in_flight: 1, rate: None, length };
    load.run_with(|response| ids.extend(task_id(response)))?;
    if ids.len() < count { Err(format!("{}: no task for {text:?}", server.name)) } else { Ok(ids) }
}

/// KiB of an idle stream.
fn idle(server: &Server) -> Result<f64> {
    // Exclude allocations of the first requests.
    let asks = [Ask::Send("hello")];
    let (binding, length) = (Binding::JsonRpc, Length::requests(1_000));
    Load { server, binding, asks: &asks, in_flight: 16, rate: None, length }.run()?;
    let ids = begin(server, "hold", HELD)?;
    let before = server.resident_set();
    let requests = ids.iter().cycle().take(IDLE);
    let requests = requests.map(|id| Ask::Subscribe(id.clone()).http(Binding::JsonRpc, server));
    let _streams = Subscribers::open(server, requests)?;
    let after = server.resident_set();
    Ok(after.saturating_sub(before) as f64 / 1024.0 / IDLE as f64)
}

/// The events per second that reach all subscribers of a task.
fn fan_out(server: &Server) -> Result<Sample> {
    let id = begin(server, LATER, 1)?.remove(0);
    let request = Ask::Subscribe(id).http(Binding::JsonRpc, server);
    let requests = std::iter::repeat_n(request, SUBSCRIBERS);
    let mut streams = Subscribers::open(server, requests)?;
    let (before, cpu) = (streams.events(), server.cpu());
    let first = streams.wait_for_end()?;
    let (time, cpu) = (Instant::now() - first, server.cpu() - cpu);
    let events = streams.events() - before;
    if events < LATER_EVENTS * SUBSCRIBERS {
        return Err(format!("{}: {events} events reached the subscribers", server.name));
    }
    let figure = events as f64 / time.as_secs_f64();
    let cpu = Some(cpu.as_secs_f64() / events as f64);
    Ok(Sample { figure, cpu, utilization: None })
}
