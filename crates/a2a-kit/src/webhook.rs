//! A receiver of webhooks in all revisions.

use a2a_kit_auth::webhook::Receiver;
use a2a_kit_compat::webhook::read;

/// Returns a receiver of webhooks of 1.0, 0.3 and 0.2 at the URL that was registered with the agent.
pub fn receiver(url: impl Into<String>) -> Receiver {
    Receiver::new(url).with_body_reader(read)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    #[tokio::test]
    async fn bodies_of_0_3_and_1_0_are_received() {
        let receiver = receiver("https://me.example/hook").with_token("secret");
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-a2a-notification-token"),
            HeaderValue::from_static("secret"),
        )]);
        for body in [
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#,
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        ] {
            let event = receiver.receive(&headers, body.as_bytes()).await.unwrap();
            assert_eq!(event.task().map(|task| &*task.id), Some("t"), "{body}");
            assert!(receiver.receive(&HeaderMap::new(), body.as_bytes()).await.is_err(), "{body}");
        }
    }
}
