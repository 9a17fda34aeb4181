use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{
    Nodes,
    event::{has_ended, state},
};

/// The script of a task, and the expected output of the demo agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Chunks of one artifact with pauses.
    Stream {
        /// Number of chunks.
        chunks: usize,
        /// Time between chunks.
        pause: Duration,
    },
    /// Progress updates every second.
    Slow {
        /// Number of seconds.
        seconds: usize,
    },
    /// A question and its answer.
    Ask,
    /// Several questions; the last answer ends the task.
    Talk {
        /// Number of messages.
        turns: usize,
    },
    /// A question, answered by several messages at once; another message ends the task.
    Crowd {
        /// Number of messages at once.
        messages: usize,
        /// Whether they have the same id, as deployed clients send it, and differ in their keys.
        same_id: bool,
    },
    /// A stream that is canceled.
    Canceled {
        /// Time until the cancel.
        after: Duration,
    },
}

const CANCELED_CHUNKS: usize = 1_000;

impl Scenario {
    pub(crate) fn any(nodes: &Nodes) -> Self {
        let between = |from: u64, to: u64| from + nodes.random_below(to - from);
        let number = |from, to| usize::try_from(between(from, to)).unwrap_or(1);
        match nodes.random_below(20) {
            0..10 => Self::Stream {
                chunks: number(10, 70),
                pause: Duration::from_millis(between(150, 350)),
            },
            10..13 => Self::Slow { seconds: number(3, 12) },
            13..15 => Self::Ask,
            15..17 => Self::Talk { turns: number(3, 7) },
            17 => Self::Crowd { messages: number(2, 6), same_id: nodes.one_in(2) },
            _ => Self::Canceled { after: Duration::from_millis(between(300, 9_000)) },
        }
    }

    /// The messages of the client, in order.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Stream { chunks, pause } => {
                vec![format!("stream {chunks} {}ms", pause.as_millis())]
            }
            Self::Slow { seconds } => vec![format!("slow {seconds}")],
            Self::Ask => vec!["ask".to_owned(), "Ada Lovelace".to_owned()],
            Self::Talk { turns } => (0..*turns)
                .map(|turn| match turn {
                    0 => "tck-multi-turn, please".to_owned(),
                    turn if turn + 1 == *turns => "done, thank you".to_owned(),
                    turn => format!("and number {turn}"),
                })
                .collect(),
            Self::Crowd { messages, .. } => Self::Talk { turns: messages + 2 }.messages(),
            Self::Canceled { .. } => vec![format!("stream {CANCELED_CHUNKS} 200ms")],
        }
    }

    /// The duration without failures.
    pub fn time(&self) -> Duration {
        match self {
            Self::Stream { chunks, pause } => *pause * u32::try_from(*chunks).unwrap_or(1),
            Self::Slow { seconds } => Duration::from_secs(u64::try_from(*seconds).unwrap_or(1)),
            Self::Ask => Duration::from_secs(4),
            Self::Talk { turns } => Duration::from_secs(4 * u64::try_from(*turns).unwrap_or(1)),
            Self::Crowd { messages, .. } => Self::Talk { turns: messages + 2 }.time(),
            Self::Canceled { after } => *after,
        }
    }

    /// Checks all events of the task; the first one may be unknown.
    pub fn check(&self, events: &BTreeMap<u64, Value>) -> Result<(), String> {
        let last = events.keys().next_back().copied().unwrap_or_default();
        if let Some(gap) = (2..=last).find(|id| !events.contains_key(id)) {
            return Err(format!("no reader saw event {gap} of {last}"));
        }
        if let Some(first) = events.get(&1) {
            expect(first, "task SUBMITTED")?;
        }
        let remaining: Vec<String> = events.range(2..).map(|(_, data)| brief(data)).collect();
        let mut remaining = Remaining(&remaining);
        match self {
            Self::Stream { chunks, .. } => {
                remaining.next("WORKING")?;
                for number in 1..=*chunks {
                    remaining.next(&chunk(number, *chunks))?;
                }
                remaining.next("COMPLETED")?;
            }
            Self::Slow { seconds } => {
                remaining.next("WORKING")?;
                for second in 1..=*seconds {
                    remaining.next(&format!("WORKING {second} of {seconds} seconds"))?;
                }
                remaining.next(&format!("slow false true Worked for {seconds} seconds"))?;
                remaining.next("COMPLETED")?;
            }
            Self::Ask => {
                remaining.next("WORKING")?;
                remaining.next("INPUT_REQUIRED What is your name?")?;
                remaining.next("WORKING")?;
                remaining.next("answer false true You said: Ada Lovelace")?;
                remaining.next("COMPLETED")?;
            }
            Self::Talk { turns } => {
                for turn in 0..*turns {
                    remaining.next("WORKING")?;
                    // The engine reports it at the start of the turn, then the agent, unless an
                    // interrupted run already has.
                    if turn > 0 {
                        let _ = remaining.next("WORKING");
                    }
                    if turn + 1 == *turns {
                        remaining.next("COMPLETED Thank you, that is all")?;
                    } else {
                        remaining.next("INPUT_REQUIRED Say more, or `done`")?;
                    }
                }
            }
            Self::Crowd { messages, .. } => {
                let mut turns = 1;
                loop {
                    match remaining.take() {
                        Some("WORKING") => {}
                        Some("INPUT_REQUIRED Say more, or `done`") => turns += 1,
                        Some("COMPLETED Thank you, that is all") if turns == messages + 2 => break,
                        other => return Err(format!("in turn {turns}: {other:?}")),
                    }
                }
            }
            Self::Canceled { .. } => {
                let mut number = 0;
                loop {
                    match remaining.take() {
                        Some("WORKING") if number == 0 => {}
                        Some(text) if text == chunk(number + 1, CANCELED_CHUNKS) => number += 1,
                        Some(text) if text.starts_with("CANCELED ") => break,
                        other => return Err(format!("after chunk {number}: {other:?}")),
                    }
                }
            }
        }
        match remaining.take() {
            None => Ok(()),
            Some(more) => Err(format!("{more:?} after the end")),
        }
    }

    /// Checks the ended task.
    pub fn check_task(&self, task: &Value) -> Result<(), String> {
        let expected = if matches!(self, Self::Canceled { .. }) { "CANCELED" } else { "COMPLETED" };
        let data = serde_json::json!({ "task": task });
        if state(&data) != Some(expected) || !has_ended(task) {
            return Err(format!("the task is not {expected}: {}", task["status"]));
        }
        let parts = |value: &Value| -> Vec<String> {
            let parts = value["parts"].as_array().cloned().unwrap_or_default();
            parts.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
        };
        let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
        let given: Vec<String> = artifacts.iter().flat_map(parts).collect();
        let is_correct = match self {
            Self::Stream { chunks, .. } => {
                let expected = (1..=*chunks).map(|number| format!("chunk {number} of {chunks}"));
                given == expected.collect::<Vec<_>>()
            }
            Self::Slow { seconds } => given == [format!("Worked for {seconds} seconds")],
            Self::Ask => given == ["You said: Ada Lovelace"],
            Self::Talk { .. } | Self::Crowd { .. } => given.is_empty(),
            Self::Canceled { .. } => given
                .iter()
                .enumerate()
                .all(|(index, text)| *text == format!("chunk {} of {CANCELED_CHUNKS}", index + 1)),
        };
        if !is_correct {
            return Err(format!("the artifacts of {self:?} are {given:?}"));
        }
        let history = task["history"].as_array().cloned().unwrap_or_default();
        let users = history.iter().filter(|message| message["role"] == "ROLE_USER");
        let mut received: Vec<String> = users.flat_map(parts).collect();
        if let (Self::Crowd { .. }, [_, crowd @ .., _]) = (self, received.as_mut_slice()) {
            // They were sent at once.
            crowd.sort_unstable();
        }
        if received == self.messages() {
            Ok(())
        } else {
            Err(format!("the agent received {received:?}"))
        }
    }
}

/// The remaining events.
struct Remaining<'a>(&'a [String]);

impl<'a> Remaining<'a> {
    fn take(&mut self) -> Option<&'a str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Removes the next event if it is the expected one.
    fn next(&mut self, expected: &str) -> Result<(), String> {
        match self.0.split_first() {
            Some((first, rest)) if first == expected => {
                self.0 = rest;
                Ok(())
            }
            other => Err(format!("{expected:?} expected, got {:?}", other.map(|(first, _)| first))),
        }
    }
}

fn chunk(number: usize, count: usize) -> String {
    format!("stream {} {} chunk {number} of {count}", number > 1, number == count)
}

fn expect(data: &Value, expected: &str) -> Result<(), String> {
    let remaining = brief(data);
    if remaining == expected {
        Ok(())
    } else {
        Err(format!("{expected:?} expected, got {remaining:?}"))
    }
}

/// An event in a few words: all of it that is not by chance.
fn brief(data: &Value) -> String {
    if data["task"].is_object() {
        return format!("task {}", state(data).unwrap_or_default());
    }
    if let Some(state) = state(data) {
        let parts = &data["statusUpdate"]["status"]["message"]["parts"];
        let text = parts[0]["text"].as_str().unwrap_or_default();
        return format!("{state} {text}").trim_end().to_owned();
    }
    let update = &data["artifactUpdate"];
    let text = update["artifact"]["parts"][0]["text"].as_str().unwrap_or_default();
    let is = |name: &str| update[name].as_bool().unwrap_or_default();
    let name = update["artifact"]["name"].as_str().unwrap_or_default();
    format!("{name} {} {} {text}", is("append"), is("lastChunk"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(state: &str, text: &str) -> Value {
        let message = json!({ "parts": [{ "text": text }] });
        json!({ "statusUpdate": { "status": { "state": format!("TASK_STATE_{state}"),
            "message": message } } })
    }

    fn part(number: usize) -> Value {
        let artifact = json!({ "name": "stream",
            "parts": [{ "text": format!("chunk {number} of 3") }] });
        json!({ "artifactUpdate": { "artifact": artifact, "append": number > 1,
            "lastChunk": number == 3 } })
    }

    #[test]
    fn missing_and_unexpected_members_are_detected() {
        let scenario = Scenario::Stream { chunks: 3, pause: Duration::from_millis(50) };
        let events = [
            json!({ "task": { "status": { "state": "TASK_STATE_SUBMITTED" } } }),
            status("WORKING", ""),
            part(1),
            part(2),
            part(3),
            status("COMPLETED", ""),
        ];
        let numbered = |events: &[Value]| -> BTreeMap<u64, Value> {
            (1..).zip(events.iter().cloned()).collect()
        };
        let whole = numbered(&events);
        scenario.check(&whole).unwrap();
        for lost in 2..=6 {
            let mut gap = whole.clone();
            gap.remove(&lost);
            scenario.check(&gap).unwrap_err();
            let mut closed = events.to_vec();
            let index = usize::try_from(lost - 1).unwrap();
            closed.remove(index);
            scenario.check(&numbered(&closed)).unwrap_err();
            let mut twice = events.to_vec();
            twice.insert(index, events[index].clone());
            scenario.check(&numbered(&twice)).unwrap_err();
        }
        let mut swapped = events.to_vec();
        swapped.swap(2, 3);
        scenario.check(&numbered(&swapped)).unwrap_err();
    }
}
