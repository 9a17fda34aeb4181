//! Checks what no compiler checks.

mod arrows;
mod code_map;
mod cycles;
mod engine;
mod live_task;
mod public_errors;
mod sleeps;
mod text;
mod user_docs;

use crate::Result;

pub(crate) fn run() -> Result {
    let mut faults = text::faults()?;
    faults.extend(arrows::faults()?);
    faults.extend(engine::faults()?);
    faults.extend(live_task::faults()?);
    faults.extend(code_map::faults()?);
    faults.extend(cycles::faults()?);
    faults.extend(public_errors::faults()?);
    faults.extend(sleeps::faults()?);
    faults.extend(user_docs::faults()?);
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults", faults.len()).into()) }
}
