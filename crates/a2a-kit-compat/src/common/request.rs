//! Parameters of sends, in 0.2, 0.3 and the draft of 1.0.

use a2a_core::{Result, Role, v1::SendMessageRequest};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Format,
    json::{Object, has, object, params_object, read_at, read_params, rename, take_object, write},
    member,
    part::decode,
    parts::Parts as _,
};

/// The parameters next to the message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendParams {
    configuration: Option<Value>,
    metadata: Option<Value>,
    /// The message id in an example of the documents of 0.3.
    message_id: Option<String>,
    /// The webhook on the notifications page of 0.3.
    push_notification: Option<Object>,
}

/// The configuration of a send.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    accepted_output_modes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "member::int32")]
    history_length: Option<i32>,
    #[serde(alias = "pushNotification")]
    push_notification_config: Option<Object>,
    blocking: Option<bool>,
}

impl Format {
    /// Reads the parameters of a send.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid member.
    pub(crate) fn read_send(self, params: Value) -> Result<SendMessageRequest> {
        let mut params = params_object(params)?;
        // The name in the proto of the draft.
        if self == Self::Draft && !has(&params, "message") {
            rename(&mut params, "request", "message");
        }
        let mut message = take_object(&mut params, "message")?;
        let params: SendParams = read_params(&params.into())?;
        if self == Self::V0_3 && !has(&message, "messageId") {
            message.extend(params.message_id.map(|id| ("messageId".to_owned(), id.into())));
        }
        // Validation rejects a missing role in 0.3.
        let role = if self == Self::V0_3 { Role::Unspecified } else { Role::User };
        self.read_message(&mut message, "message.", role)?;
        let mut configuration = match params.configuration {
            Some(configuration) => Some(read_at(&configuration, "configuration.")?),
            None if self == Self::Draft || params.push_notification.is_some() => {
                Some(Configuration::default())
            }
            None => None,
        };
        if let Some(configuration) = &mut configuration {
            let own = &mut configuration.push_notification_config;
            *own = own.take().or(params.push_notification);
        }
        let configuration = configuration.map(|configuration| self.configuration(configuration));
        let request = object([
            ("message", message.into()),
            ("configuration", configuration.transpose()?.into()),
            ("metadata", params.metadata.into()),
        ]);
        let mut request: SendMessageRequest = read_params(&request)?;
        request.each_part(decode);
        Ok(request)
    }

    fn configuration(self, configuration: Configuration) -> Result<Value> {
        let webhook = configuration
            .push_notification_config
            .map(|webhook| self.read_webhook(webhook, "configuration.pushNotificationConfig."));
        // The default is to wait in 0.3, as in 1.0, but not in the draft.
        let waits = configuration.blocking.unwrap_or(self == Self::V0_3);
        Ok(object([
            ("acceptedOutputModes", configuration.accepted_output_modes.into()),
            ("historyLength", configuration.history_length.into()),
            ("taskPushNotificationConfig", write(&webhook.transpose()?)),
            ("returnImmediately", (!waits).into()),
        ]))
    }

    /// Writes the parameters of a send. Servers have different defaults, so a configuration is
    /// always written.
    pub(crate) fn write_send(self, request: SendMessageRequest) -> Value {
        let configuration = request.configuration.unwrap_or_default();
        let modes = Some(configuration.accepted_output_modes);
        // Required until 0.2.5.
        let modes = modes.filter(|modes| self == Self::V0_3 || !modes.is_empty());
        let webhook = configuration.task_push_notification_config;
        let configuration = object([
            ("acceptedOutputModes", modes.into()),
            ("historyLength", configuration.history_length.into()),
            ("pushNotificationConfig", webhook.map(|webhook| self.write_webhook(&webhook)).into()),
            ("blocking", (!configuration.return_immediately).into()),
        ]);
        object([
            ("message", self.write_message(request.message.unwrap_or_default())),
            ("configuration", configuration),
            ("metadata", write(&request.metadata)),
        ])
    }
}
