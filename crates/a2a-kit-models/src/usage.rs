//! What a run used: tokens and costs of its own calls, and what delegated tasks reported.

use a2a_kit_operations::extension::{Amount, Cost, UsageReport};

use crate::{
    ModelInfo,
    completed::Completed,
    model::{Usage, sum},
    settings::Settings,
};

/// The usage of a run so far. Only what is journaled is added, so a rerun adds up to the same.
pub(crate) struct TaskUsage<'a> {
    settings: &'a Settings,
    report: UsageReport,
    cost: CostSum,
    /// Whether a call has no cost.
    has_unpriced: bool,
    delegated_cost: CostSum,
}

impl<'a> TaskUsage<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            report: UsageReport::default(),
            cost: CostSum::default(),
            has_unpriced: false,
            delegated_cost: CostSum::default(),
        }
    }

    /// Adds a completed call of a model.
    pub(crate) fn add_call(&mut self, completed: &Completed) {
        let report = &mut self.report;
        report.model_calls += 1;
        report.incomplete |= completed.is_incomplete || completed.usage.is_none();
        let Some(usage) = completed.usage else { return };
        match self.settings.prices.cost(&completed.provider, &completed.model, &usage) {
            Some(cost) => self.cost.add(&cost),
            None => self.has_unpriced = true,
        }
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

    /// Sets the number of calls of tools that returned.
    pub(crate) fn set_tool_calls(&mut self, calls: usize) {
        self.report.tool_calls = calls as u64;
    }

    /// Adds a task that was delegated to another agent and has ended, with what its agent reported.
    #[cfg(feature = "agents")]
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
        for cost in report.cost.iter().chain(&theirs.cost) {
            self.delegated_cost.add(cost);
        }
    }

    /// Whether the budgets of the task are used up by what was used, own and delegated, and a call of
    /// a model that reads `next` tokens. A cost in another currency than that of the model's price
    /// does not count.
    pub(crate) fn exceeds_budget(&self, model: &ModelInfo, next: u64) -> bool {
        let (report, delegated) = (&self.report, self.report.delegated.as_ref());
        let delegated = delegated.map_or([0, 0], |one| [one.input_tokens, one.output_tokens]);
        let tokens = [report.input_tokens, report.output_tokens].into_iter().chain(delegated);
        let tokens = tokens.fold(next, u64::saturating_add);
        if self.settings.limits.token_budget.is_some_and(|budget| tokens > budget) {
            return true;
        }
        let Some(budget) = self.settings.cost_budget else { return false };
        let usage = Usage { input: next, ..Usage::default() };
        // What a model without a price would cost is unknown.
        let Some(next) = self.settings.prices.cost(&model.provider, &model.name, &usage) else {
            return true;
        };
        let spent = [&self.cost, &self.delegated_cost]
            .into_iter()
            .filter_map(|sum| sum.cost.as_ref().filter(|cost| cost.currency == next.currency));
        let nanos = spent.map(|cost| cost.amount.nanos());
        nanos.fold(next.amount.nanos(), u64::saturating_add) > budget.nanos()
    }

    /// The report. `has_lost` says whether a call in progress, or one that failed, may have used more.
    pub(crate) fn into_report(self, has_lost: bool) -> UsageReport {
        let Self { mut report, cost, has_unpriced, delegated_cost, .. } = self;
        let is_partial = cost.is_mixed || cost.cost.is_some() && has_unpriced;
        report.incomplete |= has_lost || is_partial || delegated_cost.is_mixed;
        report.cost = cost.total();
        if let Some(delegated) = &mut report.delegated {
            delegated.cost = delegated_cost.total();
        }
        report
    }
}

/// A sum of costs.
#[derive(Default)]
struct CostSum {
    /// The sum of those in the first currency.
    cost: Option<Cost>,
    /// Whether there is another currency.
    is_mixed: bool,
}

impl CostSum {
    fn add(&mut self, cost: &Cost) {
        match &mut self.cost {
            None => self.cost = Some(cost.clone()),
            Some(sum) if sum.currency == cost.currency => {
                let nanos = sum.amount.nanos().saturating_add(cost.amount.nanos());
                sum.amount = Amount::from_nanos(nanos);
            }
            Some(_) => self.is_mixed = true,
        }
    }

    /// The sum; `None` if there are several currencies.
    fn total(self) -> Option<Cost> {
        self.cost.filter(|_| !self.is_mixed)
    }
}
