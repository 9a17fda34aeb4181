//! The tenant that selects an agent: reading it from a request, and hiding it from the agent.

use std::{fmt, sync::Arc};

use a2a_core::{Operation, Request};
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

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
    ) -> a2a_core::Result<Reply<T>> {
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

/// The tenant of a call over gRPC, from its body or the start of it: `None` if it is not there.
pub(super) fn of_grpc(method: &str, body: &[u8]) -> Option<String> {
    let is_list = method == Operation::ListTaskPushNotificationConfigs.name();
    let field = if is_list { 4 } else { 1 };
    // The flag of an uncompressed message, and the length.
    let ([0, _, _, _, _], mut message) = body.split_first_chunk::<5>()? else { return None };
    let mut tenant = None;
    while let Ok((number, wire_type)) = decode_key(&mut message) {
        if number != field || wire_type != WireType::LengthDelimited {
            if skip_field(wire_type, number, &mut message, DecodeContext::default()).is_err() {
                break;
            }
            continue;
        }
        let length = decode_varint(&mut message).ok().and_then(|length| length.try_into().ok());
        let Some((text, rest)) = length.and_then(|length| message.split_at_checked(length)) else {
            break;
        };
        tenant = std::str::from_utf8(text).ok().map(str::to_owned);
        message = rest;
    }
    tenant
}

/// The tenant of a JSON-RPC request, from its body or the start of it: `None` if it is not there.
pub(super) fn of_jsonrpc(body: &[u8]) -> Option<String> {
    let mut found = None;
    let member = Member { path: &["params", "tenant"], found: &mut found };
    // The start of a body ends in the middle.
    let _incomplete = member.deserialize(&mut serde_json::Deserializer::from_slice(body));
    found
}

/// Finds the text at a path of members.
struct Member<'f> {
    path: &'f [&'f str],
    found: &'f mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            *self.found = Some(String::deserialize(value)?);
            return Ok(());
        }
        value.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match self.path.split_first() {
                Some((wanted, path)) if *wanted == name => {
                    members.next_value_seed(Member { path, found: &mut *self.found })?;
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
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
        assert_eq!(of_grpc("GetTask", &frame(&get)).unwrap(), "echo");
        let send = SendMessageRequest {
            tenant: tenant(),
            message: Some(a2a_core::Message::user("hi")),
            ..SendMessageRequest::default()
        };
        let send = frame(&send);
        assert_eq!(of_grpc("SendMessage", &send).unwrap(), "echo");
        for end in 0..send.len() {
            let found = of_grpc("SendMessage", &send[..end]);
            assert_eq!(found.is_some(), end >= 5 + 2 + "echo".len(), "{end}");
        }
        let list = ListTaskPushNotificationConfigsRequest {
            tenant: tenant(),
            task_id: "t".into(),
            ..ListTaskPushNotificationConfigsRequest::default()
        };
        let found = of_grpc("ListTaskPushNotificationConfigs", &frame(&list));
        assert_eq!(found.unwrap(), "echo");
        for malformed in [&b""[..], b"\0\0\0", b"\x01\0\0\0\0", b"\0\0\0\0\x02\x0a\xff"] {
            assert_eq!(of_grpc("GetTask", malformed), None, "{malformed:?}");
        }
    }

    #[test]
    fn tenants_are_read_from_bodies_over_jsonrpc() {
        for (body, tenant) in [
            (r#"{"jsonrpc":"2.0","params":{"id":"t","tenant":"echo"}}"#, Some("echo")),
            (r#"{"params":{"tenant":"\u0065cho","message":{"parts":[{}]}}}"#, Some("echo")),
            (r#"{"params":{"tenant":"echo","message":{"parts":[{"te"#, Some("echo")),
            (r#"{"params":{"message":{"tenant":"no"},"tenant":"ec"#, None),
            (r#"{"tenant":"no","params":{}}"#, None),
            (r#"{"params":{"tenant":7}}"#, None),
            (r#"{"params":[]}"#, None),
            ("{}", None),
            ("[", None),
        ] {
            assert_eq!(of_jsonrpc(body.as_bytes()).as_deref(), tenant, "{body}");
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
