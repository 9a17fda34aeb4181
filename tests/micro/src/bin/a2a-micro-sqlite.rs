//! Opens a SQLite file with tasks, does one kind of operation with some of them, and closes it.

use std::{env, hint::black_box, process::ExitCode};

use a2a_micro::store::Stored;

fn main() -> ExitCode {
    let operation = env::args().nth(1).unwrap_or_default();
    let mut stored = Stored::sqlite();
    match operation.as_str() {
        "open" => {}
        "insert" => stored.insert(),
        "commit" => stored.commit(),
        "get" => drop(black_box(stored.get())),
        "list" => drop(black_box(stored.list())),
        _ => return ExitCode::FAILURE,
    }
    stored.close();
    ExitCode::SUCCESS
}
