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
        name: "chunks-are-swapped",
        requirement: "R-212",
        also: &["R-240"],
        fault: Fault::Agent(AgentFault::ChunksAreSwapped),
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
