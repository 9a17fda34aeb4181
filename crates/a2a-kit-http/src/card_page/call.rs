//! How to call an agent, from the command line and with SDKs.

use a2a_core::{AgentCard, card};

use super::html::{self, fill, is_web};

/// A message over JSON-RPC.
const CURL: &str = r#"<pre>curl '{{url}}' -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d '{
  "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
  "params": {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
}'</pre>
"#;

/// The commands and programs that call the agent at `url`; nothing for an address that is no URL of
/// the web.
pub(super) fn section(card: &AgentCard, url: &str) -> String {
    if !is_web(url) {
        return String::new();
    }
    let values = [("url", url)];
    let mut calls = fill("<pre>a2a send 'Hello' -a '{{url}}'</pre>\n", &values);
    let mut current = card.supported_interfaces.iter().filter(|one| one.protocol_version == "1.0");
    if current.clone().next().is_some() {
        let is_jsonrpc =
            |binding: &str, tenant: &str| binding == card::JSONRPC && tenant.is_empty();
        let jsonrpc = current.find(|one| is_jsonrpc(&one.protocol_binding, &one.tenant));
        if let Some(interface) = jsonrpc.filter(|one| is_web(&one.url)) {
            calls.push_str(&fill(CURL, &[("url", &interface.url)]));
        }
        calls.push_str(&fill(include_str!("sdks.html"), &values));
    }
    html::section("Call it", "{{&items}}", &calls)
}
