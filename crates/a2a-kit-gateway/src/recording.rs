//! Recordings of traffic, read back.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead},
    time::Duration,
};

use a2a_core::{AgentCard, Error, ErrorKind, Operation, v1::StreamResponse};
use a2a_kit_operations::{Event, EventId};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request_key::RequestKey;

/// Maximum size of a recording, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The calls of a recording, as written by a [`Recorder`](crate::Recorder) in JSON lines.
///
/// A line `{"card": …}` has the agent card; the last one counts. A recording that was appended to
/// contains the calls of every session.
#[derive(Debug, Default)]
pub struct Recording {
    pub(crate) card: Option<AgentCard>,
    pub(crate) calls: HashMap<RequestKey, Vec<RecordedCall>>,
}

/// A recorded call: how it was answered.
#[derive(Debug, Default)]
pub(crate) struct RecordedCall {
    /// The response, or the error; `None` if the recording ends before it.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) events: Vec<RecordedEvent>,
    /// The error that interrupted the stream.
    pub(crate) interruption: Option<Error>,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    /// The time since the start of the call.
    pub(crate) after: Duration,
    pub(crate) result: Result<Answer, Error>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) activated: Vec<String>,
    /// The response as JSON; `None` for streams and empty responses.
    pub(crate) body: Option<Box<RawValue>>,
}

#[derive(Debug)]
pub(crate) struct RecordedEvent {
    /// The time since the start of the call.
    pub(crate) after: Duration,
    pub(crate) event: Event,
}

/// Why a recording can't be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// Reading failed.
    #[error("failed to read the recording")]
    Read(#[source] io::Error),
    /// The recording is larger than 256 MiB.
    #[error("the recording is larger than 256 MiB")]
    TooLarge,
    /// A line is not an entry of a recording.
    #[error("line {line} is not an entry of a recording")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A line has an operation that does not exist.
    #[error("line {line}: unknown operation {operation:?}")]
    Operation {
        /// The number of the line, from 1.
        line: usize,
        /// The operation.
        operation: String,
    },
    /// The recording has no call.
    #[error("the recording has no call")]
    Empty,
}

a2a_core::debug_as_chain!(RecordingError);

/// A line of the file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Line<'a> {
    card: Option<AgentCard>,
    call: u64,
    operation: String,
    micros: u64,
    step: Option<StepName>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    position: Option<u64>,
    activated: Vec<String>,
    reason: String,
    message: String,
    metadata: BTreeMap<String, String>,
}

/// The steps of [`Step`](crate::Step).
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StepName {
    Request,
    Answer,
    Event,
    Error,
    End,
    Gone,
}

impl Recording {
    /// Reads a recording. The calls are held in memory.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] with the number of the line. A last line that was cut off, as by a
    /// crash, is ignored.
    pub fn read(reader: impl BufRead) -> Result<Self, RecordingError> {
        let mut reader = reader.take(MAX_BYTES + 1);
        let mut recording = Self::default();
        let mut open: HashMap<u64, (RequestKey, usize)> = HashMap::new();
        let mut text = String::new();
        let mut number = 0;
        loop {
            text.clear();
            number += 1;
            if reader.read_line(&mut text).map_err(RecordingError::Read)? == 0 {
                break;
            }
            if reader.limit() == 0 {
                return Err(RecordingError::TooLarge);
            }
            if text.trim().is_empty() {
                continue;
            }
            let at = |source| RecordingError::Line { line: number, source };
            let line: Line<'_> = match serde_json::from_str(&text) {
                Ok(line) => line,
                Err(error) if error.is_eof() && !text.ends_with('\n') => break,
                Err(error) => return Err(at(error)),
            };
            if let Some(card) = line.card {
                recording.card = Some(card);
                continue;
            }
            let Some(step) = line.step else {
                return Err(at(serde::de::Error::missing_field("step")));
            };
            if matches!(step, StepName::Request) {
                let operation = operation(&line.operation).ok_or_else(|| {
                    RecordingError::Operation { line: number, operation: line.operation.clone() }
                })?;
                let key = RequestKey::new(operation, line.body).map_err(at)?;
                let calls = recording.calls.entry(key.clone()).or_default();
                calls.push(RecordedCall::default());
                open.insert(line.call, (key, calls.len() - 1));
                continue;
            }
            // Without its request, the call was made before the recording was cut.
            let Some((key, index)) = open.get(&line.call) else { continue };
            let call = recording.calls.get_mut(key).and_then(|calls| calls.get_mut(*index));
            let Some(call) = call else { continue };
            call.add(step, line).map_err(at)?;
        }
        if recording.calls.is_empty() { Err(RecordingError::Empty) } else { Ok(recording) }
    }

    /// Returns the card of the agent, if it was recorded.
    pub fn card(&self) -> Option<&AgentCard> {
        self.card.as_ref()
    }

    /// Returns the number of recorded calls.
    pub fn len(&self) -> usize {
        self.calls.values().map(Vec::len).sum()
    }

    /// Returns whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl RecordedCall {
    fn add(&mut self, step: StepName, line: Line<'_>) -> Result<(), serde_json::Error> {
        let after = Duration::from_micros(line.micros);
        match step {
            StepName::Answer => {
                let body = line.body.map(ToOwned::to_owned);
                let answer = Answer { activated: line.activated, body };
                self.outcome = Some(Outcome { after, result: Ok(answer) });
            }
            StepName::Event => {
                let response: StreamResponse = match line.body {
                    Some(body) => serde_json::from_str(body.get())?,
                    None => return Err(serde::de::Error::missing_field("body")),
                };
                let event = Event::new(line.position.and_then(EventId::new), response);
                self.events.push(RecordedEvent { after, event });
            }
            StepName::Error => {
                let kind = ErrorKind::from_reason(&line.reason).unwrap_or(ErrorKind::Internal);
                let error = line
                    .metadata
                    .into_iter()
                    .fold(Error::new(kind, line.message), |error, (name, value)| {
                        error.with_metadata(name, value)
                    });
                if self.outcome.is_none() {
                    self.outcome = Some(Outcome { after, result: Err(error) });
                } else {
                    self.interruption = Some(error);
                }
            }
            StepName::Request | StepName::End | StepName::Gone => {}
        }
        Ok(())
    }
}

fn operation(name: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| operation.name() == name)
}
