//! Webhooks whose receivers can tell who calls (spec §4.3.3, §13.2).
//!
//! The agent signs each delivery as a JSON Web Token, with a [`Signer`] that is given to its
//! webhook sender, and publishes the keys. The owner of the webhook checks what arrives with a
//! [`Receiver`]:
//!
//! ```
//! use std::sync::Arc;
//!
//! use a2a_auth::{jose::RemoteKeys, webhook::{ReceiveError, Receiver}};
//! use axum::{Router, body::Bytes, extract::State, routing::post};
//! use http::{HeaderMap, StatusCode};
//!
//! async fn hook(
//!     State(receiver): State<Arc<Receiver>>,
//!     headers: HeaderMap,
//!     body: Bytes,
//! ) -> Result<StatusCode, ReceiveError> {
//!     let event = receiver.receive(&headers, &body).await?;
//!     // An event can come more than once: what is done with it has to bear that.
//!     println!("{event:?}");
//!     Ok(StatusCode::NO_CONTENT)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keys = RemoteKeys::at("https://agent.example/.well-known/jwks.json")?;
//! let receiver = Receiver::new("https://me.example/hook")
//!     .with_keys("https://agent.example", keys)
//!     .with_token("what I gave the agent with the address of the webhook");
//! let router: Router = Router::new().route("/hook", post(hook)).with_state(Arc::new(receiver));
//! # Ok(())
//! # }
//! ```

mod claims;
mod error;
mod receiver;
mod replay;
mod signer;

pub use crate::jose::JWKS_PATH;
pub use error::ReceiveError;
pub use receiver::Receiver;
pub use signer::Signer;
