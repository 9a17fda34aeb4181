//! A few attacks on a real server; `cargo xtask attack` has all of them.

use std::path::Path;

use a2a_tests::attack::{Group, Started, run};

/// One of each group, each of them quick.
const QUICK: [&str; 29] = [
    "no credentials",
    "unknown token",
    "algorithm none",
    "HS256 with the public key",
    "changed claims",
    "token in the wrong place",
    "header smuggling",
    "ids of another caller",
    "tenant hopping",
    "wrong lengths",
    "CL.TE",
    "TE.CL",
    "NUL and control bytes",
    "rapid reset",
    "wrong frames",
    "false length",
    "deep JSON",
    "gzip bomb",
    "loopback",
    "IPv6 with IPv4 in it",
    "log lines",
    "event lines",
    "audit events",
    "settings of a directory",
    "file named like the agent",
    "hostile catalog",
    "shared directory",
    "ids that leave their place in a URL",
    "upstream agent that mixes up callers",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_survives_the_quick_attacks() {
    let started = Started::start(Path::new(env!("CARGO_BIN_EXE_a2a"))).await.unwrap();
    let mut groups = Group::all();
    for group in &mut groups {
        group.attacks.retain(|attack| QUICK.contains(&attack.name));
    }
    let mut told = String::new();
    let outcome = run(&started.env, &groups, |line| {
        told.push_str(&line);
        told.push('\n');
    })
    .await;
    assert_eq!(outcome.attacks, QUICK.len(), "{told}");
    assert!(outcome.failed.is_empty(), "{told}\n{}", started.last_lines());
}
