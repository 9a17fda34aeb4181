//! The HTTP+JSON binding of A2A: server router and client.
