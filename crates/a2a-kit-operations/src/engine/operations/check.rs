//! Validation of requests.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, ExtensionSet, Result, Validate,
    v1::{AgentCard, Part, SendMessageRequest, TaskPushNotificationConfig, part::Content},
};

use super::bounds::{self, Bounded};
use crate::{CallContext, engine::Inner};

impl Inner {
    /// Checks common to all operations; returns the activated extensions.
    pub(crate) fn check(
        self: &Arc<Self>,
        context: &CallContext,
        request: &(impl Validate + Bounded),
    ) -> Result<ExtensionSet> {
        self.start();
        request.validate()?;
        bounds::check(context, request)?;
        let missing: Vec<_> = self
            .agent
            .card
            .extensions()
            .iter()
            .filter(|extension| extension.required && !context.extensions.contains(&extension.uri))
            .map(|extension| extension.uri.as_str())
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(",");
            return Err(Error::new(
                ErrorKind::ExtensionSupportRequired,
                format!("this agent requires the extension {missing}; list it in A2A-Extensions"),
            )
            .with_metadata("extensions", missing));
        }
        Ok(self.activated(context))
    }

    /// The requested extensions that the card offers.
    fn activated(&self, context: &CallContext) -> ExtensionSet {
        if context.extensions.is_empty() {
            return ExtensionSet::new();
        }
        let offered = self.agent.card.extensions().iter().map(|extension| extension.uri.as_str());
        offered.filter(|uri| context.extensions.contains(uri)).collect()
    }

    pub(crate) fn check_streaming(&self) -> Result<()> {
        if self.agent.card.can_stream() {
            Ok(())
        } else {
            Err(Error::unsupported("this agent does not support streaming"))
        }
    }

    pub(crate) fn check_push(&self) -> Result<()> {
        if self.agent.card.can_push() && self.push.sender.is_some() {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::PushNotificationNotSupported,
                "this agent does not support push notifications",
            ))
        }
    }

    /// Checks a message beyond the rules of the proto.
    pub(crate) fn check_send(&self, request: &SendMessageRequest) -> Result<()> {
        if let Some(configuration) = &request.configuration {
            history_length("configuration.historyLength", configuration.history_length)?;
            if let Some(config) = &configuration.task_push_notification_config {
                self.check_push()?;
                if !config.task_id.is_empty() {
                    return Err(Error::invalid_params(
                        "configuration.taskPushNotificationConfig.taskId",
                        "must be empty; the task is taken from the message",
                    ));
                }
            }
        }
        let Some(message) = &request.message else { return Ok(()) };
        if message.parts.len() > self.config.max_parts {
            return Err(Error::invalid_params(
                "message.parts",
                format!("has more than {} parts", self.config.max_parts),
            ));
        }
        for (index, part) in message.parts.iter().enumerate() {
            if let Some(media_type) = media_type(part)
                && !takes(&self.agent.card, media_type)
            {
                return Err(Error::new(
                    ErrorKind::ContentTypeNotSupported,
                    format!("this agent does not accept {media_type} (message.parts[{index}])"),
                )
                .with_metadata("mediaType", media_type)
                .with_metadata(
                    "supportedMediaTypes",
                    self.agent.card.default_input_modes.join(","),
                ));
            }
        }
        Ok(())
    }

    /// Checks a webhook; `prefix` is the path of the config in its request.
    pub(crate) async fn check_webhook(
        &self,
        config: &TaskPushNotificationConfig,
        prefix: &str,
    ) -> Result<()> {
        self.check_push()?;
        let Some(push) = &self.push.sender else { return Ok(()) };
        push.check(config).await.map_err(|error| {
            if prefix.is_empty() || error.violations().is_empty() {
                return error;
            }
            let below = error.violations().iter().map(|violation| {
                let field = format!("{prefix}{}", violation.field);
                a2a_core::Violation::new(field, violation.description.clone())
            });
            Error::from_violations(below.collect())
        })
    }
}

/// Parses `historyLength`: no limit, or a number of messages.
pub(crate) fn history_length(field: &str, length: Option<i32>) -> Result<Option<usize>> {
    // No source: nothing is logged, so there is no error id for the peer.
    let negative = || Error::invalid_params(field, "must not be negative");
    length.map(|length| usize::try_from(length).ok().ok_or_else(negative)).transpose()
}

/// The media type of a part: explicit, or implied by its kind.
fn media_type(part: &Part) -> Option<&str> {
    if !part.media_type.is_empty() {
        return Some(&part.media_type);
    }
    match part.content {
        Some(Content::Text(_)) => Some("text/plain"),
        Some(Content::Data(_)) => Some("application/json"),
        // Bytes and URLs without a media type may be anything; the executor decides.
        Some(Content::Raw(_) | Content::Url(_)) | None => None,
    }
}

/// Returns whether the card, or one of its skills, accepts a media type. A card that lists none
/// accepts all.
fn takes(card: &AgentCard, media_type: &str) -> bool {
    let matches = |pattern: &String| {
        if pattern == media_type {
            return true;
        }
        let (pattern, media_type) = (essence(pattern), essence(media_type));
        match pattern.strip_suffix("/*") {
            Some("*") => true,
            Some(kind) => {
                media_type.split('/').next().is_some_and(|known| known.eq_ignore_ascii_case(kind))
            }
            None => pattern.eq_ignore_ascii_case(media_type),
        }
    };
    card.default_input_modes.is_empty()
        || card.default_input_modes.iter().any(matches)
        || card.skills.iter().flat_map(|skill| &skill.input_modes).any(matches)
}

/// A media type without its parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_modes_may_be_wildcards() {
        let card = AgentCard::new("a", "b").with_input_modes(["text/plain", "image/*"]);
        for taken in ["text/plain", "Text/Plain; charset=utf-8", "image/png"] {
            assert!(takes(&card, taken), "{taken}");
        }
        for refused in ["text/html", "application/json", "imagepng", ""] {
            assert!(!takes(&card, refused), "{refused:?}");
        }
        assert!(takes(&card.with_input_modes(["*/*"]), "application/json"));
    }
}
