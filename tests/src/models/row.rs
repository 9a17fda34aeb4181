//! The rows of the matrix. What they expect is in the fixtures of the mock.

use std::{fs, time::Duration};

use a2a_core::TaskState;
use a2a_kit_client::MessageRequest;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Result,
    aimock::KEY,
    bench::{Bench, Seen, USAGE},
    expect::{expect, same},
};

/// The content of the last fixture for a message.
fn content(message: &str) -> Result<String> {
    let fixtures: Value = serde_json::from_str(include_str!("../../interop/aimock/fixtures.json"))?;
    let all = fixtures["fixtures"].as_array().ok_or("no fixtures")?;
    let found = all.iter().rfind(|fixture| fixture["match"]["userMessage"] == message);
    let content = found.and_then(|fixture| fixture["response"]["content"].as_str());
    Ok(content.ok_or_else(|| format!("no fixture for {message:?}"))?.to_owned())
}

pub(super) async fn send(bench: &Bench) -> Result {
    let message = "row send";
    let task = bench.agent.task(message).await?;
    same(task.state(), TaskState::Completed, "state")?;
    let stored = bench.agent.client.get(&task.id).await?;
    let artifacts: Vec<_> = stored.artifacts.iter().map(|one| &*one.artifact_id).collect();
    same(artifacts, ["answer"], "artifacts")?;
    same(stored.artifacts[0].parts.len(), 1, "stored parts")?;
    same(stored.text(), content(message)?, "stored text")?;
    same(task.text(), content(message)?, "text")
}

pub(super) async fn first_before_last(bench: &Bench) -> Result {
    let message = "row first before last";
    let seen = bench.agent.stream(message).await?;
    same(seen.state, Some(TaskState::Completed), "state")?;
    let (first, _) = seen.updates.first().ok_or("no update")?;
    let ahead = seen.end.ok_or("no event")?.duration_since(*first);
    expect(ahead >= Duration::from_millis(1500), format!("the first came {ahead:?} early"))?;
    same((seen.beginnings(), seen.ends()), (1, 1), "beginnings and ends")?;
    same(seen.text(), content(message)?, "text")
}

pub(super) async fn cancel(bench: &Bench) -> Result {
    let (agent, mock) = (&bench.agent, &bench.mock);
    let (destroyed, requests) =
        (mock.with_status("destroyed").await?, mock.requests().await?.len());
    let mut seen = Seen::default();
    let mut events = agent.client.stream("row cancel").await?;
    while seen.updates.len() < 3 {
        expect(seen.next(&mut events).await?, "the stream ends before its third update")?;
    }
    let start = Instant::now();
    let task = agent.client.cancel(&*seen.task).await?;
    mock.reaches("destroyed", destroyed + 1, Duration::from_millis(250)).await?;
    while seen.next(&mut events).await? {}
    let took = start.elapsed();
    expect(took < Duration::from_secs(1), format!("canceled after {took:?}"))?;
    same(task.state(), TaskState::Canceled, "state of the response")?;
    same(seen.state, Some(TaskState::Canceled), "last state of the stream")?;
    // A retry would come within this second.
    sleep(Duration::from_secs(1)).await;
    same(mock.requests().await?.len(), requests + 1, "requests")
}

pub(super) async fn memory(bench: &Bench) -> Result {
    let message = "row memory";
    let first = bench.agent.task(message).await?;
    same(first.text(), content(message)?, "first answer")?;
    let again = MessageRequest::from(message).in_context(&first.context_id);
    let second = bench.agent.task(again).await?;
    same(second.text().as_str(), "You asked before.", "second answer")?;
    let requests = bench.mock.requests().await?;
    let last = requests.last().ok_or("no request")?;
    let roles: Vec<_> = last.messages.iter().filter_map(|one| one["role"].as_str()).collect();
    same(roles, ["user", "assistant", "user"], "roles of the second request")?;
    let said = last.messages[1]["content"].to_string();
    expect(said.contains(&first.text()), format!("the model did not say {said}"))
}

pub(super) async fn kill(bench: &Bench) -> Result {
    let before = bench.mock.requests().await?.len();
    let message = "row kill";
    let agent = bench.another("killed", KEY).await?;
    let mut seen = Seen::default();
    let mut events = agent.client.stream(message).await?;
    while seen.updates.len() < 3 {
        expect(seen.next(&mut events).await?, "the stream ends before its third update")?;
    }
    drop(agent);
    let start = Instant::now();
    let agent = bench.another("killed", KEY).await?;
    let mut again = Seen::default();
    let mut events = agent.client.subscribe(&*seen.task).await?;
    while again.next(&mut events).await? {}
    let took = start.elapsed();
    expect(took < Duration::from_secs(10), format!("completed {took:?} after the kill"))?;
    same(again.state, Some(TaskState::Completed), "state")?;
    same((again.beginnings(), again.ends()), (1, 1), "beginnings and ends for the subscriber")?;
    same(again.text(), content(message)?, "text for the subscriber")?;
    same(agent.client.get(&*seen.task).await?.text(), content(message)?, "stored text")?;
    same(bench.mock.requests().await?.len() - before, 2, "requests")
}

pub(super) async fn usage(bench: &Bench) -> Result {
    let task = bench.agent.task_with(USAGE, "row usage").await?;
    same(task.state(), TaskState::Completed, "state")?;
    let metadata = serde_json::to_value(&task.metadata)?;
    let mut expected =
        json!({ "inputTokens": 11, "outputTokens": 7, "modelCalls": 1, "toolCalls": 0 });
    if bench.provider.name == "openrouter" {
        expected["cachedInputTokens"] = 4.into();
        expected["reasoningTokens"] = 3.into();
        expected["cost"] = json!({ "amount": "0.00042", "currency": "USD" });
    }
    same(&metadata[USAGE], &expected, "usage")?;
    let unasked = bench.agent.task("row usage").await?;
    let metadata = serde_json::to_value(&unasked.metadata)?;
    same(&metadata[USAGE], &Value::Null, "usage for a caller that did not ask")
}

pub(super) async fn rate_limit(bench: &Bench) -> Result {
    let before = bench.mock.requests().await?.len();
    let message = "row rate limit";
    let task = bench.agent.task(message).await?;
    same(task.state(), TaskState::Completed, "state")?;
    same(task.text(), content(message)?, "text")?;
    let requests = bench.mock.requests().await?;
    let [first, second] = &requests[before..] else {
        return Err(format!("{} requests", requests.len() - before).into());
    };
    let wait = second.milliseconds.saturating_sub(first.milliseconds);
    expect((2_000..=4_000).contains(&wait), format!("waited {wait} ms"))
}

pub(super) async fn cut(bench: &Bench) -> Result {
    let before = bench.mock.requests().await?.len();
    let message = "row cut";
    let seen = bench.agent.stream(message).await?;
    same(seen.state, Some(TaskState::Completed), "state")?;
    same(seen.text(), content(message)?, "text")?;
    same((seen.beginnings(), seen.ends()), (2, 1), "beginnings and ends")?;
    same(bench.agent.client.get(&*seen.task).await?.text(), content(message)?, "stored text")?;
    same(bench.mock.requests().await?.len() - before, 2, "requests")
}

pub(super) async fn wrong_key(bench: &Bench) -> Result {
    let key = "planted-wrong-key";
    let refused = bench.mock.with_status("401").await?;
    let agent = bench.another("other-key", key).await?;
    let task = agent.task("row wrong key").await?;
    same(task.state(), TaskState::Failed, "state")?;
    let status = task.status.and_then(|status| status.message).map(|message| message.text());
    let text = "The model provider refused the credentials of this agent";
    same(status.as_deref(), Some(text), "status message")?;
    // A retry would come within this second.
    sleep(Duration::from_secs(1)).await;
    same(bench.mock.with_status("401").await?, refused + 1, "requests")?;
    for entry in fs::read_dir(&agent.folder)? {
        let path = entry?.path();
        let has_key = path.file_name() != Some("key".as_ref())
            && fs::read(&path)?.windows(key.len()).any(|bytes| bytes == key.as_bytes());
        expect(!has_key, format!("the key is in {}", path.display()))?;
    }
    Ok(())
}
