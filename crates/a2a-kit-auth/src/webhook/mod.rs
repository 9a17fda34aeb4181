//! Signed webhook deliveries (spec §4.3.3, §13.2).
//!
//! The agent signs each delivery with a JSON Web Token, by a [`WebhookSigner`] in its webhook sender,
//! and publishes the keys. The owner of the webhook verifies deliveries with a [`Receiver`]:
//!
//! ```
//! use std::sync::Arc;
//!
//! use a2a_kit_auth::{jose::RemoteKeys, webhook::{ReceiveError, Receiver}};
//! use axum::{Router, body::Bytes, extract::State, routing::post};
//! use http::{HeaderMap, StatusCode};
//!
//! async fn hook(
//!     State(receiver): State<Arc<Receiver>>,
//!     headers: HeaderMap,
//!     body: Bytes,
//! ) -> Result<StatusCode, ReceiveError> {
//!     let event = receiver.receive(&headers, &body).await?;
//!     // Events may be delivered more than once: process them idempotently.
//!     println!("{:?}: {}", event.state(), event.text());
//!     Ok(StatusCode::NO_CONTENT)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keys = RemoteKeys::at("https://agent.example/.well-known/jwks.json")?;
//! let receiver = Receiver::new("https://me.example/hook")
//!     .with_keys("https://agent.example", keys)
//!     .with_token("the token of the push notification config");
//! let router: Router = Router::new().route("/hook", post(hook)).with_state(Arc::new(receiver));
//! # Ok(())
//! # }
//! ```

mod claims;
mod error;
mod receiver;
mod replay_cache;
mod signer;

pub use crate::jose::JWKS_PATH;
pub use error::ReceiveError;
pub use receiver::Receiver;
pub use signer::WebhookSigner;
