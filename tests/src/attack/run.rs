//! Runs attacks in sequence, and reports the results.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{
    Attack, Environment, Group, Verdict,
    latency::{Bystander, Latency},
};

/// Timeout for memory to be released.
const RETURN: Duration = Duration::from_secs(60);
/// Concurrent reads before the first group, more than the connections of the store.
const READS: usize = 8;
/// Rounds of normal requests before the first group.
const WARM: usize = 40;

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub attacks: usize,
    /// Successful attacks: group, name, damage.
    pub failed: Vec<String>,
}

/// Runs groups of attacks, and prints the reaction of the server to each.
pub async fn run(env: &Environment, groups: &[Group], mut print: impl FnMut(String)) -> Outcome {
    // Some clients use the default provider of the process, which can be installed only once.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut outcome = Outcome::default();
    if env.process.is_some() {
        warm(env).await;
    }
    if let Some(bob) = &env.bob {
        let _known = env.call(bob, "ListTasks", serde_json::json!({})).await;
    }
    let memory = || env.process.as_ref().and_then(super::Process::memory);
    let first = memory();
    for group in groups.iter().filter(|group| !group.attacks.is_empty()) {
        let before = memory();
        for attack in &group.attacks {
            outcome.attacks += 1;
            let start = Instant::now();
            let verdict = beside_another(env, attack).await;
            let verdict = match (verdict, env.is_served().await) {
                (Ok(did), Ok(time)) => Ok(format!("{did}; then served in {time:.0?}")),
                (Ok(did), Err(why)) => Err(format!("{did}; then {why}")),
                (Err(failure), _) => Err(failure),
            };
            let took = start.elapsed();
            let (mark, did) = match &verdict {
                Ok(did) => ("held", did),
                Err(failure) => ("FAILED", failure),
            };
            let (name, description) = (attack.name, attack.description);
            print(format!("{mark}  {}: {name}: {description} -> {did} ({took:.1?})", group.name));
            if let Err(failure) = verdict {
                outcome.failed.push(format!("{}: {name}: {failure}", group.name));
            }
        }
        if let Err(failure) = returns(env, group.name, before, &mut print).await {
            outcome.failed.push(failure);
        }
    }
    // Informative only: connections of the store fill their caches on first use. Run a group
    // several times to find leaks.
    if let (Some(first), Some(last)) = (first, memory()) {
        print(format!("      {} MiB before all attacks, {} MiB after", first >> 20, last >> 20));
    }
    outcome
}

/// Runs an attack while another caller is served, without affecting that caller.
async fn beside_another(env: &Environment, attack: &Attack) -> Verdict {
    let bystander = Bystander::start(env).await?;
    let verdict = (attack.run)(env).await;
    let Some(bystander) = bystander else { return verdict };
    let latency = bystander.finish().await.and_then(Latency::check);
    let did = verdict?;
    match latency {
        Ok(latency) => Ok(format!("{did}; another caller: {latency}")),
        Err(failure) => Err(format!("{did}; {failure}")),
    }
}

/// Fills permanent caches of the server, mainly the page caches of the store's read connections.
/// Failures are ignored here: the first attack would report them.
async fn warm(env: &Environment) {
    let text = "x".repeat(7 << 20);
    for _ in 0..8 {
        if let Ok(id) = env.task(&format!("echo {text}")).await {
            let read = || env.works("GetTask", serde_json::json!({"id": id}));
            // Concurrent, because sequential reads would use the same connection.
            let _read = join_all((0..READS).map(|_| read())).await;
        }
    }
    for _ in 0..WARM {
        let _served = env.is_served().await;
    }
}

/// Waits until the memory is released.
async fn returns(
    env: &Environment,
    group: &str,
    before: Option<u64>,
    print: &mut impl FnMut(String),
) -> Result<(), String> {
    let (Some(process), Some(before)) = (&env.process, before) else { return Ok(()) };
    let most = before + before / 5;
    let end = Instant::now() + RETURN;
    loop {
        let Some(now) = process.memory() else { return Err("the server has exited".to_owned()) };
        let summary = format!("{} MiB before {group}, {} MiB after", before >> 20, now >> 20);
        if now <= most {
            print(format!("      {summary}"));
            return Ok(());
        }
        if Instant::now() > end {
            print(format!("FAILED  {summary}"));
            return Err(format!("{group}: memory: {summary}"));
        }
        // Freed memory is returned to the system while the server works.
        for _ in 0..5 {
            let _served = env.is_served().await;
        }
        sleep(Duration::from_millis(500)).await;
    }
}
