//! Faults of streams.

use futures_util::StreamExt as _;
use http::{HeaderValue, header, response};

use crate::{AgentFault, Exchange, Fault, Interface, Mutant, Texts};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "stream-without-task",
        requirement: "R-037",
        also: &[],
        fault: Fault::Agent(AgentFault::StreamWithoutTask),
    },
    Mutant {
        name: "stream-stays-open",
        requirement: "R-039",
        also: &[],
        fault: Fault::Agent(AgentFault::StreamStaysOpen),
    },
    Mutant {
        name: "stream-is-cut",
        requirement: "R-039",
        also: &["R-212"],
        fault: Fault::Events(&[Interface::JSONRPC, Interface::REST], cut),
    },
    Mutant {
        name: "chunks-are-swapped",
        requirement: "R-212",
        also: &["R-240"],
        fault: Fault::Agent(AgentFault::ChunksAreSwapped),
    },
    Mutant {
        name: "chunks-are-repeated",
        requirement: "R-212",
        also: &["R-240"],
        fault: Fault::Agent(AgentFault::ChunksAreRepeated),
    },
    Mutant {
        name: "events-without-blank-lines",
        requirement: "R-277",
        also: &["R-035", "R-064"],
        fault: Fault::Events(&[Interface::JSONRPC], without_blank_lines),
    },
    Mutant {
        name: "stream-as-json",
        requirement: "R-035",
        also: &["R-292", "R-300", "R-301"],
        fault: Fault::Head(&[Interface::REST], stream_as_json),
    },
];

/// Ends a stream after its third event, as if that were the last.
fn cut(exchange: &Exchange, texts: Texts) -> Texts {
    let is_send = exchange.operation == "SendStreamingMessage"
        || exchange.operation == "POST /message:stream";
    if is_send { texts.take(3).boxed() } else { texts }
}

fn without_blank_lines(_exchange: &Exchange, texts: Texts) -> Texts {
    texts.map(|text| text.map(|text| format!("{}\n", text.trim_end()))).boxed()
}

fn stream_as_json(exchange: &Exchange, head: &mut response::Parts) {
    if exchange.operation == "POST /message:stream"
        && let Some(media_type) = head.headers.get_mut(header::CONTENT_TYPE)
        && media_type.as_bytes().starts_with(b"text/event-stream")
    {
        *media_type = HeaderValue::from_static("application/json");
    }
}
