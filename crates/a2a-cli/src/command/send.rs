//! `a2a send`: one message, and what comes of it.

use a2a_core::{
    Message, Role, Validate,
    v1::{
        AuthenticationInfo, SendMessageRequest, SendMessageResponse, TaskPushNotificationConfig,
        send_message_response::Payload,
    },
    well_known::Struct,
};
use clap::Args;

use super::part::{self, PartFlag};
use crate::{
    failure::{Code, Failure},
    follow::{Follower, Outcome, Progress, within_limits},
    output::{self, Output},
    settings::{Settings, Waiting, value},
    target::Target,
};

const MAX_INLINE: usize = 10 << 20;

#[derive(Args, Debug)]
pub(crate) struct Send {
    /// Text of the message
    message: Option<String>,
    /// Text part; `-` reads standard input. Part flags repeat and keep their order
    #[arg(long, value_name = "TEXT", alias = "text-part", allow_hyphen_values = true)]
    text: Vec<String>,
    /// File part: a path goes inline, a URL as a reference, `-` is standard input
    #[arg(long, value_name = "PATH|URL", alias = "file-part")]
    file: Vec<String>,
    /// JSON part: a file, JSON text, or `-` for standard input
    #[arg(long, value_name = "PATH|JSON", alias = "data-part")]
    data: Vec<String>,
    /// Media type of the part directly before it; guessed where not given
    #[arg(long, value_name = "TYPE")]
    media_type: Vec<String>,
    /// Most bytes of one inline part
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    max_inline: Option<usize>,
    /// Whole SendMessageRequest as JSON, from a file or `-`
    #[arg(long, value_name = "PATH", conflicts_with_all = ["message", "text", "file", "data", "media_type"])]
    request_payload: Option<String>,
    /// Most messages of history in the answer
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Media type that the answer may have; repeatable
    #[arg(long, value_name = "TYPE")]
    accept: Vec<String>,
    /// Id of the message; give it again when you retry
    #[arg(long, value_name = "ID")]
    message_id: Option<String>,
    /// Task that the message refers to; repeatable
    #[arg(long, value_name = "ID")]
    reference_task: Vec<String>,
    /// JSON object for the metadata of the message
    #[arg(long, value_name = "JSON", value_parser = value::json_object)]
    message_metadata: Option<Struct>,
    /// Webhook for this task
    #[arg(long, value_name = "URL")]
    push_url: Option<String>,
    /// Token that the webhook gets with each call
    #[arg(long, value_name = "TOKEN", requires = "push_url")]
    push_token: Option<String>,
    /// How the webhook is authenticated, as scheme:credentials
    #[arg(long, value_name = "SCHEME:CREDENTIALS", requires = "push_url")]
    push_auth: Option<String>,
    /// Keep waiting while the agent waits for an authorization
    #[arg(long)]
    auth_wait: bool,
}

impl Send {
    pub(super) async fn run(
        self,
        parts: Vec<PartFlag>,
        settings: &Settings,
        output: Output,
    ) -> Result<(), Failure> {
        let request = self.request(parts, settings)?;
        let message_id =
            request.message.as_ref().map(|message| message.message_id.clone()).unwrap_or_default();
        let target = Target::connect(settings, output).await?;
        if request
            .configuration
            .as_ref()
            .is_some_and(|configuration| configuration.task_push_notification_config.is_some())
        {
            target.require_push()?;
        }
        if output.verbose() && !output.is_json() {
            let sent = request.message.as_ref().map(|message| output::message(message, true));
            if let Some(sent) = sent {
                output.text(&sent)?;
            }
        }
        let progress = Progress::default();
        let mut follower = Follower::new(&target, settings, output, &progress)
            .keep_waiting_for_auth(self.auth_wait);
        let outcome =
            within_limits(settings, &progress, deliver(&mut follower, &target, request, settings))
                .await
                .map_err(|failure| unreachable(failure, &progress, &message_id))?;
        if settings.stream {
            return follower.end_of_stream(&outcome);
        }
        let response = match &outcome {
            Outcome::Task(task) => {
                follower.warn_of(task);
                SendMessageResponse { payload: Some(Payload::Task((**task).clone())) }
            }
            Outcome::Message(message) => {
                SendMessageResponse { payload: Some(Payload::Message(message.clone())) }
            }
        };
        output.result(&response, || match &outcome {
            Outcome::Task(task) => output::task(task, follower.detail(self.history.is_some())),
            Outcome::Message(message) => output::message(message, output.verbose()),
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
                    return Err(Failure::usage("there is nothing to send")
                        .with_hint("give a text, or --text, --file or --data; see --help"));
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
        request
            .validate()
            .map_err(|error| Failure::usage(format!("the request breaks rules: {error}")))?;
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
                    Failure::usage("--push-auth is scheme:credentials, for example Bearer:secret")
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

/// Tells how to go on where the agent was lost: with its task, or by sending again.
fn unreachable(failure: Failure, progress: &Progress, message_id: &str) -> Failure {
    if failure.code() != Code::Unreachable {
        return failure;
    }
    if progress.is_known() {
        return progress.explain(failure);
    }
    failure.with_hint(format!(
        "the agent may have got the message: retry with --message-id {}",
        output::quoted(message_id)
    ))
}

/// Sends the message in the way that the settings and the agent allow, and follows the task.
async fn deliver(
    follower: &mut Follower<'_>,
    target: &Target,
    mut request: SendMessageRequest,
    settings: &Settings,
) -> Result<Outcome, Failure> {
    let wait = settings.waiting != Waiting::No || settings.stream;
    if wait && target.may_stream() {
        match target.agent().send_streaming_message(target.call(request.clone())).await {
            Ok(stream) => return follower.follow(stream.response).await,
            // Refused before anything was done: a card was not there to tell beforehand.
            Err(error)
                if target.card().is_none()
                    && error.kind() == a2a_core::ErrorKind::UnsupportedOperation => {}
            Err(error) => return Err(target.failure(&error)),
        }
    }
    if settings.stream {
        follower.output().note("the agent does not stream: polling instead");
    }
    request.configuration.get_or_insert_default().return_immediately = true;
    let answer = target.unary(target.agent().send_message(target.call(request))).await?;
    match answer.payload {
        Some(Payload::Message(message)) => follower.message(message),
        Some(Payload::Task(task)) if wait => follower.poll_from(task).await,
        Some(Payload::Task(task)) => {
            follower.noticed(&task.id, &task.context_id, task.state());
            Ok(Outcome::Task(Box::new(task)))
        }
        None => Err(Failure::protocol(
            a2a_core::ErrorKind::InvalidAgentResponse,
            "the agent answered with neither a task nor a message",
        )),
    }
}
