//! The run of a task: calls of a model until it has answered.

use std::sync::atomic::AtomicBool;

use a2a_core::{
    Message,
    v1::{TaskStatus, TaskStatusUpdateEvent},
};
use a2a_kit_operations::{BoxError, RequestContext, TaskUpdater, extension::UsageExtension};

use crate::{
    call::{CallError, Calls},
    completed::Completed,
    conversation::Conversation,
    end::End,
    model::ToolCall,
    progress::Progress,
    settings::Settings,
    tools::Tools,
    usage::TaskUsage,
};

/// Why a task ends whose next call would exceed a budget.
const BUDGET: &str = "The budget of this task is used up";

/// The run of a task.
pub(crate) struct Run<'a> {
    settings: &'a Settings,
    context: &'a RequestContext,
    updates: &'a TaskUpdater,
    calls: Calls<'a>,
    tools: Tools<'a>,
    progress: Progress<'a>,
    usage: TaskUsage<'a>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        context: &'a RequestContext,
        updates: &'a TaskUpdater,
        asking: &'a AtomicBool,
    ) -> Self {
        let progress = Progress::new(settings, context, updates);
        Self {
            settings,
            context,
            updates,
            calls: Calls::new(settings, context),
            tools: Tools::new(settings, context, updates, progress.events(), asking),
            progress,
            usage: TaskUsage::new(settings),
        }
    }

    /// Calls the model until it has answered.
    ///
    /// # Cancel safety
    ///
    /// Dropping it aborts the request. [`end`](Self::end) sends what has arrived.
    pub(crate) async fn work(&mut self) -> Result<End, BoxError> {
        self.updates.start().await?;
        let message = self.context.message().parts.clone();
        let memory = self.settings.memory;
        if !memory.has_room_for(&message) {
            return Ok(End::rejected("The message is too long for this agent"));
        }
        let earlier = memory.recall(self.context, self.updates).await?;
        let mut conversation = Conversation::new(earlier, message);
        for number in 0_u32.. {
            let completed = match self.completed(number, &mut conversation).await {
                Ok(completed) => completed,
                Err(error) => match *error.downcast::<CallError>()? {
                    CallError::Model(error) => return Ok(self.calls.failed(&error)),
                    CallError::Budget => return Ok(End::failed(BUDGET)),
                    CallError::Update(error) => return Err(error.into()),
                },
            };
            self.usage.add_call(&completed);
            let calls: Vec<ToolCall> = completed.tool_calls().cloned().collect();
            if calls.is_empty() || !conversation.offers_tools {
                let has_text = !completed.text().is_empty();
                let max_tokens = self.settings.limits.max_output_tokens;
                let usage = completed.usage.as_ref();
                let end = End::of_stop(&completed.stop, has_text, max_tokens, usage);
                return Ok(match self.tools.stopped_after() {
                    Some(steps) if !conversation.offers_tools => end.after_stopped_tools(steps),
                    _ => end,
                });
            }
            if self.usage.exceeds_budget(self.calls.model(), 0) {
                return Ok(End::failed(BUDGET));
            }
            let results = self.tools.run(number, &calls).await?;
            self.usage.set_tool_calls(self.tools.called());
            #[cfg(feature = "agents")]
            self.tools.add_delegated_to(&mut self.usage);
            if self.context.is_cancelled() {
                return Ok(End::canceled());
            }
            if self.tools.are_called_wrongly() {
                break;
            }
            conversation.offers_tools = self.tools.stopped_after().is_none();
            conversation.add(completed.provider, completed.answer, results);
        }
        Ok(End::failed("The model kept calling tools wrongly"))
    }

    /// The call with a number: as an earlier run completed it, or made now.
    async fn completed(
        &mut self,
        number: u32,
        conversation: &mut Conversation,
    ) -> Result<Completed, BoxError> {
        let updates = self.updates;
        let mut is_recalled = true;
        let call = async {
            is_recalled = false;
            if self.usage.exceeds_budget(self.calls.model(), conversation.tokens()) {
                return Err(CallError::Budget);
            }
            self.calls.call(conversation, &mut self.progress).await
        };
        let completed = updates.once(&format!("model/{number}"), call).await?;
        if is_recalled {
            self.progress.recall(&completed);
            self.calls.resume_with(&completed);
        }
        Ok(completed)
    }

    /// Ends the task, with what has arrived of the answer.
    pub(crate) async fn end(mut self, end: End) -> Result<(), BoxError> {
        self.progress.finish().await?;
        let message = end.text.map(Message::agent);
        let status = TaskStatus { state: end.state.into(), message, timestamp: None };
        let mut update = TaskStatusUpdateEvent { status: Some(status), ..Default::default() };
        if self.settings.usage.applies_to(self.context.call(), UsageExtension::URI) {
            let report = self.usage.into_report(self.calls.has_lost_usage());
            UsageExtension::write(&mut update.metadata, &report);
        }
        Ok(self.updates.status_update(update).await?)
    }
}
