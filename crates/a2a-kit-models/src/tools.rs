//! The calls of tools of a run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use a2a_core::{Artifact, fresh_id};
use a2a_kit_operations::{AgentError, BoxError, RequestContext, TaskUpdater, UpdateError};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    task::yield_now,
    time::{Instant, timeout},
};

use crate::{
    InvalidArguments, Repeat, Tool, ToolContext, ToolResult, approval,
    events::{Events, ToolEvent, ToolStatus},
    exchange::{MARKER, cut, file_label},
    model::{ToolCall, ToolOutcome},
    settings::Settings,
};
#[cfg(feature = "agents")]
use crate::{delegations::Delegations, usage::TaskUsage};

/// The number of calls of a turn that run at once.
const MAX_CONCURRENT: usize = 4;
/// The number of turns in a row whose calls may all be wrong.
const MAX_WRONG: u32 = 3;
/// Maximum size of a result as the model reads it, in bytes.
const MAX_RESULT: usize = 32 << 10;

/// What a model reads of a call, as it is journaled.
#[derive(Debug, Serialize, Deserialize)]
struct Returned {
    status: Status,
    content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    Done,
    Failed,
    /// The caller did not approve it.
    Refused,
    /// An unknown tool, or arguments that don't fit.
    Wrong,
}

impl Returned {
    fn new(status: Status, content: impl Into<String>) -> Self {
        let mut content = content.into();
        if content.len() > MAX_RESULT {
            cut(&mut content, MAX_RESULT - MARKER);
        }
        Self { status, content }
    }
}

/// The calls of tools of a run.
pub(crate) struct Tools<'a> {
    settings: &'a Settings,
    context: &'a RequestContext,
    updates: &'a TaskUpdater,
    events: Events<'a>,
    /// Whether a tool that asks is being called, which ends a cancel itself.
    asking: &'a AtomicBool,
    /// The number of turns with calls.
    steps: u32,
    /// The number of calls.
    called: usize,
    /// The number of turns in a row whose calls were all wrong.
    wrong: u32,
    #[cfg(feature = "agents")]
    delegations: Arc<Delegations>,
}

impl<'a> Tools<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        context: &'a RequestContext,
        updates: &'a TaskUpdater,
        events: Events<'a>,
        asking: &'a AtomicBool,
    ) -> Self {
        Self {
            settings,
            context,
            updates,
            events,
            asking,
            steps: 0,
            called: 0,
            wrong: 0,
            #[cfg(feature = "agents")]
            delegations: Arc::new(Delegations::new(settings.limits.max_depth)),
        }
    }

    /// The number of turns with calls, if they have used up a limit.
    pub(crate) fn stopped_after(&self) -> Option<u32> {
        let limits = &self.settings.limits;
        let is_used_up = self.steps >= limits.max_steps || self.called >= self.max_calls();
        is_used_up.then_some(self.steps)
    }

    /// The number of calls so far.
    pub(crate) fn called(&self) -> usize {
        self.called
    }

    /// Adds the delegated tasks that have ended since the last time.
    #[cfg(feature = "agents")]
    pub(crate) fn add_delegated_to(&self, usage: &mut TaskUsage<'_>) {
        let ended = self.delegations.take_usage();
        ended.iter().for_each(|report| usage.add_delegated(report.as_ref()));
    }

    /// Whether the model has called tools only wrongly for too long.
    pub(crate) fn are_called_wrongly(&self) -> bool {
        self.wrong >= MAX_WRONG
    }

    fn max_calls(&self) -> usize {
        usize::try_from(self.settings.limits.max_tool_calls).unwrap_or(usize::MAX)
    }

    /// Does the calls of a turn: concurrently, or one after the other if one of them may ask, so that
    /// each run asks in the same order. Returns their results in the order of the calls.
    pub(crate) async fn run(
        &mut self,
        turn: u32,
        calls: &[ToolCall],
    ) -> Result<Vec<ToolOutcome>, BoxError> {
        let may_ask = calls.iter().any(|call| {
            let tool = self.settings.tool(&call.name);
            tool.is_some_and(|tool| tool.asks() || self.needs_approval(call, tool))
        });
        let left = self.max_calls().saturating_sub(self.called);
        let mut work = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            work.push(self.call(turn, index, call, index < left));
        }
        let concurrent = if may_ask { 1 } else { MAX_CONCURRENT };
        let returned = stream::iter(work).buffer_unordered(concurrent).try_collect::<Vec<_>>();
        let mut returned: Vec<(usize, Returned)> = returned.await?;
        returned.sort_by_key(|(index, _)| *index);
        self.steps += 1;
        self.called += calls.len().min(left);
        let is_wrong = returned.iter().all(|(_, one)| one.status == Status::Wrong);
        self.wrong = if is_wrong { self.wrong + 1 } else { 0 };
        let outcomes = calls.iter().zip(returned).map(|(call, (_, returned))| ToolOutcome {
            id: call.id.clone(),
            name: call.name.clone(),
            content: returned.content,
            is_error: returned.status != Status::Done,
        });
        Ok(outcomes.collect())
    }

    fn needs_approval(&self, call: &ToolCall, tool: &Arc<dyn Tool>) -> bool {
        self.settings.requires_approval(&call.name, &**tool)
    }

    /// A call, by its position in a turn, and its result, with events for the caller.
    async fn call(
        &self,
        turn: u32,
        index: usize,
        call: &ToolCall,
        is_allowed: bool,
    ) -> Result<(usize, Returned), BoxError> {
        let position = format!("{turn}/{index}");
        let tool = self.settings.tool(&call.name).filter(|_| is_allowed);
        let begin = Instant::now();
        let returned = self.returned(call, &position, tool, is_allowed).await?;
        let status = match returned.status {
            Status::Done => ToolStatus::Done,
            Status::Failed | Status::Wrong => ToolStatus::Failed,
            Status::Refused => ToolStatus::Refused,
        };
        let (result, time) = (Some(&*returned.content), tool.map(|_| begin.elapsed()));
        let event = ToolEvent { result, time, ..ToolEvent::new(call, &position, status) };
        self.events.tool(event).await?;
        Ok((index, returned))
    }

    /// The result of a call: as an earlier run recorded it, or as it comes now.
    async fn returned(
        &self,
        call: &ToolCall,
        position: &str,
        tool: Option<&Arc<dyn Tool>>,
        is_allowed: bool,
    ) -> Result<Returned, BoxError> {
        let mut begins = true;
        if let Some(tool) = tool {
            if self.needs_approval(call, tool) {
                self.events.tool(ToolEvent::new(call, position, ToolStatus::Waiting)).await?;
                if let Some(text) = approval::refusal(self.updates, call).await? {
                    return Ok(Returned::new(Status::Refused, text));
                }
            }
            // What asks inside must not be recorded as a whole: a repetition would not ask.
            if tool.asks() {
                self.asking.store(true, Ordering::Relaxed);
                let returned = self.invoke(tool, call, position).await;
                self.asking.store(false, Ordering::Relaxed);
                return returned;
            }
            if tool.repeat() == Repeat::Never {
                begins = false;
                let begin = async {
                    begins = true;
                    Ok::<_, BoxError>(())
                };
                self.updates.once(&format!("begun/{position}"), begin).await?;
            }
        }
        let work = async {
            Ok::<_, BoxError>(match tool {
                Some(tool) if begins => self.invoke(tool, call, position).await?,
                Some(_) => {
                    Returned::new(Status::Failed, "interrupted; whether it took effect is unknown")
                }
                None if is_allowed => {
                    Returned::new(Status::Wrong, format!("unknown tool {:?}", call.name))
                }
                None => {
                    let text = format!("not called: a task has at most {} calls", self.max_calls());
                    Returned::new(Status::Failed, text)
                }
            })
        };
        self.updates.once(&format!("tool/{position}"), work).await
    }

    async fn invoke(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        position: &str,
    ) -> Result<Returned, BoxError> {
        // Until the other calls of the turn have recalled their results, updates are dropped.
        yield_now().await;
        self.events.tool(ToolEvent::new(call, position, ToolStatus::Running)).await?;
        let asks = tool.asks();
        let (context, id) = (self.context, &call.id);
        let context = ToolContext::new(
            context,
            self.updates,
            id,
            position.to_owned(),
            asks,
            #[cfg(feature = "agents")]
            &self.delegations,
        );
        let work = tool.call(call.arguments.clone(), context);
        let result = if asks {
            work.await
        } else {
            let time = tool.timeout();
            timeout(time, work).await.unwrap_or_else(|_elapsed| {
                Err(AgentError::new(format!("the tool timed out after {time:?}")).into())
            })
        };
        match result {
            Ok(result) => Ok(self.give(result, call, position).await?),
            // The task goes on elsewhere, or not at all.
            Err(error) if asks && error.is::<UpdateError>() => Err(error),
            Err(error) => Ok(self.failed(&error, call)),
        }
    }

    /// Sends the files of a result to the caller; the rest is for the model.
    async fn give(
        &self,
        result: ToolResult,
        call: &ToolCall,
        position: &str,
    ) -> Result<Returned, UpdateError> {
        let mut texts = Vec::new();
        for (index, part) in result.parts.into_iter().enumerate() {
            if part.is_file() {
                texts.push(format!("[file {} was given to the user]", file_label(&part)));
                let name = if part.filename.is_empty() { &call.name } else { &part.filename };
                let artifact = Artifact::new(name.clone(), part);
                let id = format!("file/{position}/{index}");
                self.updates.artifact(artifact.with_id(id)).await?;
            } else if let Some(text) = part.as_text() {
                texts.push(text.to_owned());
            } else if let Some(data) = part.as_data() {
                texts.push(serde_json::Value::from(data.clone()).to_string());
            }
        }
        let text = if texts.is_empty() { "done".to_owned() } else { texts.join("\n\n") };
        Ok(Returned::new(Status::Done, text))
    }

    fn failed(&self, error: &BoxError, call: &ToolCall) -> Returned {
        if let Some(wrong) = error.downcast_ref::<InvalidArguments>() {
            return Returned::new(Status::Wrong, wrong.to_string());
        }
        if let Some(text) = AgentError::message_in(error) {
            return Returned::new(Status::Failed, text);
        }
        let id = fresh_id();
        let task_id = self.context.task_id();
        tracing::warn!(task.id = task_id, error.id = id, tool = call.name, error = ?error, "tool call failed");
        Returned::new(Status::Failed, format!("the tool failed (error {id})"))
    }
}
