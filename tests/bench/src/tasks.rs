//! Many stored tasks: size, GetTask, ListTasks, and latency under creation of tasks.

use std::time::Duration;

use serde_json::Value;

use crate::{
    Result,
    load::{Length, Load},
    report::{Results, Sample},
    request::{Ask, Binding},
    server::{Program, Server},
    throughput::sample,
};

/// Stored tasks for GetTask.
const TASKS: usize = 100_000;
/// Stored tasks of the comparison for ListTasks.
const FEW: usize = 10_000;
/// Tasks stored after the latency measurement.
const GROWTH: usize = 200_000;
/// Number of pages for the median.
const PAGES: usize = 200;
/// The messages of the task with a long history.
const HISTORY: &str = "history:1000";

/// The measurements among many stored tasks.
const AMONG_MANY: [&str; 6] =
    ["memory.task", "list", "list.growth", "get.jsonrpc", "get.rest", "get.grpc"];

/// Measures a new server for each part.
pub(crate) fn measure(program: &mut Program, round: usize, results: &mut Results) -> Result<()> {
    if AMONG_MANY.iter().any(|case| results.wants(case)) {
        among_many(&program.start(), round, results)?;
    }
    if results.wants("growth") {
        // The floor stores nothing, and shows the latency of the machine.
        let p99 = growth(&program.start())?;
        results.figure("growth", &program.name, round, p99);
    }
    if results.wants("history") {
        let server = program.start();
        let history = [Ask::GetHistory(create(&server, HISTORY)?)];
        let got = get(&server, Binding::JsonRpc, &history, 16)?;
        results.add("history", &server.name, round, got);
    }
    Ok(())
}

fn among_many(server: &Server, round: usize, results: &mut Results) -> Result<()> {
    let name = &server.name;
    let mut ids = store(server, FEW)?;
    let before = server.resident_set();
    let among_few = page(server)?;
    ids.extend(store(server, TASKS - FEW)?);
    let stored = ids.len();
    let after = server.resident_set();
    if !server.is_floor() && stored > FEW {
        let each = after.saturating_sub(before) as f64 / (stored - FEW) as f64;
        results.figure("memory.task", name, round, each);
    }
    // A slow server has stored fewer tasks, so its figures would not be comparable.
    if stored < TASKS {
        return Ok(());
    }
    if let Some((few, many)) = among_few.zip(page(server)?) {
        results.figure("list", name, round, many);
        if !server.is_floor() {
            results.figure("list.growth", name, round, many / few);
        }
    }
    let asks: Vec<_> = ids.into_iter().map(Ask::Get).collect();
    for (case, binding) in [
        ("get.jsonrpc", Binding::JsonRpc),
        ("get.rest", Binding::Rest),
        ("get.grpc", Binding::Grpc),
    ] {
        if binding.is_served_by(server) && results.wants(case) {
            results.add(case, name, round, get(server, binding, &asks, 64)?);
        }
    }
    Ok(())
}

/// Stores tasks within a time limit. Returns their ids.
fn store(server: &Server, count: usize) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(count);
    let asks = [Ask::Send("hello")];
    let (binding, length) = (Binding::JsonRpc, Length::requests(count));
    let load = Load { server, binding, asks: &asks, in_flight: 64, rate: None, length };
    load.run_with(|response| ids.extend(task_id(response)))?;
    Ok(ids)
}

/// Creates one task, and returns its id.
pub(crate) fn create(server: &Server, text: &'static str) -> Result<String> {
    let mut id = None;
    let asks = [Ask::Complete(text)];
    let (binding, length) = (Binding::JsonRpc, Length::requests(1));
    let load = Load { server, binding, asks: &asks, in_flight: 1, rate: None, length };
    load.run_with(|response| id = task_id(response))?;
    id.ok_or_else(|| format!("{}: the response has no task", server.name))
}

/// The task id in a JSON-RPC response.
pub(crate) fn task_id(response: &[u8]) -> Option<String> {
    let response: Value = serde_json::from_slice(response).ok()?;
    let id = response.pointer("/result/task/id")?;
    Some(id.as_str()?.to_owned())
}

/// The median time of a page, in seconds; `None` for a rival without ListTasks.
fn page(server: &Server) -> Result<Option<f64>> {
    let asks = [Ask::List];
    let length = Length::Requests { count: PAGES, limit: Duration::from_secs(5) };
    let binding = Binding::JsonRpc;
    let load = Load { server, binding, asks: &asks, in_flight: 1, rate: None, length };
    match load.run() {
        Err(error) if server.is_rival => {
            println!("FAILED: {error}");
            Ok(None)
        }
        outcome => Ok(Some(outcome?.latency(0.5))),
    }
}

fn get(server: &Server, binding: Binding, asks: &[Ask], in_flight: usize) -> Result<Sample> {
    let length = Length::USUAL;
    let load = Load { server, binding, asks, in_flight, rate: None, length };
    Ok(sample(&load.run()?))
}

/// The p99 latency while tasks are stored at half the maximum rate of the server, in seconds.
fn growth(server: &Server) -> Result<f64> {
    let asks = [Ask::Send("hello")];
    let length =
        Length::Time { warm_up: Duration::from_millis(200), measured: Duration::from_secs(1) };
    let binding = Binding::JsonRpc;
    let load = Load { server, binding, asks: &asks, in_flight: 64, rate: None, length };
    let most = load.run()?;
    let length = Length::Requests {
        count: GROWTH.saturating_sub(most.events).max(1),
        limit: Duration::from_secs(20),
    };
    let outcome = Load { rate: Some(most.rate() / 2.0), length, ..load }.run()?;
    Ok(outcome.latency(0.99))
}
