//! `a2a send`: sends a message and waits for the result.

use std::path::PathBuf;

use a2a_core::{
    Error, ErrorKind, Message, Role, Task, Validate,
    v1::{AuthenticationInfo, SendMessageRequest, SendMessageResponse, TaskPushNotificationConfig},
    well_known::Struct,
};
use a2a_kit_artifacts::{Download, Downloaded};
use a2a_kit_client::{MessageRequest, SendOutcome};
use clap::{Args, ValueHint};

use super::part::{self, MAX_INLINE, PartFlag};
use crate::{
    agent::{RemoteAgent, Retries},
    artifacts,
    failure::{Code, Failure},
    output,
    settings::{Settings, UserSecret, Waiting, value},
    watch::{Progress, Watcher, wait_options, warn_of_state},
};

#[derive(Args, Debug)]
pub(crate) struct Send {
    /// Text of the message
    message: Option<String>,
    /// Text part, or `-` for standard input. Part flags are repeatable and keep their order
    #[arg(long, value_name = "TEXT", alias = "text-part", allow_hyphen_values = true)]
    text: Vec<String>,
    /// File part: the content of a path, a reference to a URL, or `-` for standard input
    #[arg(long, value_name = "PATH|URL", alias = "file-part")]
    file: Vec<String>,
    /// Data part: a JSON file, JSON text, or `-` for standard input
    #[arg(long, value_name = "PATH|JSON", alias = "data-part")]
    data: Vec<String>,
    /// Media type of the preceding part [default: detected]
    #[arg(long, value_name = "TYPE")]
    media_type: Vec<String>,
    /// Maximum size of an inline part [default: 10 MiB]
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    max_inline: Option<usize>,
    /// File with a complete SendMessageRequest as JSON, or `-` for standard input
    #[arg(long, value_name = "PATH", conflicts_with_all = ["message", "text", "file", "data", "media_type"])]
    request_payload: Option<String>,
    /// Maximum number of history messages in the response
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Accepted media type of the output; repeatable
    #[arg(long, value_name = "TYPE")]
    accept: Vec<String>,
    /// Message ID; use the same one for a retry [default: random]
    #[arg(long, value_name = "ID")]
    message_id: Option<String>,
    /// ID of a task that the message refers to; repeatable
    #[arg(long, value_name = "ID")]
    reference_task: Vec<String>,
    /// Metadata of the message, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = value::json_object)]
    message_metadata: Option<Struct>,
    /// Webhook URL for updates of the task
    #[arg(long, value_name = "URL")]
    push_url: Option<String>,
    /// Token sent to the webhook
    #[arg(long, value_name = "TOKEN", requires = "push_url")]
    push_token: Option<String>,
    /// Authentication at the webhook
    #[arg(long, value_name = "SCHEME:CREDENTIALS", requires = "push_url")]
    push_auth: Option<String>,
    /// Directory to save the artifacts in, as `a2a task download` does
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    save_artifacts: Option<PathBuf>,
    /// Keep waiting at AUTH_REQUIRED
    #[arg(long)]
    auth_wait: bool,
}

impl Send {
    pub(super) async fn run(
        self,
        parts: Vec<PartFlag>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let credentials = self.push_auth.as_deref().and_then(|auth| Some(auth.split_once(':')?.1));
        let secrets = [self.push_token.as_deref(), credentials];
        settings.redaction.add_webhook(self.push_url.as_deref(), secrets);
        if self.push_token.is_some() || self.push_auth.is_some() {
            settings.check_secret(UserSecret::Flag("push-auth"))?;
        }
        if self.message.as_deref() == Some("-") {
            settings.output.note("the message is \"-\": --text - reads standard input");
        }
        let request = self.request(parts, settings)?;
        let message_id =
            request.message.as_ref().map(|message| message.message_id.clone()).unwrap_or_default();
        // Before the message is sent, as a directory that can't be created would be noticed too late.
        let download = self.save_artifacts.as_deref().map(Download::into).transpose()?;
        let agent = RemoteAgent::connect(settings, Retries::of_command()).await?;
        if settings.output.verbose && !settings.output.is_json() {
            let sent = request.message.iter();
            settings.output.text(|text| sent.for_each(|one| output::message(text, one, true)))?;
        }
        let progress = Progress::new(&agent);
        // What is printed as it arrives need not be kept.
        let keeps_artifacts = !settings.stream || download.is_some();
        let options = wait_options(settings, self.auth_wait).with_artifacts(keeps_artifacts);
        let mut watcher = Watcher::new(&progress, &options).with_events(settings.stream);
        let outcome = async {
            if settings.waiting == Waiting::No && !settings.stream {
                return send_async(&agent, request, settings, &progress).await;
            }
            let client = &agent.client;
            let streams = client.card().can_stream();
            if settings.stream && !streams {
                settings.output.note("the agent does not stream: polling instead");
            }
            let watch = watcher.during(client.send_and_watch(request, options.clone())).await;
            watcher.run(watch.map_err(|error| agent.failure(&error))?).await
        };
        let outcome = progress
            .limit(settings, outcome)
            .await
            .map_err(|failure| explain_lost(failure, &progress, &message_id, settings))?;
        let report = match (download, outcome.task()) {
            (Some(download), Some(task)) => save(&download, task, &agent).await?,
            _ => Downloaded::default(),
        };
        if settings.output.is_json() {
            artifacts::note_saved(&report, settings.output);
            artifacts::note_skipped(&report, settings.output);
        }
        if settings.stream {
            watcher.end(&outcome)?;
            return if settings.output.is_json() {
                Ok(())
            } else {
                settings.output.text(|text| artifacts::write(text, &report))
            };
        }
        if let Some(task) = outcome.task() {
            warn_of_state(task, settings.output);
        }
        settings.output.result(&SendMessageResponse::from(outcome.clone()), |text| {
            watcher.write(text, &outcome, self.history.is_some());
            artifacts::write(text, &report);
        })
    }

    fn request(
        &self,
        parts: Vec<PartFlag>,
        settings: &Settings,
    ) -> Result<SendMessageRequest, Failure> {
        let max_inline = self.max_inline.unwrap_or(MAX_INLINE);
        let mut request = match &self.request_payload {
            Some(place) => a2a_core::json::from_slice(&part::document(place)?)
                .map_err(|error| Failure::usage(format!("--request-payload {place}: {error}")))?,
            None => {
                let parts = part::parts(parts, max_inline)?;
                if parts.is_empty() {
                    return Err(Failure::usage("the message has no parts")
                        .with_hint("add a text, --text, --file or --data; see --help"));
                }
                let message = Message::new(Role::User, parts);
                SendMessageRequest { message: Some(message), ..SendMessageRequest::default() }
            }
        };
        let message = request.message.get_or_insert_default();
        if message.message_id.is_empty() {
            message.message_id = a2a_core::fresh_id();
        }
        if let Some(id) = &self.message_id {
            message.message_id.clone_from(id);
        }
        if let Some(id) = &settings.task_id {
            message.task_id.clone_from(id);
        }
        if let Some(id) = &settings.context_id {
            message.context_id.clone_from(id);
        }
        message.reference_task_ids.extend(self.reference_task.iter().cloned());
        if self.message_metadata.is_some() {
            message.metadata.clone_from(&self.message_metadata);
        }
        if settings.metadata.is_some() {
            request.metadata.clone_from(&settings.metadata);
        }
        self.configure(&mut request)?;
        request.validate().map_err(|error| Failure::usage(format!("invalid request: {error}")))?;
        Ok(request)
    }

    fn configure(&self, request: &mut SendMessageRequest) -> Result<(), Failure> {
        let webhook = self.webhook()?;
        if self.history.is_none() && self.accept.is_empty() && webhook.is_none() {
            return Ok(());
        }
        let configuration = request.configuration.get_or_insert_default();
        if let Some(history) = self.history {
            configuration.history_length = Some(history.into());
        }
        configuration.accepted_output_modes.extend(self.accept.iter().cloned());
        if webhook.is_some() {
            configuration.task_push_notification_config = webhook;
        }
        Ok(())
    }

    fn webhook(&self) -> Result<Option<TaskPushNotificationConfig>, Failure> {
        let Some(url) = &self.push_url else { return Ok(None) };
        let authentication = match &self.push_auth {
            None => None,
            Some(pair) => {
                let (scheme, credentials) = pair.split_once(':').ok_or_else(|| {
                    Failure::usage(
                        "--push-auth: expected scheme:credentials, such as Bearer:secret",
                    )
                })?;
                Some(AuthenticationInfo {
                    scheme: scheme.to_owned(),
                    credentials: credentials.to_owned(),
                })
            }
        };
        Ok(Some(TaskPushNotificationConfig {
            url: url.clone(),
            token: self.push_token.clone().unwrap_or_default(),
            authentication,
            ..TaskPushNotificationConfig::default()
        }))
    }
}

/// Sends the message without waiting for its task, within `--request-timeout`.
async fn send_async(
    agent: &RemoteAgent,
    request: SendMessageRequest,
    settings: &Settings,
    progress: &Progress<'_>,
) -> Result<SendOutcome, Failure> {
    let request = MessageRequest::from(request).returning_immediately();
    let sending = tokio::time::timeout(settings.request_timeout, agent.client.send(request));
    let outcome = sending.await.unwrap_or_else(|elapsed| {
        let message = format!("SendMessage timed out after {:?}", settings.request_timeout);
        Err(Error::new(ErrorKind::DeadlineExceeded, message).with_source(elapsed))
    });
    let outcome = outcome.map_err(|error| agent.failure(&error))?;
    if let Some(task) = outcome.task() {
        progress.record(task);
    }
    Ok(outcome)
}

/// Saves the artifacts of the task; a failure explains how to do that later.
async fn save(
    download: &Download,
    task: &Task,
    agent: &RemoteAgent,
) -> Result<Downloaded, Failure> {
    download.save(task, &[]).await.map_err(|error| {
        let command = format!(
            "the message was sent: save its artifacts with `a2a task download {} {} --out <dir>`",
            output::quoted(&task.id),
            agent.flags
        );
        Failure::from(error).with_hint(command)
    })
}

/// Explains how to continue after the agent became unreachable or did not respond: with its task, or
/// by a retry, if it may have received the message.
fn explain_lost(
    failure: Failure,
    progress: &Progress<'_>,
    message_id: &str,
    settings: &Settings,
) -> Failure {
    if !matches!(failure.code, Code::Unreachable | Code::Timeout) {
        return failure;
    }
    if progress.is_known() {
        return progress.explain(failure);
    }
    // Connecting takes no longer than a request may.
    let is_connecting = failure.code == Code::Timeout
        && settings.timeout.is_some_and(|timeout| timeout < settings.request_timeout);
    if failure.is_unsent || is_connecting {
        return failure;
    }
    failure.with_hint(format!(
        "the agent may have received the message: retry with --message-id {}",
        output::quoted(message_id)
    ))
}
