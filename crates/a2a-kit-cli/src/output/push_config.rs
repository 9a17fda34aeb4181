//! Push notification configs, without their secrets.

use a2a_core::v1::{ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig};
use a2a_kit_http::redaction::redact_webhook;

use super::text::Text;

/// The text form of a config.
pub(crate) fn push_config(config: &TaskPushNotificationConfig) -> Text {
    let mut text = Text::new();
    write(&mut text, config);
    text
}

/// The text form of a page of configs.
pub(crate) fn push_configs(page: &ListTaskPushNotificationConfigsResponse) -> Text {
    let mut text = Text::new();
    for config in &page.configs {
        write(&mut text, config);
        text.empty_line();
    }
    text.line_if_any("Next page token", &page.next_page_token);
    text
}

/// Redacts the token and the credentials of a config, which agents may send back.
pub(crate) fn without_secrets(
    mut config: TaskPushNotificationConfig,
) -> TaskPushNotificationConfig {
    redact_webhook(&mut config);
    config
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
    use a2a_core::v1::AuthenticationInfo;

    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let config = without_secrets(TaskPushNotificationConfig {
            task_id: "t".into(),
            id: "c".into(),
            url: "https://a.example/hook".into(),
            token: "secret".into(),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".into(),
                credentials: "secret".into(),
            }),
            ..TaskPushNotificationConfig::default()
        });
        assert_eq!(
            push_config(&config).plain(),
            "Task ID: t\nConfig ID: c\nURL: https://a.example/hook\nToken: [redacted]\n\
             Authentication: Bearer [redacted]\n"
        );
    }
}
