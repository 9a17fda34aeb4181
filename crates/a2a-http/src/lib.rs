//! What the HTTP bindings of A2A share: server loop, event streams, card endpoint, webhooks.
