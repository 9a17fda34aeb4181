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

pub use answer::{read_answer, read_answer_with, without_content};
pub use call::place_call;
pub use connector::Connector;
pub use dialer::Connected;
pub use events::{open_stream, read_events, read_events_with};
pub use http_client::HttpClient;
pub use observer::{HttpExchange, WireObserver, WirePart};
pub use reconnect::with_reconnection_time;
pub use settings::ClientSettings;
pub use stream::ByteStream;
pub use transport::TransportError;

pub use crate::{
    read_budget::{HeldBytes, ReadBudget},
    response_error::{ResponseError, with_url},
};
