//! Reads envelopes up to their `params`, which are then parsed only once.

use super::Envelope;

impl<'a> Envelope<'a> {
    /// Reads the envelope as nearly all clients write it: members without escapes, and `params` as the
    /// last, which is not read and may be malformed. `None` for any other, which [`read`](Self::read)
    /// reads.
    pub(super) fn skim(body: &'a [u8]) -> Option<Self> {
        let mut envelope = Self::default();
        let mut rest = after(str::from_utf8(body).ok()?, b'{')?;
        loop {
            let (name, value) = string(rest)?;
            let value = after(value, b':')?;
            if name == "\"params\"" {
                let params = without_end_spaces(value).strip_suffix('}')?;
                envelope.params = Some(without_end_spaces(params));
                let others = [envelope.jsonrpc, envelope.id, envelope.method];
                let is_whole = params.starts_with('{') && others.iter().all(Option::is_some);
                return is_whole.then_some(envelope);
            }
            let member = match name {
                "\"jsonrpc\"" => &mut envelope.jsonrpc,
                "\"id\"" => &mut envelope.id,
                "\"method\"" => &mut envelope.method,
                _ => return None,
            };
            let (value, next) = string(value).or_else(|| integer(value))?;
            if member.replace(value).is_some() {
                return None;
            }
            rest = after(next, b',')?;
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn without_spaces(text: &str) -> &str {
    &text[text.bytes().take_while(|byte| is_space(*byte)).count()..]
}

fn without_end_spaces(text: &str) -> &str {
    &text[..text.len() - text.bytes().rev().take_while(|byte| is_space(*byte)).count()]
}

/// Returns what follows a mark and the spaces around it.
fn after(text: &str, mark: u8) -> Option<&str> {
    let text = without_spaces(text);
    (text.as_bytes().first() == Some(&mark)).then(|| without_spaces(&text[1..]))
}

/// Splits a string without escapes from what follows.
fn string(text: &str) -> Option<(&str, &str)> {
    let Some((b'"', inner)) = text.as_bytes().split_first() else { return None };
    let end = inner.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))? + 1;
    (text.as_bytes()[end] == b'"').then(|| text.split_at(end + 1))
}

/// Splits a positive integer from what follows.
fn integer(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit())?;
    let is_whole = text[end..].starts_with([',', ' ']) && text.starts_with(|first| first != '0');
    (end > 0 && is_whole).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(envelope: Envelope<'_>) -> [Option<String>; 4] {
        let Envelope { jsonrpc, id, method, params } = envelope;
        [jsonrpc, id, method, params].map(|member| member.map(str::to_owned))
    }

    #[test]
    fn skimmed_envelope_is_that_of_the_whole_body() {
        for body in [
            r#"{"jsonrpc":"2.0","id":12,"method":"GetTask","params":{"id":"t"}}"#,
            r#" { "method" : "é", "id" : "a 1" , "jsonrpc":"2.0","params": {"x":[{}]} } "#,
            r#"{"jsonrpc":2,"id":"","method":7,"params":{}}"#,
        ] {
            let skimmed = Envelope::skim(body.as_bytes()).map(members);
            assert_eq!(skimmed, Envelope::read(body.as_bytes()).ok().map(members), "{body}");
        }
    }

    #[test]
    fn unusual_envelope_is_not_skimmed() {
        let ids = ["-1", "0", "01", "1.5", "1e3", "null", "{}", "\"\\n\"", "\"\n\"", "1\u{c}"];
        let with_id =
            |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{}}}}"#);
        let others = [
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[{}]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"Get\u0054ask","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"GetTask","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"other":1,"method":"GetTask","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"GetTask","params":{},"id":1}"#,
            r#"{"jsonrpc":"2.0","method":"GetTask","params":{}}"#,
            "\u{c}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{}}",
            "{\"id\"",
            "{",
            "[]",
            "",
        ];
        let bodies = ids.map(with_id).into_iter().chain(others.map(str::to_owned));
        for body in bodies {
            assert!(Envelope::skim(body.as_bytes()).is_none(), "{body:?}");
        }
        assert!(Envelope::skim(with_id("1").as_bytes()).is_some());
    }
}
