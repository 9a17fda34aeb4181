//! Running attacks, one after the other, and telling what came of them.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{
    Attack, Group, Scene, Verdict,
    latency::{Bystander, Latency},
};

/// How long memory may take to come back.
const RETURN: Duration = Duration::from_secs(60);
/// Reads at a time before the first group, more than the store has connections.
const READS: usize = 8;
/// Rounds of normal requests before the first group.
const WARM: usize = 40;

/// How it went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub attacks: usize,
    /// What did harm: group, name, how.
    pub failed: Vec<String>,
}

/// Runs groups of attacks, and says of each what the server did.
pub async fn run(scene: &Scene, groups: &[Group], mut say: impl FnMut(String)) -> Outcome {
    // The clients of some attacks take the process's provider, and the first one stays.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut outcome = Outcome::default();
    if scene.process.is_some() {
        warm(scene).await;
    }
    if let Some(bob) = &scene.bob {
        let _known = scene.call(bob, "ListTasks", serde_json::json!({})).await;
    }
    let memory = || scene.process.as_ref().and_then(super::Process::memory);
    let first = memory();
    for group in groups.iter().filter(|group| !group.attacks.is_empty()) {
        let before = memory();
        for attack in &group.attacks {
            outcome.attacks += 1;
            let start = Instant::now();
            let verdict = beside_another(scene, attack).await;
            let verdict = match (verdict, scene.is_served().await) {
                (Ok(did), Ok(time)) => Ok(format!("{did}; then served in {time:.0?}")),
                (Ok(did), Err(why)) => Err(format!("{did}; then {why}")),
                (Err(harm), _) => Err(harm),
            };
            let took = start.elapsed();
            let (mark, did) = match &verdict {
                Ok(did) => ("held", did),
                Err(harm) => ("HARM", harm),
            };
            let (name, tried) = (attack.name, attack.tried);
            say(format!("{mark}  {}: {name}: {tried} -> {did} ({took:.1?})", group.name));
            if let Err(harm) = verdict {
                outcome.failed.push(format!("{}: {name}: {harm}", group.name));
            }
        }
        if let Err(harm) = returns(scene, group.name, before, &mut say).await {
            outcome.failed.push(harm);
        }
    }
    // No limit: connections of the store fill their caches when they are first used, whenever
    // that is. What is kept each time shows where a group is named several times.
    if let (Some(first), Some(last)) = (first, memory()) {
        say(format!("      {} MiB before all attacks, {} MiB after", first >> 20, last >> 20));
    }
    outcome
}

/// Runs an attack while another caller is served, who must not notice.
async fn beside_another(scene: &Scene, attack: &Attack) -> Verdict {
    let bystander = Bystander::start(scene).await?;
    let verdict = (attack.run)(scene).await;
    let Some(bystander) = bystander else { return verdict };
    let latency = bystander.finish().await.and_then(Latency::check);
    let did = verdict?;
    match latency {
        Ok(latency) => Ok(format!("{did}; another caller: {latency}")),
        Err(harm) => Err(format!("{did}; {harm}")),
    }
}

/// Has the server fill what it keeps once and for all, the caches of its store before all, of
/// which each connection that reads has one. If it does not work, the first attack says so.
async fn warm(scene: &Scene) {
    let text = "x".repeat(7 << 20);
    for _ in 0..8 {
        if let Ok(id) = scene.task(&format!("echo {text}")).await {
            let read = || scene.works("GetTask", serde_json::json!({"id": id}));
            // At a time: one after the other, they would all come by the same connection.
            let _read = join_all((0..READS).map(|_| read())).await;
        }
    }
    for _ in 0..WARM {
        let _served = scene.is_served().await;
    }
}

/// Waits until the memory is back.
async fn returns(
    scene: &Scene,
    group: &str,
    before: Option<u64>,
    say: &mut impl FnMut(String),
) -> Result<(), String> {
    let (Some(process), Some(before)) = (&scene.process, before) else { return Ok(()) };
    let most = before + before / 5;
    let end = Instant::now() + RETURN;
    loop {
        let Some(now) = process.memory() else { return Err("the server is gone".to_owned()) };
        let told = format!("{} MiB before {group}, {} MiB after", before >> 20, now >> 20);
        if now <= most {
            say(format!("      {told}"));
            return Ok(());
        }
        if Instant::now() > end {
            say(format!("HARM  {told}"));
            return Err(format!("{group}: memory: {told}"));
        }
        // What a server has freed goes back to the system while it works.
        for _ in 0..5 {
            let _served = scene.is_served().await;
        }
        sleep(Duration::from_millis(500)).await;
    }
}
