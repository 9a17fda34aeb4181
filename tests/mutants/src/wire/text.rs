//! Event streams as the texts of their events.

use axum::body::{Body, BodyDataStream};
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use serde_json::Value;

/// Size of an unfinished event beyond which a stream ends, in bytes.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// The texts of the events of a stream, each with the blank line at its end. An error cuts the
/// connection.
pub type Texts = BoxStream<'static, Result<String, axum::Error>>;

/// Splits a body at blank lines.
pub(super) fn split(body: Body) -> Texts {
    let state = (body.into_data_stream(), Vec::new());
    stream::unfold(state, |(mut body, mut buffer)| async move {
        let text = next(&mut body, &mut buffer).await?;
        Some((text, (body, buffer)))
    })
    .boxed()
}

async fn next(
    body: &mut BodyDataStream,
    buffer: &mut Vec<u8>,
) -> Option<Result<String, axum::Error>> {
    loop {
        if let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let rest = buffer.split_off(end + 2);
            let text = std::mem::replace(buffer, rest);
            return Some(String::from_utf8(text).map_err(axum::Error::new));
        }
        if buffer.len() > MAX_EVENT_BYTES {
            return Some(Err(axum::Error::new("an event is too long")));
        }
        match body.next().await {
            Some(Ok(bytes)) => buffer.extend_from_slice(&bytes),
            Some(Err(error)) => return Some(Err(error)),
            None if buffer.is_empty() => return None,
            None => {
                return Some(String::from_utf8(std::mem::take(buffer)).map_err(axum::Error::new));
            }
        }
    }
}

/// Joins texts to a body.
pub(super) fn join(texts: Texts) -> Body {
    Body::from_stream(texts)
}

/// Changes the JSON document in the data of an event.
pub(super) fn with_data(text: &str, change: impl Fn(&mut Value)) -> String {
    let mut changed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let document = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok());
        match document {
            Some(mut document) => {
                change(&mut document);
                changed.push_str(&format!("data: {document}\n"));
            }
            None => changed.push_str(line),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_are_split_at_blank_lines() {
        let chunks = ["id: 1\nda", "ta: {}\n", "\n: ping\n\ndata: end"];
        let body = Body::from_stream(stream::iter(chunks.map(Ok::<_, axum::Error>)));
        let texts: Vec<_> = split(body).map(Result::unwrap).collect().await;
        assert_eq!(texts, ["id: 1\ndata: {}\n\n", ": ping\n\n", "data: end"]);
    }

    #[test]
    fn only_the_data_of_an_event_is_changed() {
        let changed = with_data("id: 1\ndata: {\"a\":1}\n\n", |document| document["a"] = 2.into());
        assert_eq!(changed, "id: 1\ndata: {\"a\":2}\n\n");
    }
}
