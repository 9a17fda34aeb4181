//! The metrics of two agents in one process.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use a2a_kit::{AgentCard, AgentLabel, Agents, Client, Engine, EngineConfig, agent_fn};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::net::TcpListener;

fn echo(config: EngineConfig) -> Engine {
    let card = AgentCard::new("Echo", "Repeats its input");
    Engine::builder(card, agent_fn(async |text: String| text)).config(config).build()
}

#[tokio::test]
async fn labelled_engines_are_counted_apart() {
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    let labelled = |name| EngineConfig::default().with_metrics_label(AgentLabel::new(name));
    let agents = Agents::new()
        .at("/", echo(EngineConfig::default()))
        .at("/one", echo(labelled("one")))
        .at("/two", echo(labelled("two")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(agents.serve(listener, std::future::pending()));
    for (path, count) in [("", 1), ("/one", 2), ("/two", 3)] {
        let client = Client::connect(&format!("http://{address}{path}")).await.unwrap();
        for _ in 0..count {
            client.send("hi").await.unwrap();
        }
    }
    let rendered = metrics.render();
    let count = |name: &str, agent: &str| {
        let lines = rendered.lines().filter(|line| line.starts_with(name));
        let mut of_agent = lines.filter(|line| match agent {
            "" => !line.contains("agent="),
            agent => line.contains(&format!("agent=\"{agent}\"")),
        });
        of_agent.next().and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    for (agent, expected) in [("", "1"), ("one", "2"), ("two", "3")] {
        for name in ["a2a_operations_total", "a2a_executions_total", "a2a_task_transitions_total"] {
            assert_eq!(count(name, agent).as_deref(), Some(expected), "{name} {agent}\n{rendered}");
        }
    }
}
