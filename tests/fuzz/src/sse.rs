//! Event streams in arbitrary chunks.

use a2a_kit_http::sse::{Decoder, ServerSentEvent};

/// The buffer limit of the decoder, in bytes.
const LIMIT: usize = 4 << 10;

/// The first byte is the length of the chunks.
pub(crate) fn decode(input: &[u8]) {
    let [size, stream @ ..] = input else { return };
    let whole = events(stream.chunks(stream.len().max(1)));
    let pieces = events(stream.chunks(usize::from(*size).max(1)));
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "pieces change nothing"),
        // The two may differ only in when a limit is exceeded.
        (Err(()), _) | (_, Err(())) => assert!(stream.len() > LIMIT / 2, "within the limit"),
    }
}

fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<ServerSentEvent>, ()> {
    let mut decoder = Decoder::with_limit(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece).map_err(|_refused| ())?;
        while let Some(event) = decoder.pop() {
            events.push(event);
        }
    }
    decoder.finish();
    while let Some(event) = decoder.pop() {
        events.push(event);
    }
    Ok(events)
}
