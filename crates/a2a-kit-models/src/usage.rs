//! What a run used: tokens of its own calls, and what delegated tasks reported.

use a2a_core::well_known::Struct;
use a2a_kit_operations::extension::{UsageExtension, UsageReport};

use crate::{call::Completed, model::sum};

/// The usage of a run so far. Only what is journaled is added, so a rerun adds up to the same.
#[derive(Debug, Default)]
pub(crate) struct TaskUsage {
    report: UsageReport,
}

impl TaskUsage {
    /// Adds a completed call of a model.
    pub(crate) fn add_call(&mut self, completed: &Completed) {
        let report = &mut self.report;
        report.model_calls += 1;
        report.incomplete |= completed.is_incomplete || completed.usage.is_none();
        let Some(usage) = completed.usage else { return };
        report.input_tokens = report.input_tokens.saturating_add(usage.input);
        report.output_tokens = report.output_tokens.saturating_add(usage.output);
        let parts = [
            (&mut report.cached_input_tokens, usage.cached_input),
            (&mut report.cache_write_tokens, usage.cache_write),
            (&mut report.reasoning_tokens, usage.reasoning),
        ];
        for (total, more) in parts {
            *total = sum(*total, more);
        }
    }

    /// Adds a call of a tool that returned.
    #[expect(dead_code, reason = "tools call it")]
    pub(crate) fn add_tool_call(&mut self) {
        self.report.tool_calls += 1;
    }

    /// Adds a task that was delegated to another agent and has ended, with what its agent reported.
    #[expect(dead_code, reason = "tools call it")]
    pub(crate) fn add_delegated(&mut self, report: Option<&UsageReport>) {
        let total = self.report.delegated.get_or_insert_default();
        total.tasks += 1;
        let Some(report) = report else {
            total.unreported += 1;
            return;
        };
        let theirs = report.delegated.clone().unwrap_or_default();
        for (total, more) in [
            (&mut total.input_tokens, [report.input_tokens, theirs.input_tokens]),
            (&mut total.output_tokens, [report.output_tokens, theirs.output_tokens]),
        ] {
            *total = more.into_iter().fold(*total, u64::saturating_add);
        }
    }

    /// Writes the report into the metadata of the last status. `has_lost` says whether a call in
    /// progress, or one that failed, may have used more.
    pub(crate) fn write(mut self, has_lost: bool, metadata: &mut Option<Struct>) {
        self.report.incomplete |= has_lost;
        UsageExtension::write(metadata, &self.report);
    }
}
