//! Nodes that hear of each other through NATS JetStream.
