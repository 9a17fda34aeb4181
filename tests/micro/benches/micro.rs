//! Counts the instructions of small operations: `cargo xtask bench micro`.
//!
//! The inputs of a benchmark are prepared, and its results dropped, outside of the counted code.

#![allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::expect_used,
    reason = "the macros of gungraun make such code, and a benchmark that does not work stops"
)]

use std::{collections::VecDeque, hint::black_box};

use a2a_core::{
    json,
    v1::{Message, SendMessageRequest, SendMessageResponse, Task, stream_response::Payload},
};
use a2a_kit_operations::{
    Event,
    store::{StoredTask, TaskPage},
    testing::{EventLog, LiveTask},
};
use a2a_micro::{engine::InProcess, live, message, store::Stored};
use bytes::Bytes;
use gungraun::{Callgrind, main, prelude::*};
use prost::Message as _;

#[library_benchmark]
#[bench::request(message::request_json())]
fn decode_json(text: Vec<u8>) -> (SendMessageRequest, Vec<u8>) {
    (json::from_slice(black_box(&text)).expect("it is a request"), text)
}

#[library_benchmark]
#[bench::request(message::request_protobuf())]
fn decode_protobuf(bytes: Bytes) -> SendMessageRequest {
    SendMessageRequest::decode(black_box(bytes)).expect("it is a request")
}

#[library_benchmark]
#[bench::task(message::task())]
fn encode_json(task: Task) -> (Vec<u8>, Task) {
    let mut text = Vec::new();
    json::write(&mut text, black_box(&task)).expect("a task can be encoded");
    (text, task)
}

#[library_benchmark]
#[bench::task(message::task())]
fn encode_protobuf(task: Task) -> (Vec<u8>, Task) {
    (black_box(&task).encode_to_vec(), task)
}

#[library_benchmark]
#[bench::event(message::event_to_encode())]
fn encode_event_json(event: Event) -> (Bytes, Event) {
    (black_box(&event).json(), event)
}

#[library_benchmark]
#[bench::event(message::event_to_encode())]
fn encode_event_protobuf(event: Event) -> (Bytes, Event) {
    (black_box(&event).protobuf(), event)
}

library_benchmark_group!(
    name = codec,
    benchmarks = [
        decode_json,
        decode_protobuf,
        encode_json,
        encode_protobuf,
        encode_event_json,
        encode_event_protobuf
    ]
);

#[library_benchmark]
#[bench::status(live::at_work(), live::statuses())]
#[bench::artifact(live::at_work(), live::chunks())]
fn update(mut task: LiveTask, updates: Vec<Payload>) -> LiveTask {
    for update in black_box(updates) {
        task.update(update).expect("the executor is at work");
    }
    task
}

#[library_benchmark]
#[bench::status(live::updated(live::statuses()))]
#[bench::artifact(live::updated(live::chunks()))]
fn write(mut task: LiveTask) -> LiveTask {
    assert_eq!(task.write(), live::UPDATES);
    task
}

#[library_benchmark]
#[bench::next(live::at_work(), Message { message_id: "next".to_owned(), ..message::message() })]
fn turn(mut task: LiveTask, message: Message) -> LiveTask {
    assert!(task.message(black_box(message)) && task.returned());
    task
}

library_benchmark_group!(name = task, benchmarks = [update, write, turn]);

#[library_benchmark]
#[bench::full(live::log(), message::event(live::EVENTS + 1))]
fn push(mut log: EventLog, event: Event) -> EventLog {
    log.push(black_box(event));
    log
}

#[library_benchmark]
#[bench::all(live::log(), live::buffer())]
fn read(log: EventLog, mut buffer: VecDeque<Event>) -> (EventLog, VecDeque<Event>) {
    assert!(log.read(black_box(1), buffer.capacity(), &mut buffer));
    (log, buffer)
}

library_benchmark_group!(name = log, benchmarks = [push, read]);

#[library_benchmark]
#[bench::tasks(Stored::memory())]
fn insert(mut stored: Stored) -> Stored {
    stored.insert();
    stored
}

#[library_benchmark]
#[bench::tasks(Stored::memory())]
fn commit(mut stored: Stored) -> Stored {
    stored.commit();
    stored
}

#[library_benchmark]
#[bench::tasks(Stored::memory())]
fn get(stored: Stored) -> (Vec<StoredTask>, Stored) {
    (stored.get(), stored)
}

#[library_benchmark]
#[bench::tasks(Stored::memory())]
fn list(stored: Stored) -> (Vec<TaskPage>, Stored) {
    (stored.list(), stored)
}

library_benchmark_group!(name = memory, benchmarks = [insert, commit, get, list]);

#[library_benchmark]
#[bench::echo(InProcess::echo())]
fn send_message(mut engine: InProcess) -> (Vec<SendMessageResponse>, InProcess) {
    (engine.send_messages(), engine)
}

#[library_benchmark]
#[bench::chunks(InProcess::streaming())]
fn send_streaming_message(mut engine: InProcess) -> (usize, InProcess) {
    (engine.send_streaming_message(), engine)
}

library_benchmark_group!(name = engine, benchmarks = [send_message, send_streaming_message]);

// Only instructions are compared, so caches need not be simulated.
main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = [codec, task, log, memory, engine]
);
