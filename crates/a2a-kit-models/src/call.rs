//! A call of a model, with its attempts.

use std::sync::Arc;

use a2a_kit_operations::{RequestContext, UpdateError};
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    ChatModel, ModelError, ModelInfo,
    bounds::Bounds,
    completed::Completed,
    conversation::Conversation,
    end::End,
    model::{Answer, ChatRequest, ModelErrorKind, ModelEvent},
    progress::Progress,
    retry::{self, Next},
    settings::Settings,
};

/// Why a call was not completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the budget is used up")]
    Budget,
    #[error(transparent)]
    Update(#[from] UpdateError),
}

/// The calls of a run.
pub(crate) struct Calls<'a> {
    settings: &'a Settings,
    context: &'a RequestContext,
    /// The model that is called, of those of the agent.
    model: usize,
    /// When the call in progress ends at the latest.
    deadline: Instant,
    /// Whether a call is in progress, or has failed, that may have used tokens.
    loses_usage: bool,
    /// The attempts of the newest call.
    attempts: u32,
    /// Whether attempts that failed, or that an earlier run lost, may have used tokens that no
    /// completed call reports.
    is_incomplete: bool,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(settings: &'a Settings, context: &'a RequestContext) -> Self {
        let is_incomplete = context.is_rerun();
        let deadline = Instant::now();
        Self {
            settings,
            context,
            model: 0,
            deadline,
            loses_usage: false,
            attempts: 0,
            is_incomplete,
        }
    }

    /// Goes on with the model that completed a call in an earlier run, if it still is one of the
    /// agent.
    pub(crate) fn resume_with(&mut self, completed: &Completed) {
        let Completed { provider, model, .. } = completed;
        let mut infos = self.settings.models.iter().map(|model| model.info());
        let known = infos.position(|info| info.provider == *provider && info.name == *model);
        self.model = known.unwrap_or(self.model);
    }

    /// The model that is called next.
    pub(crate) fn model(&self) -> &ModelInfo {
        self.settings.models[self.model].info()
    }

    /// Whether the call in progress, or the one that has failed, may have used tokens that no
    /// completed call reports.
    pub(crate) fn has_lost_usage(&self) -> bool {
        self.loses_usage
    }

    /// Calls the model, and if need be the ones after it, until a call is completed, and sends its
    /// text.
    pub(crate) async fn call(
        &mut self,
        conversation: &mut Conversation,
        progress: &mut Progress<'_>,
    ) -> Result<Completed, CallError> {
        self.loses_usage = true;
        self.deadline = Instant::now() + self.settings.limits.call_timeout;
        let completed = self.attempts(conversation, progress).await;
        self.loses_usage = completed.is_err() && self.is_incomplete;
        let completed = completed?;
        self.is_incomplete = false;
        progress.end_call(&completed).await?;
        Ok(completed)
    }

    async fn attempts(
        &mut self,
        conversation: &mut Conversation,
        progress: &mut Progress<'_>,
    ) -> Result<Completed, CallError> {
        self.attempts = 0;
        let limits = &self.settings.limits;
        let caller = self.context.call().caller.subject().unwrap_or_default();
        let (mut retries, mut empty) = (0, None);
        loop {
            let model = Arc::clone(&self.settings.models[self.model]);
            let gate = &self.settings.gates[self.model];
            let queued = Instant::now();
            let slot = self.context.wait_for(gate.enter(caller, limits.concurrency)).await;
            self.deadline += queued.elapsed();
            self.attempts += 1;
            let request = {
                let turns = conversation.turns(&model.info().provider);
                self.settings.request(turns, conversation.offers_tools)
            };
            let attempt = timeout_at(self.deadline, self.attempt(&*model, request, progress)).await;
            drop(slot);
            let attempt = attempt.unwrap_or_else(|_elapsed| {
                self.is_incomplete = true;
                Err(ModelError::new(ModelErrorKind::Timeout).into())
            });
            let error = match attempt {
                Ok(completed) if completed.is_empty() && empty.is_none() => {
                    empty = Some(completed.usage);
                    continue;
                }
                Ok(mut completed) => {
                    if let Some(used) = empty {
                        completed.is_incomplete |= used.is_none();
                        completed.usage = completed.usage.map(|usage| usage.plus(used));
                    }
                    return Ok(completed);
                }
                Err(CallError::Model(error)) => error,
                Err(error) => return Err(error),
            };
            if let Some(wait) = error.retry_after.filter(|wait| *wait <= limits.max_retry_wait) {
                gate.close(wait);
            }
            let next = match error.kind {
                ModelErrorKind::TooLong if conversation.shorten() => {
                    Next::Retry(Default::default())
                }
                _ => retry::next(&error, retries, limits),
            };
            let wait = if let Next::Retry(wait) = next { wait } else { Default::default() };
            if Instant::now() + wait >= self.deadline {
                return Err(error.into());
            }
            match next {
                Next::Retry(wait) => {
                    self.log(&*model, &error, "model call is retried");
                    retries += 1;
                    let seconds = wait.as_secs_f32();
                    let notice = || format!("The model is asked again in {seconds:.1} s: {error}");
                    progress.events().notice(notice).await?;
                    self.context.wait_for(sleep(wait)).await;
                }
                Next::Fallback if self.model + 1 < self.settings.models.len() => {
                    self.log(&*model, &error, "next model is called");
                    let notice = || format!("The next model is asked: {error}");
                    progress.events().notice(notice).await?;
                    self.model += 1;
                    retries = 0;
                }
                Next::Fallback | Next::Fail => return Err(error.into()),
            }
            progress.repeat_call();
        }
    }

    async fn attempt(
        &mut self,
        model: &dyn ChatModel,
        request: ChatRequest,
        progress: &mut Progress<'_>,
    ) -> Result<Completed, CallError> {
        let mut events = model.stream(request);
        let (mut answer, mut usage, mut bounds) = (Vec::new(), None, Bounds::default());
        let mut has_begun = false;
        let error = loop {
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                () = progress.due() => {
                    progress.flush().await?;
                    continue;
                }
            };
            let event = match event {
                Some(Ok(event)) => event,
                Some(Err(error)) => break error,
                None => break ModelError::new(ModelErrorKind::Cut),
            };
            has_begun = true;
            if let Err(error) = bounds.count(&event) {
                break error;
            }
            match event {
                ModelEvent::Text(text) => {
                    progress.text(&text).await?;
                    match answer.last_mut() {
                        Some(Answer::Text(before)) => before.push_str(&text),
                        _ => answer.push(Answer::Text(text)),
                    }
                }
                ModelEvent::ToolCall(call) => answer.push(Answer::ToolCall(call)),
                ModelEvent::Opaque(value) => answer.push(Answer::Opaque(value)),
                ModelEvent::Usage(used) => usage = Some(used),
                ModelEvent::Thinking(text) => progress.thinking(&text).await?,
                ModelEvent::Started { .. } => {}
                ModelEvent::Finished(stop) => {
                    let info = model.info();
                    return Ok(Completed {
                        answer,
                        stop,
                        usage,
                        is_incomplete: self.is_incomplete,
                        provider: info.provider.clone(),
                        model: info.name.clone(),
                        attempts: self.attempts,
                    });
                }
            }
        };
        self.is_incomplete |= has_begun || error.kind == ModelErrorKind::Timeout;
        Err(error.into())
    }

    /// Logs a failed attempt, without the message of the provider, which may quote the user.
    fn log(&self, model: &dyn ChatModel, error: &ModelError, event: &str) {
        let info = model.info();
        tracing::info!(
            task.id = self.context.task_id(),
            provider = info.provider,
            model = info.name,
            error = %error,
            status = error.status,
            code = error.code,
            request.id = error.request_id,
            attempt = self.attempts,
            "{event}"
        );
    }

    /// The end after a call whose last attempt has failed.
    pub(crate) fn failed(&self, error: &ModelError) -> End {
        let (end, id) = End::of_error(error, self.attempts);
        let info = self.settings.models[self.model].info();
        tracing::warn!(
            task.id = self.context.task_id(),
            error.id = id,
            provider = info.provider,
            model = info.name,
            error = %error,
            source = error.source.as_deref().map(tracing::field::debug),
            status = error.status,
            code = error.code,
            request.id = error.request_id,
            attempts = self.attempts,
            "model call failed"
        );
        end
    }
}
