//! The tenant that selects an agent: reading it from a request, and hiding it from the agent.

use std::{borrow::Cow, sync::Arc};

use a2a_core::{Operation, Request, Result};
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};
use prost::Message as _;
use serde::Deserialize;

/// An agent that is selected by a tenant, which it does not see itself: `echo` becomes no tenant,
/// and `echo/acme` becomes `acme`.
pub(super) struct InTenant {
    agent: Arc<dyn Agent>,
    tenant: String,
}

impl InTenant {
    pub(super) fn new(agent: Arc<dyn Agent>, tenant: &str) -> Self {
        Self { agent, tenant: tenant.to_owned() }
    }

    async fn intercept<R: Request, T>(
        &self,
        _: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let inner = below(call.request.tenant(), &self.tenant).map(str::to_owned);
        if let Some(inner) = inner {
            call.request.set_tenant(inner);
        }
        next(&*self.agent, call).await
    }
}

impl Agent for InTenant {
    intercept_agent!(intercept);
}

/// The part of a path or tenant below a prefix: empty if they are equal.
pub(super) fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    match path.strip_prefix(prefix)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// The tenant of a call over gRPC, from its body: empty if there is none, or the body is malformed
/// or compressed.
pub(super) fn of_grpc(method: &str, body: &[u8]) -> String {
    #[derive(prost::Message)]
    struct First {
        #[prost(string, tag = "1")]
        tenant: String,
    }
    #[derive(prost::Message)]
    struct Fourth {
        #[prost(string, tag = "4")]
        tenant: String,
    }
    // A flag and the length.
    let Some(([0, _, _, _, _], message)) = body.split_first_chunk::<5>() else {
        return String::new();
    };
    // The field has the number 1 in all other requests.
    if method == Operation::ListTaskPushNotificationConfigs.name() {
        return Fourth::decode(message).unwrap_or_default().tenant;
    }
    First::decode(message).unwrap_or_default().tenant
}

/// The tenant of a JSON-RPC request, from its body: empty if there is none, or the body is
/// malformed.
pub(super) fn of_jsonrpc(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        tenant: Cow<'a, str>,
    }
    let envelope = serde_json::from_slice::<Envelope<'_>>(body);
    envelope.map(|envelope| envelope.params.tenant.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, SendMessageRequest,
    };
    use bytes::{BufMut as _, BytesMut};

    use super::*;

    fn frame(message: &impl prost::Message) -> BytesMut {
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(u32::try_from(message.encoded_len()).unwrap());
        message.encode(&mut frame).unwrap();
        frame
    }

    #[test]
    fn tenants_are_read_from_bodies_over_grpc() {
        let tenant = || "echo".to_owned();
        let get = GetTaskRequest { tenant: tenant(), id: "t".into(), ..GetTaskRequest::default() };
        assert_eq!(of_grpc("GetTask", &frame(&get)), "echo");
        let send = SendMessageRequest {
            tenant: tenant(),
            message: Some(a2a_core::Message::user("hi")),
            ..SendMessageRequest::default()
        };
        assert_eq!(of_grpc("SendMessage", &frame(&send)), "echo");
        let list = ListTaskPushNotificationConfigsRequest {
            tenant: tenant(),
            task_id: "t".into(),
            ..ListTaskPushNotificationConfigsRequest::default()
        };
        assert_eq!(of_grpc("ListTaskPushNotificationConfigs", &frame(&list)), "echo");
        for malformed in [&b""[..], b"\0\0\0", b"\x01\0\0\0\0", b"\0\0\0\0\x02\x0a\xff"] {
            assert_eq!(of_grpc("GetTask", malformed), "", "{malformed:?}");
        }
    }

    #[test]
    fn tenants_are_read_from_bodies_over_jsonrpc() {
        for (body, tenant) in [
            (r#"{"jsonrpc":"2.0","params":{"id":"t","tenant":"echo"}}"#, "echo"),
            (r#"{"params":{"tenant":"\u0065cho","message":{"parts":[{}]}}}"#, "echo"),
            (r#"{"params":{"tenant":7}}"#, ""),
            (r#"{"params":[]}"#, ""),
            ("{}", ""),
            ("[", ""),
        ] {
            assert_eq!(of_jsonrpc(body.as_bytes()), tenant, "{body}");
        }
    }

    #[test]
    fn prefixes_end_at_a_slash() {
        for (path, inner) in
            [("echo", Some("")), ("echo/acme", Some("acme")), ("echoes", None), ("", None)]
        {
            assert_eq!(below(path, "echo"), inner, "{path}");
        }
    }
}
