//! Random steps.

use proptest::{collection::vec, option, prelude::*, sample::select};

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Wait,
    AtOnce,
    Stream,
}

/// A step. Nodes and tasks are selected modulo their number.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Send {
        node: usize,
        script: String,
        mode: Mode,
        keyed: bool,
    },
    FollowUp {
        node: usize,
        task: usize,
        script: String,
        mode: Mode,
        keyed: bool,
    },
    /// Retries a send with its key.
    Again {
        node: usize,
        sent: usize,
    },
    Cancel {
        node: usize,
        task: usize,
    },
    Get {
        node: usize,
        task: usize,
    },
    List {
        node: usize,
        size: i32,
        state: Option<i32>,
    },
    Subscribe {
        node: usize,
        task: usize,
        after: Option<u64>,
    },
    Gates,
    Pause(u64),
    Freeze(usize),
    Thaw(usize),
    Crash(usize),
    Leave(usize),
    Fail(usize),
    /// Delays the responses of the store.
    Slow(usize),
    Heal(usize),
    Join,
    Sweep,
}

fn script() -> impl Strategy<Value = String> {
    let word = select(vec!["chunk", "chunk", "chunk", "pause", "gate", "deaf", "start"]);
    let end = select(vec![
        "complete", "complete", "complete", "fail", "error", "park", "park", "ask", "ask", "reply",
        "return",
    ]);
    (vec(word, 0..6), end).prop_map(|(mut words, end)| {
        words.push(end);
        words.join(" ")
    })
}

fn step() -> impl Strategy<Value = Step> {
    let node = || 0..6_usize;
    let task = || 0..12_usize;
    let mode = || select(vec![Mode::Wait, Mode::AtOnce, Mode::Stream]);
    prop_oneof![
        6 => (node(), script(), mode(), any::<bool>()).prop_map(
            |(node, script, mode, keyed)| Step::Send { node, script, mode, keyed }
        ),
        6 => (node(), task(), script(), mode(), any::<bool>()).prop_map(
            |(node, task, script, mode, keyed)| Step::FollowUp { node, task, script, mode, keyed }
        ),
        4 => (node(), any::<usize>()).prop_map(|(node, sent)| Step::Again { node, sent }),
        2 => (node(), task()).prop_map(|(node, task)| Step::Cancel { node, task }),
        2 => (node(), task()).prop_map(|(node, task)| Step::Get { node, task }),
        1 => (node(), 1..5, option::of(1..6)).prop_map(
            |(node, size, state)| Step::List { node, size, state }
        ),
        6 => (node(), task(), option::of(1..20_u64)).prop_map(
            |(node, task, after)| Step::Subscribe { node, task, after }
        ),
        3 => Just(Step::Gates),
        8 => (0..120_u64).prop_map(Step::Pause),
        1 => node().prop_map(Step::Freeze),
        2 => node().prop_map(Step::Thaw),
        1 => node().prop_map(Step::Crash),
        1 => node().prop_map(Step::Leave),
        1 => node().prop_map(Step::Fail),
        1 => node().prop_map(Step::Slow),
        2 => node().prop_map(Step::Heal),
        1 => Just(Step::Join),
        1 => Just(Step::Sweep),
    ]
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..60)
}
