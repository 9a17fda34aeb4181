//! The runtimes of commands, and the memory that they leave unused.

use std::{future::Future, hint::black_box, thread, time::Duration};

use a2a_kit_telemetry::Otlp;
use tokio::runtime::Builder;
use tracing::Instrument as _;

use crate::{failure::Failure, log, settings::Settings};

/// How often idle memory is returned.
const PURGE_INTERVAL: Duration = Duration::from_secs(10);

/// Runs a server, on all processors.
pub(crate) fn run_server(server: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    block_on(server, Builder::new_multi_thread())
}

/// Runs a command that calls an agent. One thread is enough, and only `--debug` logs.
pub(crate) fn run_client(
    settings: &Settings,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    run_observed(settings, command, Builder::new_current_thread())
}

/// Runs a command that puts an agent under load, on all processors.
pub(crate) fn run_load(
    settings: &Settings,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    run_observed(settings, command, Builder::new_multi_thread())
}

fn run_observed(
    settings: &Settings,
    command: impl Future<Output = Result<(), Failure>>,
    runtime: Builder,
) -> Result<(), Failure> {
    let is_logged = settings.debug || Otlp::from_environment().is_some();
    // Dropping the guard, after the command, sends the remaining spans.
    let _guard = is_logged.then(|| log::start(settings, None)).transpose()?;
    block_on(command.instrument(log::command_span()), runtime)
}

/// Runs a command, or a request that precedes it. It is not logged.
pub(crate) fn block_on<T>(
    command: impl Future<Output = Result<T, Failure>>,
    mut runtime: Builder,
) -> Result<T, Failure> {
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("failed to start the runtime: {error}")))?;
    let result = runtime.block_on(command);
    // A read of stdin can't be interrupted, so its thread is not waited for.
    runtime.shutdown_background();
    result
}

/// Begins to give idle memory back, for as long as the process lives.
///
/// The allocator (mimalloc) purges freed pages a second after they were freed, but only on
/// the way of a thread that frees more pages: a server that has become idle keeps the memory of
/// its busiest moment. A thread that ends purges what is due, whichever thread has freed it, so one
/// is started now and then for nothing else.
pub(crate) fn return_idle_memory() {
    let started = thread::Builder::new().name("idle-memory".to_owned()).spawn(|| {
        loop {
            thread::sleep(PURGE_INTERVAL);
            purge();
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "idle memory is not returned: failed to start a thread");
    }
}

fn purge() {
    // It has to have used the allocator to give anything back when it ends.
    let purged = thread::Builder::new()
        .name("purge".to_owned())
        .spawn(|| drop(black_box(Box::new([0_u8; 64]))));
    if let Ok(purged) = purged {
        let _ended = purged.join();
    }
}
