//! A random sequence of events on several nodes of one agent.

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};
use tokio::runtime::Builder;

use super::{
    step::{self, Mode, Step},
    world::World,
};

/// Default number of cases.
const CASES: u32 = 64;

#[test]
fn random_node_faults_lose_and_repeat_nothing() {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config {
        cases: asked.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let cases = (1..=3_usize, any::<u64>(), step::steps());
    // The same cases each time, unless more are requested.
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
        // One line per step.
        Err(TestError::Fail(reason, (nodes, seed, steps))) => {
            let steps: Vec<_> = steps.iter().map(|step| format!("    {step:?}\n")).collect();
            panic!("{reason}\nwith {nodes} nodes and seed {seed}:\n{}", steps.concat());
        }
        Err(error) => panic!("{error}"),
    }
}

/// Past failures, some of which need a slow store.
#[test]
fn past_failures_pass_at_any_store_latency() {
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
        // Joined while it was queued, and while it was stored.
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
        // Queued on a node that shuts down.
        vec![
            send("gate complete", Mode::AtOnce, false),
            Step::Pause(50),
            follow_up(0, "complete", Mode::Wait, false),
            follow_up(1, "complete", Mode::Wait, false),
            Step::Pause(50),
            Step::Leave(0),
        ],
        // The store lost an answer though it failed to return it.
        vec![
            send("gate complete", Mode::AtOnce, false),
            Step::Pause(150),
            Step::Fail(1),
            follow_up(1, "complete", Mode::Wait, false),
            Step::Pause(100),
            Step::Gates,
            Step::Pause(100),
            Step::Heal(1),
        ],
        vec![
            send("gate complete", Mode::AtOnce, false),
            Step::Pause(150),
            Step::Fail(1),
            Step::Cancel { node: 1, task: 0 },
            Step::Pause(100),
            Step::Heal(1),
        ],
        // Released by a node whose store failed, with pending work.
        vec![
            send("chunk return", Mode::Wait, false),
            Step::Pause(150),
            Step::Fail(0),
            follow_up(0, "chunk park", Mode::AtOnce, true),
            Step::Pause(300),
            follow_up(0, "chunk complete", Mode::Stream, true),
            Step::Pause(1000),
            Step::Heal(0),
        ],
        // A visible turn, before one that began on a node that had lost the task.
        vec![
            send("deaf ask", Mode::Wait, false),
            Step::Pause(150),
            follow_up(0, "fail", Mode::Wait, false),
            Step::Pause(5),
            Step::Freeze(0),
            Step::Pause(400),
            Step::Thaw(0),
        ],
        // Read again as a command while its turn was being stored.
        vec![
            send("chunk start ask", Mode::AtOnce, false),
            Step::Pause(60),
            follow_up(1, "ask", Mode::Wait, false),
            Step::Cancel { node: 1, task: 0 },
            Step::Pause(50),
        ],
        // Queued without a waiting caller, on a node that crashes.
        vec![
            send("gate park", Mode::AtOnce, false),
            Step::Pause(150),
            follow_up(0, "complete", Mode::AtOnce, false),
            Step::Pause(20),
            Step::Crash(0),
        ],
    ];
    for scene in scenes {
        for seed in 0..24 {
            run(2, seed, scene.clone());
        }
    }
    // Listed while a write of the only node was stored, and not answered.
    let mut scene = vec![send("start gate complete", Mode::AtOnce, false), Step::Pause(50)];
    scene.extend([Step::Slow(0), Step::Gates]);
    for _ in 0..12 {
        let (list, get) =
            (Step::List { node: 0, size: 9, state: None }, Step::Get { node: 0, task: 0 });
        scene.extend([list, Step::Pause(3), get, Step::Pause(1)]);
    }
    for seed in 0..48 {
        run(1, seed, scene.clone());
    }
    // Loaded twice concurrently during a release, and the older response came last.
    let again = |node| Step::Again { node, sent: 0 };
    let scene = [
        Step::Crash(4),
        Step::Pause(1),
        Step::List { node: 1, size: 1, state: None },
        Step::Send {
            node: 5,
            script: "start chunk return".into(),
            mode: Mode::Stream,
            keyed: true,
        },
        again(2),
        again(1),
        again(0),
    ];
    for seed in (0..48).chain([3_953_162_986_049_197_814]) {
        run(3, seed, scene.to_vec());
    }
    // Acquired by the node that is taking it over, before it knows the checkpoint.
    let scene = [
        send("pause pause ask", Mode::Wait, true),
        Step::Pause(17),
        Step::Leave(0),
        Step::Subscribe { node: 0, task: 0, after: Some(1) },
        follow_up(0, "fail", Mode::Wait, true),
        follow_up(0, "complete", Mode::Stream, true),
        follow_up(0, "ask", Mode::Stream, false),
    ];
    for seed in 0..96 {
        run(1, seed, scene.to_vec());
    }
    // A command from another node before this one knew of its lease.
    let scene = [
        send("park", Mode::Wait, false),
        Step::Pause(50),
        Step::Slow(1),
        follow_up(1, "chunk ask", Mode::Stream, false),
        Step::Pause(20),
        follow_up(0, "deaf complete", Mode::Wait, false),
    ];
    for seed in 0..96 {
        run(2, seed, scene.to_vec());
    }
    // Known to other nodes, as it is stored, before its own node knew.
    let scene = [
        Step::Slow(0),
        send("chunk gate complete", Mode::Wait, false),
        Step::Pause(10),
        Step::Freeze(0),
        Step::Pause(400),
        Step::Get { node: 0, task: 0 },
        Step::Cancel { node: 0, task: 0 },
        Step::Subscribe { node: 0, task: 0, after: Some(1) },
        Step::Thaw(0),
        Step::Pause(100),
    ];
    for seed in 0..96 {
        run(2, seed, scene.to_vec());
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
