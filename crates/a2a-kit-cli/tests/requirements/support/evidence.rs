//! What a run observed, as JSON lines in the file that `A2A_COMPLIANCE_EVIDENCE` names.
//!
//! `cargo xtask compliance` makes its report of them: bindings and agents of each test, the codes of
//! errors with their exit status, and the defaults of `DEFAULT_001`.

use std::{fs::OpenOptions, io::Write as _};

use serde_json::{Value, json};

use crate::common::Run;

/// The variable with the path of the file.
const FILE: &str = "A2A_COMPLIANCE_EVIDENCE";

/// A default of `DEFAULT_001`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Default {
    TransportOrder,
    Wait,
    TextOutput,
    ConciseOutput,
    HighestVersion,
    TlsVerification,
}

impl Default {
    const fn name(self) -> &'static str {
        match self {
            Self::TransportOrder => "transport_order",
            Self::Wait => "wait",
            Self::TextOutput => "text_output",
            Self::ConciseOutput => "concise_output",
            Self::HighestVersion => "highest_version",
            Self::TlsVerification => "tls_verification",
        }
    }
}

/// Records that a default was observed without any flag.
pub(crate) fn shipped(default: Default, observed: &str) {
    append(json!({"test": test(), "default": default.name(), "shipped": observed}));
}

/// Records that a default was overridden, and by what.
pub(crate) fn overridden(default: Default, by: &str) {
    append(json!({"test": test(), "default": default.name(), "overridden": by}));
}

/// Records a finished run of the command.
pub(super) fn record(agent: &str, binding: Option<&str>, run: &Run) {
    let mut line = json!({"test": test(), "agent": agent, "exit": run.code});
    if let Some(binding) = binding {
        line["binding"] = binding.into();
    }
    if let Some(code) = error_code(run) {
        line["code"] = code.into();
    }
    append(line);
}

/// The code of the error that a run printed.
fn error_code(run: &Run) -> Option<String> {
    if run.code == 0 {
        return None;
    }
    let of_text = run.stderr.lines().find_map(|line| line.strip_prefix("Error: "));
    let last = run.stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let of_json = last.as_ref().and_then(|last| last["error"]["code"].as_str());
    of_json.or(of_text).map(str::to_owned)
}

/// The path of the running test: the harness names threads after their test.
fn test() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

fn append(line: Value) {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(file).unwrap();
    // One write per line, as tests run in parallel.
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
