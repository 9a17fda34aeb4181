//! `a2a task push-config`: the webhooks of a task.

use a2a_core::v1::{
    AuthenticationInfo, ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig,
};
use a2a_kit_http::redaction::redact_webhook;
use clap::{Args, Subcommand};
use serde_json::json;

use super::single;
use crate::{
    agent::RemoteAgent,
    failure::Failure,
    output::Text,
    settings::{Settings, UserSecret},
};

#[derive(Debug, Subcommand)]
pub(crate) enum PushConfigCommand {
    /// Register a webhook for the updates of a task
    Create(Create),
    /// Show a webhook of a task
    Get(Named),
    /// List the webhooks of a task
    List(List),
    /// Remove a webhook of a task
    Delete(Named),
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Task ID
    task: String,
    /// URL of the webhook
    url: String,
    /// ID of the webhook [default: assigned by the agent]
    #[arg(long, value_name = "ID")]
    config_id: Option<String>,
    /// Token that the agent sends in the header X-A2A-Notification-Token; prefer A2ACLI_TOKEN
    #[arg(long, value_name = "TOKEN", env = "A2ACLI_TOKEN", hide_env = true)]
    token: Option<String>,
    /// Scheme of the Authorization header that the agent sends, such as Bearer
    #[arg(long, value_name = "SCHEME")]
    auth_scheme: Option<String>,
    /// Credentials of the Authorization header that the agent sends; prefer
    /// A2ACLI_AUTH_CREDENTIALS
    #[arg(
        long,
        value_name = "CREDENTIALS",
        requires = "auth_scheme",
        env = "A2ACLI_AUTH_CREDENTIALS",
        hide_env = true
    )]
    auth_credentials: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Task ID
    task: String,
    /// ID of the webhook
    #[arg(value_name = "CONFIG")]
    config_id: String,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Task ID
    task: Option<String>,
    /// Maximum number of webhooks per page, 1 to 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    page_size: Option<u8>,
    /// Token of the page to show
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
}

impl PushConfigCommand {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let task = match self {
            Self::Create(create) => Some(&create.task),
            Self::Get(named) | Self::Delete(named) => Some(&named.task),
            Self::List(list) => list.task.as_ref(),
        };
        if let Self::Create(create) = self {
            let secrets = [create.token.as_deref(), create.auth_credentials.as_deref()];
            settings.redaction.add_webhook(Some(&create.url), secrets);
            if create.has_secret() {
                settings.check_secret(UserSecret::Flag("auth-credentials"))?;
            }
        }
        let (task, agent) = single::connect(task, settings).await?;
        match self {
            Self::Create(create) => create.run(task, &agent).await,
            Self::Get(named) => named.get(task, &agent).await,
            Self::List(list) => list.run(task, &agent).await,
            Self::Delete(named) => named.delete(task, &agent).await,
        }
    }
}

impl Create {
    fn has_secret(&self) -> bool {
        self.token.is_some() || self.auth_credentials.is_some()
    }

    async fn run(&self, task: String, agent: &RemoteAgent) -> Result<(), Failure> {
        let authentication = self.auth_scheme.as_ref().map(|scheme| AuthenticationInfo {
            scheme: scheme.clone(),
            credentials: self.auth_credentials.clone().unwrap_or_default(),
        });
        let config = TaskPushNotificationConfig {
            task_id: task,
            id: self.config_id.clone().unwrap_or_default(),
            url: self.url.clone(),
            token: self.token.clone().unwrap_or_default(),
            authentication,
            ..TaskPushNotificationConfig::default()
        };
        let created = agent.client.create_push_config(config).await;
        print(created.map_err(|error| agent.failure(&error))?, agent)
    }
}

impl Named {
    async fn get(&self, task: String, agent: &RemoteAgent) -> Result<(), Failure> {
        let config = agent.client.push_config(task, &self.config_id).await;
        print(config.map_err(|error| agent.failure(&error))?, agent)
    }

    async fn delete(&self, task: String, agent: &RemoteAgent) -> Result<(), Failure> {
        let deleted = agent.client.delete_push_config(&task, &self.config_id).await;
        deleted.map_err(|error| agent.failure(&error))?;
        agent.output.result(&json!({}), |text| {
            text.line("Task ID", &task);
            text.line("Config ID", &self.config_id);
        })
    }
}

impl List {
    async fn run(&self, task: String, agent: &RemoteAgent) -> Result<(), Failure> {
        let client = &agent.client;
        let request = ListTaskPushNotificationConfigsRequest {
            task_id: task,
            page_size: self.page_size.map(Into::into).unwrap_or_default(),
            page_token: self.page_token.clone().unwrap_or_default(),
            ..ListTaskPushNotificationConfigsRequest::default()
        };
        let page = client.agent().list_task_push_notification_configs(client.call(request)).await;
        let mut page = page.map_err(|error| agent.failure(&error))?.response;
        page.configs.iter_mut().for_each(redact_webhook);
        agent.output.result(&page, |text| {
            for config in &page.configs {
                write(text, config);
                text.empty_line();
            }
            text.line_if_any("Next page token", &page.next_page_token);
        })
    }
}

/// Prints a config without the token and the credentials, which agents may send back.
fn print(mut config: TaskPushNotificationConfig, agent: &RemoteAgent) -> Result<(), Failure> {
    redact_webhook(&mut config);
    agent.output.result(&config, |text| write(text, &config))
}

fn write(text: &mut Text, config: &TaskPushNotificationConfig) {
    text.line("Task ID", &config.task_id);
    text.line("Config ID", &config.id);
    text.line("URL", &config.url);
    text.line_if_any("Token", &config.token);
    if let Some(authentication) = &config.authentication {
        let shown = format!("{} {}", authentication.scheme, authentication.credentials);
        text.line("Authentication", shown.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let mut config = TaskPushNotificationConfig {
            task_id: "t".into(),
            id: "c".into(),
            url: "https://a.example/hook".into(),
            token: "secret".into(),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".into(),
                credentials: "secret".into(),
            }),
            ..TaskPushNotificationConfig::default()
        };
        redact_webhook(&mut config);
        assert_eq!(
            Text::of(|text| write(text, &config)).plain(),
            "Task ID: t\nConfig ID: c\nURL: https://a.example/hook\nToken: [redacted]\n\
             Authentication: Bearer [redacted]\n"
        );
    }
}
