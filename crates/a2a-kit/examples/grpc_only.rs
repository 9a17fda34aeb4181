//! cargo run -p a2a-kit --example grpc_only
//!
//! An agent over gRPC only, which needs just the crates `a2a-core` and `a2a-kit-grpc`. Try it with
//! `grpcurl`, which discovers the service by reflection:
//!
//! ```sh
//! grpcurl -plaintext -H 'a2a-version: 1.0' \
//!   -d '{"message": {"message_id": "1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}}' \
//!   localhost:50051 lf.a2a.v1.A2AService/SendMessage
//! ```

use a2a_core::AgentCard;
use a2a_kit_grpc::operations::{Engine, agent_fn};

#[tokio::main]
async fn main() -> Result<(), a2a_kit_grpc::BindError> {
    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
    a2a_kit_grpc::serve(engine, "127.0.0.1:50051").await
}
