//! What was said in a task: messages of the client with what the agent said to them, as text.

use a2a_core::{Message, Part, Role, Task, TaskState, media_type, v1::part::Content};

use a2a_kit_operations::extension::ModelEventsExtension;

use crate::model::{Answer, Turn};

/// What the model reads after an answer that was cut, canceled or refused.
const UNFINISHED: &str = "[the answer was not finished]";

/// The state of a task.
pub(crate) fn state(task: &Task) -> TaskState {
    task.status.as_ref().map_or(TaskState::Unspecified, |status| status.state())
}

/// The exchanges of a task, from old to new.
pub(crate) struct Exchanges(pub(crate) Vec<Exchange>);

/// A message of the client, and what the agent said to it.
pub(crate) struct Exchange {
    message: Vec<Part>,
    answer: String,
    /// Whether the agent refused the message, perhaps for its files.
    pub(crate) is_refused: bool,
}

impl Exchanges {
    /// The messages of the client, with the questions of the agent.
    pub(crate) fn of_messages(messages: &[Message]) -> Self {
        let mut exchanges: Vec<Exchange> = Vec::new();
        for message in messages {
            if message.role() == Role::User {
                let message = message.parts.iter().map(with_data_as_text).collect();
                exchanges.push(Exchange { message, answer: String::new(), is_refused: false });
            } else if let Some(exchange) = exchanges.last_mut() {
                exchange.add_answer(&text_of(&message.parts));
            }
        }
        Self(exchanges)
    }

    /// A whole task; of one that had not ended, only what the client said.
    pub(crate) fn of_task(task: &Task, is_finished: bool) -> Self {
        let mut exchanges = Self::of_messages(&task.history);
        if !is_finished {
            exchanges.0.iter_mut().for_each(|exchange| exchange.answer.clear());
            return exchanges;
        }
        let Some(newest) = exchanges.0.last_mut() else { return exchanges };
        let artifacts: Vec<_> =
            task.artifacts.iter().filter(|one| ModelEventsExtension::kind(one).is_none()).collect();
        for artifact in &artifacts {
            newest.add_answer(&text_of(&artifact.parts));
        }
        match state(task) {
            TaskState::Completed if artifacts.is_empty() => newest.add_answer(&task.status_text()),
            TaskState::Completed => {}
            state => {
                newest.is_refused = state == TaskState::Rejected;
                newest.add_answer(UNFINISHED);
            }
        }
        exchanges
    }
}

impl Exchange {
    fn add_answer(&mut self, text: &str) {
        if !self.answer.is_empty() && !text.is_empty() {
            self.answer.push_str("\n\n");
        }
        self.answer.push_str(text);
    }

    /// Replaces files by their names.
    pub(crate) fn name_files(&mut self) {
        for part in self.message.iter_mut().filter(|part| part.is_file()) {
            *part = Part::text(file_note(part));
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        tokens_of_text(self.answer.len()) + self.message.iter().map(tokens).sum::<u64>()
    }

    /// Makes it fit: first its files go, then the middle of its longest texts.
    pub(crate) fn shorten_to(&mut self, budget: u64) {
        if self.tokens() > budget {
            self.name_files();
        }
        loop {
            let excess = self.tokens().saturating_sub(budget);
            let texts = self.message.iter_mut().filter_map(|part| match &mut part.content {
                Some(Content::Text(text)) => Some(text),
                _ => None,
            });
            let longest = texts.chain([&mut self.answer]).max_by_key(|text| text.len());
            match longest {
                Some(text) if excess > 0 && text.len() >= MIN_CUT => {
                    let excess = usize::try_from(excess).unwrap_or(usize::MAX);
                    let keep = text.len().saturating_sub(excess.saturating_mul(3) + MARKER);
                    cut(text, keep);
                }
                _ => return,
            }
        }
    }

    pub(crate) fn into_turns(self) -> Vec<Turn> {
        let answer = (!self.answer.is_empty()).then(|| vec![Answer::Text(self.answer)]);
        [Turn::User(self.message)].into_iter().chain(answer.map(Turn::Assistant)).collect()
    }
}

/// Texts that are shorter are not cut, in bytes.
const MIN_CUT: usize = 200;
/// Bytes for the marker where a text is cut.
pub(crate) const MARKER: usize = 60;

/// Leaves out the middle of a text, so that at most this many bytes of it are left.
pub(crate) fn cut(text: &mut String, keep: usize) {
    let start = (0..=keep / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = text.len() - keep / 2;
    let end = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let left_out = text[start..end].chars().count();
    text.replace_range(start..end, &format!("[… {left_out} characters left out …]"));
}

/// Parts of the agent as text: files only by name.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let mut all = String::new();
    let mut was_text = true;
    for part in parts {
        // Chunks of a text follow one another directly.
        let is_text = part.as_text().is_some();
        if !(all.is_empty() || is_text && was_text) {
            all.push_str("\n\n");
        }
        match (part.as_text(), part.is_file()) {
            (Some(text), _) => all.push_str(text),
            (None, true) => all.push_str(&file_note(part)),
            (None, false) => all.push_str(with_data_as_text(part).as_text().unwrap_or_default()),
        }
        was_text = is_text;
    }
    all
}

fn with_data_as_text(part: &Part) -> Part {
    match part.as_data() {
        Some(data) => {
            let json = serde_json::Value::from(data.clone());
            Part::text(format!("```json\n{json:#}\n```"))
        }
        None => part.clone(),
    }
}

fn file_note(part: &Part) -> String {
    format!("[file {}]", file_label(part))
}

/// A file by name, type and size.
pub(crate) fn file_label(part: &Part) -> String {
    let shown = |text: &str, other: &str| match text {
        "" => other.to_owned(),
        text => text.chars().filter(|one| !one.is_control()).take(128).collect(),
    };
    let size = match part.as_raw().map(|bytes| bytes.len()) {
        None => "at a URL".to_owned(),
        Some(bytes) if bytes < 1 << 10 => format!("{bytes} bytes"),
        Some(bytes) if bytes < 1 << 20 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        Some(bytes) => format!("{} MiB", bytes.div_ceil(1 << 20)),
    };
    let (name, media_type) = (shown(&part.filename, "without a name"), &part.media_type);
    format!("{name}, {}, {size}", shown(media_type, "unknown type"))
}

/// An estimate of the tokens of a part.
pub(crate) fn tokens(part: &Part) -> u64 {
    let media_type = match &*part.media_type {
        "" => media_type::guess(Some(&part.filename), part.as_raw().map_or(&[], |bytes| bytes)),
        media_type => media_type,
    };
    let is_image = media_type.starts_with("image/");
    let is_document = media_type.starts_with("application/pdf") || media_type.starts_with("audio/");
    match &part.content {
        None => 0,
        Some(Content::Text(text)) => tokens_of_text(text.len()),
        Some(Content::Data(_)) => tokens(&with_data_as_text(part)),
        Some(Content::Raw(_) | Content::Url(_)) if is_image => 1_600,
        Some(Content::Raw(bytes)) if is_document => bytes.len().div_ceil(30) as u64,
        Some(Content::Raw(bytes)) => tokens_of_text(bytes.len()),
        Some(Content::Url(url)) => tokens_of_text(url.len()),
    }
}

pub(crate) fn tokens_of_text(bytes: usize) -> u64 {
    bytes.div_ceil(3) as u64
}
