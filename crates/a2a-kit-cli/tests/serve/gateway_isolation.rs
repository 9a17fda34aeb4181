//! The isolation suite through `a2a serve --proxy`: the callers of a gateway see nothing of each
//! other, although the agent behind it has one caller or tenants only.

use crate::common;
use std::net::SocketAddr;

use crate::common::{Server, http};
use a2a_tests::{
    backend::Backend,
    isolation::{self, Callers, Cluster, gateway_key, gateway_settings},
};
use tempfile::TempDir;

/// A gateway in front of an agent, with keys for the callers of the suite.
struct Gateway {
    server: Server,
    _folder: TempDir,
}

impl Gateway {
    fn start(agent: &Cluster, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.toml");
        std::fs::write(&path, gateway_settings()).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
        let upstream = ["--proxy", &agent.url(), "--settings", path.to_str().unwrap()];
        Self { server: Server::start(&[&upstream[..], arguments].concat()), _folder: folder }
    }

    fn address(&self) -> SocketAddr {
        self.server.address.parse().unwrap()
    }
}

/// Runs the suite with an index in a store, for gateways with these arguments.
async fn with_index(name: &str, nodes: usize, arguments: &[&str]) {
    let agent = Cluster::start(Backend::Memory, Callers::Unknown).await;
    let gateways: Vec<_> = (0..nodes).map(|_| Gateway::start(&agent, arguments)).collect();
    let addresses: Vec<_> = gateways.iter().map(Gateway::address).collect();
    let answers = isolation::run_on(agent.behind(&addresses, gateway_key), name).await;
    assert!(answers > 1_000, "only {answers} responses");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_a_gateway_see_nothing_of_each_other_with_an_index_in_memory() {
    with_index("--proxy, store: memory", 1, &["--store", "memory"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_a_gateway_see_nothing_of_each_other_with_an_index_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    with_index("--proxy, store: SQLite", 1, &["--store", file.to_str().unwrap()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_two_gateways_see_nothing_of_each_other_with_an_index_in_postgres() {
    let Ok(postgres) = a2a_test_servers::postgres().await else { return };
    let url = postgres.database().await;
    with_index("--proxy twice, store: PostgreSQL", 2, &["--store", &url]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_with_tenants_of_the_upstream_agent_see_nothing_of_each_other() {
    for binding in ["jsonrpc", "rest", "grpc"] {
        let agent = Cluster::start(Backend::Memory, Callers::Unknown).await;
        let arguments = ["--proxy-isolation", "tenant", "--upstream-transport", binding];
        let gateway = Gateway::start(&agent, &arguments);
        let cluster = agent.behind(&[gateway.address()], gateway_key);
        let name = format!("--proxy, tenant: {binding}");
        let answers = isolation::run_on(cluster, name).await;
        assert!(answers > 1_000, "only {answers} responses");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_with_forwarded_credentials_see_nothing_of_each_other() {
    let agent = Cluster::start(Backend::Memory, Callers::ByToken).await;
    let arguments = ["--proxy", &agent.url(), "--proxy-isolation", "forward-auth"];
    let gateway = Server::start(&arguments);
    let bearer = |caller: &str| ("authorization", format!("Bearer {caller}"));
    let cluster = agent.behind(&[gateway.address.parse().unwrap()], bearer);
    let answers = isolation::run_on(cluster, "--proxy, forward-auth").await;
    assert!(answers > 1_000, "only {answers} responses");
}

#[test]
fn shared_tasks_of_several_callers_are_warned_of() {
    let agent = Server::start(&[]);
    let upstream = ["--proxy", &agent.address, "--proxy-isolation"];
    for (isolation, access, warns) in [
        ("shared", &["--require-api-key", "0123456789abcdef", "--anonymous"][..], true),
        ("shared", &[], false),
        ("tenant", &["--require-api-key", "0123456789abcdef"], false),
    ] {
        let arguments = [&upstream[..], &[isolation], access].concat();
        let (server, stderr) = Server::start_and_read(&arguments);
        drop(server);
        let stderr = stderr.join().unwrap();
        assert_eq!(stderr.contains("see the tasks of all others"), warns, "{arguments:?} {stderr}");
    }
}

#[test]
fn tenants_that_would_not_reach_the_agent_are_refused() {
    let agent = Server::start(&["--protocol", "0.3"]);
    let upstream = ["serve", "--proxy", &agent.address, "--proxy-isolation", "tenant"];
    let run = common::Run::of(common::command().args(upstream));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("without a tenant of its own"), "{run:?}");
}

#[test]
fn tasks_of_a_caller_outlive_the_gateway_in_a_file() {
    let agent = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let arguments = ["--proxy", &agent.address, "--store", file.to_str().unwrap()];
    let gateway = Server::start(&arguments);
    assert_eq!(gateway.lines[3], format!("Upstream: JSONRPC {}", agent.url()));
    assert!(gateway.lines[4].starts_with("Store: SQLite"), "{:?}", gateway.lines);
    let id = gateway.run(&["send", "hello"]).field("Task ID").to_owned();
    gateway.terminate();
    assert_eq!(gateway.ended().0, Some(0));
    let gateway = Server::start(&arguments);
    assert_eq!(gateway.run(&["task", "get", &id]).field("State"), "COMPLETED");
    assert_eq!(gateway.run(&["task", "list"]).field("Total"), "1");
}

/// Waits until `/readyz` has a status, which is probed once a second.
async fn readiness(gateway: &Server, expected: u16) {
    let url = format!("{}/readyz", gateway.url());
    let reached = async {
        while http("GET", &url, &[], "").await.status() != expected {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let reached = tokio::time::timeout(std::time::Duration::from_secs(20), reached).await;
    assert!(reached.is_ok(), "/readyz is not {expected}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_its_store_is_not_ready_and_forwards_no_message() {
    let agent = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (file, aside) = (folder.path().join("gateway.db"), folder.path().join("aside.db"));
    let arguments = ["--proxy", &agent.address, "--store", file.to_str().unwrap()];
    let gateway = Server::start(&arguments);
    gateway.run(&["send", "hello"]);
    readiness(&gateway, 200).await;
    std::fs::rename(&file, &aside).unwrap();
    readiness(&gateway, 503).await;
    for arguments in [&["send", "hello"][..], &["send", "stream 1", "--stream"]] {
        let run = gateway.run(&[arguments, &["--timeout", "2s"]].concat());
        assert!(run.stderr.contains("cannot write to its store"), "{run:?}");
    }
    assert_eq!(agent.run(&["task", "list"]).field("Total"), "1");
    std::fs::rename(&aside, &file).unwrap();
    readiness(&gateway, 200).await;
    assert_eq!(gateway.run(&["send", "hello"]).field("State"), "COMPLETED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_its_database_is_not_ready_and_forwards_no_message() {
    let Ok(mut postgres) = a2a_test_servers::Private::postgres(&[]).await else { return };
    let agent = Server::start(&[]);
    let gateway = Server::start(&["--proxy", &agent.address, "--store", postgres.url()]);
    assert_eq!(gateway.run(&["send", "hello"]).field("State"), "COMPLETED");
    readiness(&gateway, 200).await;
    postgres.kill();
    readiness(&gateway, 503).await;
    let run = gateway.run(&["send", "hello", "--timeout", "5s"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert_eq!(agent.run(&["task", "list"]).field("Total"), "1");
    postgres.start().await;
    readiness(&gateway, 200).await;
    assert_eq!(gateway.run(&["send", "hello"]).field("State"), "COMPLETED");
}

#[test]
fn the_default_store_of_another_agent_is_refused_and_a_named_one_is_warned_of() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let folder = tempfile::tempdir().unwrap();
    let warnings = |agent: &Server, store: &[&str]| {
        let arguments = ["--proxy", &agent.address, "--proxy-isolation", "store"];
        let arguments = [&arguments[..], store].concat();
        let (gateway, stderr) = Server::start_and_read_in(folder.path(), &arguments, &[]);
        drop(gateway);
        stderr.join().unwrap()
    };
    for _ in 0..2 {
        assert_eq!(warnings(&one, &[]), "");
    }
    let mut refused = common::command();
    refused.current_dir(folder.path()).args(["serve", "--port", "0", "--proxy", &other.address]);
    let run = common::Run::of(&mut refused);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains(&one.address), "{run:?}");
    assert!(run.stderr.contains("--store a2a-gateway.db"), "{run:?}");
    let warned = warnings(&other, &["--store", "a2a-gateway.db"]);
    assert!(warned.contains(&one.address), "{warned}");
    assert_eq!(warnings(&other, &[]), "");
}
