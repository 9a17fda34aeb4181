//! The command line of a client driver, and a line of output for each operation.

use std::{env, io::Write as _, time::Duration};

use serde_json::json;

use crate::{expect::Result, peer::Peer, rows::ROWS};

/// Timeout of an operation.
const LIMIT: Duration = Duration::from_secs(20);

/// The arguments `--card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]…`.
#[derive(Debug, Default)]
struct Arguments {
    card: String,
    binding: String,
    only: Vec<String>,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut parsed = Self::default();
        let mut arguments = env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            match &*name {
                "--card" => parsed.card = value,
                "--binding" => parsed.binding = value,
                "--only" => parsed.only.push(value),
                _ => return Err(format!("unknown argument {name:?}").into()),
            }
        }
        Ok(parsed)
    }
}

/// Calls every operation of the agent that `connect` finds at the card and the binding of the
/// command line, and prints `{"operation": …, "ok": true|false, "detail": …}` for each.
///
/// # Errors
///
/// If the arguments are wrong, or there is no such agent.
pub async fn run<P: Peer + 'static>(connect: impl AsyncFnOnce(&str, &str) -> Result<P>) -> Result {
    let arguments = Arguments::parse()?;
    let peer: Box<dyn Peer> = Box::new(connect(&arguments.card, &arguments.binding).await?);
    for (operation, row) in ROWS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|one| one == operation) {
            continue;
        }
        let done = tokio::time::timeout(LIMIT, row(&*peer)).await;
        let done = done.unwrap_or_else(|_elapsed| Err(format!("no end after {LIMIT:?}").into()));
        let detail = done.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let line = json!({"operation": operation, "ok": done.is_ok(), "detail": detail});
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}
