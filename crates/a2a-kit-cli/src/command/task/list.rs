//! `a2a task list`.

use a2a_core::{
    TaskState,
    v1::{ListTasksRequest, ListTasksResponse},
    well_known::Timestamp,
};
use clap::Args;

use crate::{
    agent::{RemoteAgent, Retries},
    failure::Failure,
    output,
    settings::{Settings, value},
};

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only tasks in this state
    #[arg(long, value_name = "STATE", value_parser = value::state)]
    status: Option<TaskState>,
    /// Maximum number of tasks per page, 1 to 100
    #[arg(long, value_name = "N", alias = "limit",
          value_parser = clap::value_parser!(u8).range(1..=100))]
    page_size: Option<u8>,
    /// Token of the page to show
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    /// Show all pages
    #[arg(long)]
    all: bool,
    /// Show at most this many messages of the history of each task
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Only tasks whose status changed at or after this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Include the artifacts of each task
    #[arg(long)]
    include_artifacts: bool,
}

impl List {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let mut request = self.request(settings)?;
        let agent = RemoteAgent::connect(settings, Retries::of_read(settings)).await?;
        let mut list: Option<ListTasksResponse> = None;
        loop {
            let page = agent.client.list_page(request.clone()).await;
            let page = page.map_err(|error| agent.failure(&error))?;
            request.page_token.clone_from(&page.next_page_token);
            let merged = match list.take() {
                None => page,
                Some(mut merged) => {
                    merged.tasks.extend(page.tasks);
                    merged.next_page_token = page.next_page_token;
                    merged.page_size = merged.page_size.saturating_add(page.page_size);
                    merged
                }
            };
            let done = !self.all || request.page_token.is_empty();
            let list = list.insert(merged);
            if done {
                return self.print(list, settings, &agent);
            }
        }
    }

    fn request(&self, settings: &Settings) -> Result<ListTasksRequest, Failure> {
        let since = self.since.as_deref().map(str::parse::<Timestamp>).transpose();
        let since = since.map_err(|error| {
            Failure::usage(format!("--since: {error}"))
                .with_hint("for example 2026-01-31T12:00:00Z")
        })?;
        Ok(ListTasksRequest {
            context_id: settings.context_id.clone().unwrap_or_default(),
            status: self.status.unwrap_or_default().into(),
            page_size: self.page_size.map(Into::into),
            page_token: self.page_token.clone().unwrap_or_default(),
            history_length: self.history.map(Into::into),
            status_timestamp_after: since,
            include_artifacts: self.include_artifacts.then_some(true),
            ..ListTasksRequest::default()
        })
    }

    fn print(
        &self,
        list: &ListTasksResponse,
        settings: &Settings,
        agent: &RemoteAgent,
    ) -> Result<(), Failure> {
        if settings.stream && settings.output.is_json() {
            return list.tasks.iter().try_for_each(|task| settings.output.json(task));
        }
        settings.output.result(list, |text| {
            output::task_list(text, list, agent.detail(self.history.is_some()));
        })
    }
}
