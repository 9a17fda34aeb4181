//! Approval of calls of tools by the caller of the agent.

use a2a_core::{Message, Part, escape::escape_hidden};
use a2a_kit_operations::{TaskUpdater, UpdateError};
use serde_json::{Value, json};

use crate::model::ToolCall;

/// How often a caller whose answers are for other calls is asked.
const MAX_QUESTIONS: usize = 4;
/// Texts that approve, in lower case.
const APPROVALS: [&str; 6] = ["yes", "y", "ok", "allow", "approve", "approved"];
/// What the model reads after a refusal without a text.
const REFUSED: &str = "the user did not approve this call";

/// What a caller answered.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Approved,
    /// With the text for the model.
    Refused(String),
    /// The answer names another call.
    OtherCall,
}

/// Asks the caller to approve a call. Returns what the model reads if the caller doesn't.
pub(crate) async fn refusal(
    updates: &TaskUpdater,
    call: &ToolCall,
) -> Result<Option<String>, UpdateError> {
    for _ in 0..MAX_QUESTIONS {
        match read(&updates.ask(question(call)).await?, &call.id) {
            Reply::Approved => return Ok(None),
            Reply::Refused(text) => return Ok(Some(text)),
            Reply::OtherCall => {}
        }
    }
    Ok(Some(REFUSED.to_owned()))
}

/// The question: whole, so that nothing is approved unseen.
fn question(call: &ToolCall) -> Vec<Part> {
    let ToolCall { id, name, arguments } = call;
    let text = format!("Allow {name}? {arguments}");
    let data = json!({"approval": {"callId": id, "tool": name, "arguments": arguments}});
    vec![Part::text(escape_hidden(&text)), Part::from(data)]
}

fn read(answer: &Message, call_id: &str) -> Reply {
    let data = answer.parts.iter().filter_map(Part::as_data).map(|data| Value::from(data.clone()));
    let decision = data.into_iter().find(|data| data.get("approve").is_some());
    let text = answer.text();
    let is_approved = match &decision {
        Some(data) if data.get("callId").is_some_and(|id| id.as_str() != Some(call_id)) => {
            return Reply::OtherCall;
        }
        Some(data) => data["approve"] == Value::Bool(true),
        None => {
            let word = text.trim();
            let word = word.strip_suffix(['.', '!']).unwrap_or(word).to_lowercase();
            APPROVALS.contains(&&*word)
        }
    };
    match is_approved {
        true => Reply::Approved,
        false if text.trim().is_empty() => Reply::Refused(REFUSED.to_owned()),
        false => Reply::Refused(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_texts_and_data_for_this_call_approve() {
        let refused = |text: &str| Reply::Refused(text.to_owned());
        let texts = ["yes", "Y", " OK. ", "Allow!", "approve", "APPROVED."];
        for text in texts {
            assert_eq!(read(&Message::user(text), "1"), Reply::Approved, "{text}");
        }
        for text in ["no", "yes, but Rome", "yes yes", "okay", "yes!!", "do not approve"] {
            assert_eq!(read(&Message::user(text), "1"), refused(text), "{text}");
        }
        let cases = [
            (json!({"approve": true}), Reply::Approved),
            (json!({"approve": true, "callId": "1"}), Reply::Approved),
            (json!({"approve": true, "callId": "2"}), Reply::OtherCall),
            (json!({"approve": true, "callId": 1}), Reply::OtherCall),
            (json!({"approve": false}), refused(REFUSED)),
            (json!({"approve": "true"}), refused(REFUSED)),
            (json!({"approved": true}), refused(REFUSED)),
        ];
        for (data, expected) in cases {
            let shown = data.to_string();
            assert_eq!(read(&Message::user(Part::from(data)), "1"), expected, "{shown}");
        }
        let both = Message::user("yes").with_part(Part::from(json!({"approve": false})));
        assert_eq!(read(&both, "1"), refused("yes"));
    }

    #[test]
    fn question_shows_the_whole_call_and_escapes_what_could_hide_a_part_of_it() {
        let arguments = json!({"to": "a\u{202e}b\u{200b}\u{1b}[2J", "n": "x".repeat(9_000)});
        let call = ToolCall { id: "7".to_owned(), name: "pay".to_owned(), arguments };
        let parts = question(&call);
        let text = parts[0].as_text().expect("a text");
        let shown =
            format!(r#"Allow pay? {{"n":"{}","to":"a\u202eb\u200b\u001b[2J"}}"#, "x".repeat(9_000));
        assert_eq!(text, shown);
        let data = Value::from(parts[1].as_data().expect("data").clone());
        assert_eq!(data["approval"]["callId"], "7");
        assert_eq!(data["approval"]["tool"], "pay");
        assert_eq!(data["approval"]["arguments"], call.arguments);
    }
}
