//! The JSON-RPC binding of A2A: server router and client.
