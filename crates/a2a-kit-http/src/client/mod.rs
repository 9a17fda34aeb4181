//! The HTTP client of the HTTP bindings and of card discovery.

mod answer;
mod call;
mod connector;
mod dialer;
mod events;
mod http_client;
mod observer;
pub(crate) mod pool;
mod reconnect;
mod settings;
mod stream;
mod transport;

pub use crate::response_error::ResponseError;
pub use http_client::HttpClient;
pub use settings::ClientSettings;

/// For the bindings, the gateway and diagnostics.
#[doc(hidden)]
pub use self::{
    answer::{read_answer, read_answer_with, without_content},
    call::{agent_url, place_call},
    connector::Connector,
    dialer::Connected,
    events::{open_stream, read_events, read_events_with},
    observer::{HttpExchange, WireObserver, WirePart},
    reconnect::with_reconnection_time,
    stream::ByteStream,
    transport::TransportError,
};
#[doc(hidden)]
pub use crate::{
    read_budget::{HeldBytes, ReadBudget},
    response_error::with_url,
};
