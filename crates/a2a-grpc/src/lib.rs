//! The gRPC binding of A2A: service and client.
