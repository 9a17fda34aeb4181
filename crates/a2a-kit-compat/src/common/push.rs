//! Webhooks: a list of authentication schemes before 1.0, a single scheme since.

use a2a_core::{Result, v1::TaskPushNotificationConfig};
use serde_json::Value;

use super::{
    Format,
    json::{Object, object_in, read_at, require, take, write_object},
};

/// The schemes that can be used with the credentials of a config.
const PERFORMABLE: [&str; 2] = ["Bearer", "Basic"];

/// The members of a webhook.
const MEMBERS: [&str; 4] = ["id", "url", "token", "authentication"];

/// Selects the scheme to keep: the first supported one, or else the first.
pub(crate) fn scheme(schemes: &[String]) -> Option<&str> {
    let performable = |scheme: &&String| PERFORMABLE.iter().any(|p| p.eq_ignore_ascii_case(scheme));
    schemes.iter().find(performable).or(schemes.first()).map(String::as_str)
}

impl Format {
    /// Reads a webhook of no task. `path` is its path, with a dot.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid member.
    pub(crate) fn read_webhook(
        self,
        mut webhook: Object,
        path: &str,
    ) -> Result<TaskPushNotificationConfig> {
        webhook.retain(|name, _| MEMBERS.contains(&name.as_str()));
        // Requests of the draft are validated as those of 1.0.
        if self != Self::Draft {
            require(&webhook, path, &["url"])?;
        }
        if let Some(authentication) = object_in(&mut webhook, "authentication") {
            let schemes: Vec<String> = match take(authentication, &["schemes", "scheme"]) {
                Some(Value::String(scheme)) => vec![scheme],
                Some(schemes) => read_at(&schemes, &format!("{path}authentication.schemes"))?,
                None => Vec::new(),
            };
            let scheme = scheme(&schemes).map(Value::from);
            let credentials = authentication.get("credentials").and_then(Value::as_str);
            // Clients of 0.3 send neither to mean no authentication; credentials alone are rejected.
            let is_ignored = self != Self::V0_3 || credentials.is_none_or(str::is_empty);
            if scheme.is_none() && is_ignored {
                webhook.remove("authentication");
            } else {
                authentication.insert("scheme".into(), scheme.unwrap_or_default());
            }
        }
        read_at(&webhook.into(), path)
    }

    /// Writes a webhook without its task.
    pub(crate) fn write_webhook(self, config: &TaskPushNotificationConfig) -> Object {
        let mut webhook = write_object(config);
        webhook.retain(|name, _| MEMBERS.contains(&name.as_str()));
        if self == Self::V0_1 {
            // A task has at most one.
            webhook.remove("id");
        }
        if let Some(authentication) = object_in(&mut webhook, "authentication") {
            let scheme = take(authentication, &["scheme"]).filter(|scheme| scheme != "");
            authentication.insert("schemes".into(), scheme.into_iter().collect());
        }
        webhook
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_supported_scheme_is_kept() {
        for (schemes, expected) in [
            (&[][..], None),
            (&["jwt"], Some("jwt")),
            (&["jwt", "Bearer", "Basic"], Some("Bearer")),
            (&["jwt", "bearer"], Some("bearer")),
            (&["Basic", "Bearer"], Some("Basic")),
        ] {
            let schemes: Vec<_> = schemes.iter().map(|&scheme| scheme.to_owned()).collect();
            assert_eq!(scheme(&schemes), expected, "{schemes:?}");
        }
    }
}
