//! `a2a listen`: a webhook that prints the events it receives.

use std::{future::Future, num::NonZeroU64, pin::pin, time::Duration};

use a2a_core::v1::{StreamResponse, stream_response::Payload};
use a2a_kit::webhook::receiver;
use a2a_kit_auth::{jose::JWKS_PATH, webhook::Receiver};
use a2a_kit_http::{HttpServer, shutdown_signal, site_guard::SiteGuard, uri};
use clap::Args;
use tokio::sync::{mpsc, oneshot};

use super::card::{Keys, keys};
use crate::{
    failure::Failure,
    listen::{Deliveries, limits},
    output::{self, EventText, Output, Text},
    serve,
    settings::Settings,
};

/// Time to print the remaining events after a signal.
const PRINT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = 9000)]
    port: u16,
    /// Path of the webhook
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    path: String,
    /// Token that deliveries must have in the header X-A2A-Notification-Token; prefer A2ACLI_TOKEN.
    /// With --bearer, they must have that token in the header Authorization
    #[arg(long, value_name = "TOKEN", env = "A2ACLI_TOKEN", hide_env = true)]
    token: Option<String>,
    /// Agent that must have signed deliveries: the origin of its URL, such as https://agent.example
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Keys of the issuer: a file, or the URL of a key set [default: /.well-known/jwks.json of the
    /// issuer]
    #[arg(long, value_name = "FILE|URL", requires = "issuer")]
    jwks: Option<String>,
    /// Number of events after which to end [default: unlimited]
    #[arg(long, value_name = "N")]
    count: Option<NonZeroU64>,
    /// URL of the webhook for agents, if it differs from the address
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

impl Listen {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let signal = shutdown_signal();
        let (listener, address) = serve::bind(&self.host, self.port).await?;
        let local = format!("http://{address}{}", self.path);
        let url = match &self.public_url {
            Some(url) => {
                uri::parse(url)
                    .map_err(|error| Failure::usage(format!("--public-url {url}: {error}")))?;
                url.clone()
            }
            None => local.clone(),
        };
        let receiver = self.receiver(&url, settings)?;
        self.announce(&local, &url, settings)?;

        let guard = self.is_open(settings).then(|| {
            let of_url = uri::parse(&url).ok().and_then(|url| Some(url.host()?.to_owned()));
            SiteGuard::new(address).with_hosts(of_url.into_iter().chain([self.host.clone()]))
        });
        let path = self.path.clone();
        let (deliveries, events) =
            Deliveries::new(path, receiver, guard, self.count, settings.output);
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            tokio::select! {
                () = signal => {}
                _dropped = stopped => {}
            }
        };
        let serving = HttpServer::new(deliveries.into_router())
            .with_limits(limits())
            .serve(listener, shutdown);
        print_while(serving, print(events, self.count, stop, settings.output)).await
    }

    /// Whether deliveries are not authenticated.
    fn is_open(&self, settings: &Settings) -> bool {
        self.token.is_none() && settings.bearer.is_none() && self.issuer.is_none()
    }

    /// What verifies deliveries to a URL.
    fn receiver(&self, url: &str, settings: &Settings) -> Result<Receiver, Failure> {
        let mut receiver = receiver(url);
        if let Some(token) = &self.token {
            receiver = receiver.with_token(token);
        }
        if let Some(bearer) = &settings.bearer {
            receiver = receiver.with_credentials("Bearer", bearer);
        }
        let Some(issuer) = &self.issuer else { return Ok(receiver) };
        let issuer = issuer.trim_end_matches('/');
        let place = self.jwks.clone().unwrap_or_else(|| format!("{issuer}{JWKS_PATH}"));
        Ok(match keys(&place, settings)? {
            Keys::File(keys) => receiver.with_keys(issuer, keys),
            Keys::Url(keys) => receiver.with_keys(issuer, keys),
        })
    }

    /// Prints the address, and how to register the webhook.
    fn announce(&self, local: &str, url: &str, settings: &Settings) -> Result<(), Failure> {
        let mut command = format!("a2a task push-config create <task> {}", output::quoted(url));
        if self.token.is_some() {
            command.push_str(" --token <token>");
        }
        if settings.bearer.is_some() {
            command.push_str(" --auth-scheme Bearer --auth-credentials <token>");
        }
        if self.is_open(settings) {
            settings.output.warning("deliveries are not authenticated: use --token");
        }
        if settings.output.is_json() {
            settings.output.note(&format!("listening on {local}"));
            settings.output.note(&format!("register with: {command}"));
            return Ok(());
        }
        settings.output.text(|text| {
            text.line("Listening", local);
            text.line("Register with", &command);
        })
    }
}

/// Prints the events. After `count` of them, or if stdout is closed, it drops `stop`.
async fn print(
    mut events: mpsc::Receiver<StreamResponse>,
    count: Option<NonZeroU64>,
    stop: oneshot::Sender<()>,
    output: Output,
) -> Result<(), Failure> {
    let mut stop = Some(stop);
    let mut printer = Printer::new(output);
    let mut printed: u64 = 0;
    while let Some(event) = events.recv().await {
        // A slow reader of stdout must not block the server.
        let printing = tokio::task::spawn_blocking(move || {
            let result = printer.print(&event);
            (printer, result)
        });
        let result;
        (printer, result) = printing.await.map_err(|error| Failure::internal(error.to_string()))?;
        result?;
        printed = printed.saturating_add(1);
        if count.is_some_and(|count| printed >= count.get()) {
            stop.take();
        }
    }
    Ok(())
}

/// Runs the server and the output. After the server has ended, the output has [`PRINT_TIMEOUT`].
async fn print_while(
    serving: impl Future<Output = ()>,
    printing: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let mut printing = pin!(printing);
    let mut serving = pin!(serving);
    tokio::select! {
        biased;
        result = &mut printing => {
            serving.await;
            result
        }
        () = &mut serving => {
            tokio::time::timeout(PRINT_TIMEOUT, printing).await.unwrap_or(Ok(()))
        }
    }
}

/// Reads the path of a URL.
fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && !text.contains(['?', '#']);
    match text.parse::<http::uri::PathAndQuery>() {
        Ok(path) if is_path => Ok(path.path().to_owned()),
        _ => Err("expected a path such as /hook".to_owned()),
    }
}

/// Prints events as they arrive, with the ids of the task when it is another one than before.
#[derive(Debug)]
struct Printer {
    output: Output,
    task_id: Option<String>,
    events: EventText,
}

impl Printer {
    fn new(output: Output) -> Self {
        Self { output, task_id: None, events: EventText::new(output.verbose) }
    }

    /// Prints an event.
    fn print(&mut self, event: &StreamResponse) -> Result<(), Failure> {
        if self.output.is_json() {
            return self.output.json_line(event);
        }
        let output = self.output;
        output.text(|text| self.write(text, event))
    }

    fn write(&mut self, text: &mut Text, event: &StreamResponse) {
        let task_id = event.task_id().map(str::to_owned);
        if task_id != self.task_id {
            self.events = EventText::new(self.output.verbose);
            // A task and a message show their ids themselves.
            let context_id = match &event.payload {
                Some(Payload::StatusUpdate(update)) => Some(&update.context_id),
                Some(Payload::ArtifactUpdate(update)) => Some(&update.context_id),
                Some(Payload::Task(_) | Payload::Message(_)) | None => None,
            };
            if let (Some(task_id), Some(context_id)) = (&task_id, context_id) {
                text.line("Task ID", task_id);
                text.line("Context ID", context_id);
            }
            self.task_id = task_id;
        }
        text.append(self.events.event(event));
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        TaskState,
        v1::{TaskStatus, TaskStatusUpdateEvent},
    };

    use super::*;
    use crate::settings::value::Format;

    #[test]
    fn ids_are_shown_when_the_task_changes() {
        let event = |task: &str, state| StreamResponse {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task.into(),
                context_id: "c".into(),
                status: Some(TaskStatus::now(state, None)),
                ..TaskStatusUpdateEvent::default()
            })),
        };
        let mut printer = Printer::new(Output::plain(Format::Text));
        let shown: String = [
            event("a", TaskState::Working),
            event("a", TaskState::Completed),
            event("b", TaskState::Working),
        ]
        .iter()
        .map(|event| Text::of(|text| printer.write(text, event)).plain())
        .collect();
        assert_eq!(
            shown,
            "Task ID: a\nContext ID: c\nState: WORKING\nState: COMPLETED\n\
             Task ID: b\nContext ID: c\nState: WORKING\n"
        );
    }
}
