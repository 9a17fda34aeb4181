//! Nodes of one agent, to which everything happens in any order.

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};
use tokio::runtime::Builder;

use super::{
    step::{self, Mode, Step},
    world::World,
};

/// Cases that are tried where nobody asks for more.
const CASES: u32 = 64;

#[test]
fn whatever_happens_to_nodes_nothing_is_lost_or_told_twice() {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config {
        cases: asked.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let cases = (1..=3_usize, any::<u64>(), step::steps());
    // The same cases each time, unless somebody is looking for more.
    let mut runner = if asked.is_some() {
        TestRunner::new(config)
    } else {
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let result = runner.run(&cases, |(nodes, seed, steps)| {
        run(nodes, seed, steps);
        Ok(())
    });
    match result {
        Ok(()) => {}
        // On one line for each step.
        Err(TestError::Fail(reason, (nodes, seed, steps))) => {
            let steps: Vec<_> = steps.iter().map(|step| format!("    {step:?}\n")).collect();
            panic!("{reason}\nwith {nodes} nodes and seed {seed}:\n{}", steps.concat());
        }
        Err(error) => panic!("{error}"),
    }
}

/// Each of these once went wrong, some of them only where the store took its time.
#[test]
fn what_once_went_wrong_goes_well_however_long_the_store_takes() {
    let send =
        |script: &str, mode, keyed| Step::Send { node: 0, script: script.into(), mode, keyed };
    let follow_up = |node, script: &str, mode, keyed| {
        let script = script.to_owned();
        Step::FollowUp { node, task: 0, script, mode, keyed }
    };
    let again = |node, sent| Step::Again { node, sent };
    let scenes = [
        // Joined before it was stored.
        vec![send("deaf complete", Mode::Stream, true), Step::Pause(2), again(0, 0)],
        // Joined while it queued, and while it was stored.
        vec![
            send("deaf complete", Mode::AtOnce, false),
            Step::Pause(50),
            follow_up(0, "complete", Mode::Wait, true),
            again(0, 0),
            again(1, 0),
        ],
        vec![
            send("park", Mode::Wait, false),
            Step::Pause(50),
            follow_up(0, "complete", Mode::Wait, true),
            again(0, 0),
            Step::Pause(1),
            again(1, 0),
            again(0, 0),
        ],
        // A later turn began before the end of the first was stored.
        vec![
            send("start chunk gate chunk ask", Mode::Wait, false),
            Step::Pause(50),
            follow_up(1, "chunk ask", Mode::Stream, false),
            follow_up(0, "complete", Mode::Wait, false),
            Step::Pause(50),
            Step::Gates,
        ],
        // Queued on a node that stops.
        vec![
            send("gate complete", Mode::AtOnce, false),
            Step::Pause(50),
            follow_up(0, "complete", Mode::Wait, false),
            follow_up(1, "complete", Mode::Wait, false),
            Step::Pause(50),
            Step::Leave(0),
        ],
    ];
    for scene in scenes {
        for seed in 0..24 {
            run(2, seed, scene.clone());
        }
    }
}

fn run(nodes: usize, seed: u64, steps: Vec<Step>) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(nodes, seed);
        for step in steps {
            world.take(step).await;
        }
        world.end().await;
    });
}
