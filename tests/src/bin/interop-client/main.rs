//! Calls every operation of an agent written with an official SDK, with our client.
//!
//! `interop-client CARD JSONRPC|HTTP+JSON|GRPC [OPERATION…]` prints one line of JSON per check:
//! `{"operation": …, "ok": true|false, "detail": …}`. A binding may name an older revision:
//! `JSONRPC@0.3` checks the operations of that revision. `GRPC@1.0/0.3` is for a gateway, called in
//! the first revision, with an upstream agent of the second. The agent has to support the commands
//! of `tests/interop/python/server.py`. The names of operations are those of the SDKs' drivers.

mod errors;
mod expect;
mod peer;
mod proxy;
mod push;
mod sending;
mod streams;
mod tasks;
mod webhook;

use std::{env, io::Write as _, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::json;

use self::{expect::Result, peer::Peer};

/// Timeout of a check.
const LIMIT: Duration = Duration::from_secs(30);

type Check = for<'a> fn(&'a Peer) -> BoxFuture<'a, Result>;

const CHECKS: [(&str, Check); 38] = [
    ("card", |peer| Box::pin(sending::card(peer))),
    ("extended-card", |peer| Box::pin(sending::extended_card(peer))),
    ("send", |peer| Box::pin(sending::send(peer))),
    ("send-message", |peer| Box::pin(sending::send_message(peer))),
    ("send-parts", |peer| Box::pin(sending::send_parts(peer))),
    ("send-large", |peer| Box::pin(sending::send_large(peer))),
    ("send-immediately", |peer| Box::pin(sending::send_immediately(peer))),
    ("send-history-length", |peer| Box::pin(sending::send_history_length(peer))),
    ("multi-turn", |peer| Box::pin(sending::multi_turn(peer))),
    ("tenant", |peer| Box::pin(sending::tenant(peer))),
    ("failed-task", |peer| Box::pin(sending::failed_task(peer))),
    ("crashed-task", |peer| Box::pin(sending::crashed_task(peer))),
    ("extensions", |peer| Box::pin(sending::extensions(peer))),
    ("stream", |peer| Box::pin(streams::stream(peer))),
    ("stream-message", |peer| Box::pin(streams::stream_message(peer))),
    ("stream-input", |peer| Box::pin(streams::stream_input(peer))),
    ("stream-crash", |peer| Box::pin(streams::stream_crash(peer))),
    ("stream-silence", |peer| Box::pin(streams::stream_silence(peer))),
    ("stream-cut", |peer| Box::pin(streams::stream_cut(peer))),
    ("subscribe", |peer| Box::pin(streams::subscribe(peer))),
    ("subscribe-input", |peer| Box::pin(streams::subscribe_input(peer))),
    ("get", |peer| Box::pin(tasks::get(peer))),
    ("list-pages", |peer| Box::pin(tasks::list_pages(peer))),
    ("list-filters", |peer| Box::pin(tasks::list_filters(peer))),
    ("list-since", |peer| Box::pin(tasks::list_since(peer))),
    ("cancel", |peer| Box::pin(tasks::cancel(peer))),
    ("push-configs", |peer| Box::pin(push::configs(peer))),
    ("push-delivery", |peer| Box::pin(push::delivery(peer))),
    ("push-with-message", |peer| Box::pin(push::with_message(peer))),
    ("error-unknown-task", |peer| Box::pin(errors::unknown_task(peer))),
    ("error-cancel-terminal", |peer| Box::pin(errors::cancel_terminal(peer))),
    ("error-subscribe-terminal", |peer| Box::pin(errors::subscribe_terminal(peer))),
    ("error-send-terminal", |peer| Box::pin(errors::send_terminal(peer))),
    ("error-context", |peer| Box::pin(errors::context(peer))),
    ("error-page-size", |peer| Box::pin(errors::page_size(peer))),
    ("error-empty-message", |peer| Box::pin(errors::empty_message(peer))),
    ("error-push-config", |peer| Box::pin(errors::push_config(peer))),
    ("error-version", |peer| Box::pin(errors::version(peer))),
];

/// Operations that only the current revision has, or specifies reliably.
const CURRENT: [&str; 14] = [
    "send-large",
    "send-history-length",
    "tenant",
    "stream-silence",
    "stream-cut",
    "subscribe-input",
    "list-pages",
    "list-filters",
    "list-since",
    "error-push-config",
    "error-subscribe-terminal",
    "error-page-size",
    "error-empty-message",
    "error-version",
];

#[tokio::main]
async fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let (Some(card), Some(binding)) = (arguments.next(), arguments.next()) else {
        return Err("interop-client CARD JSONRPC|HTTP+JSON|GRPC [OPERATION…]".into());
    };
    let wanted: Vec<_> = arguments.collect();
    let (binding, versions) = binding.split_once('@').unwrap_or((&binding, "1.0"));
    let (version, behind) = versions.split_once('/').unwrap_or((versions, versions));
    let peer = Peer::connect(&card, binding.parse()?, version.parse()?, behind.parse()?).await?;
    for (operation, check) in CHECKS {
        if peer.is_older() && CURRENT.contains(&operation) {
            continue;
        }
        if !wanted.is_empty() && !wanted.iter().any(|one| one == operation) {
            continue;
        }
        let done = tokio::time::timeout(LIMIT, check(&peer)).await;
        let done = done.unwrap_or_else(|_elapsed| Err(format!("no end after {LIMIT:?}").into()));
        let detail = done.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let line = json!({"operation": operation, "ok": done.is_ok(), "detail": detail});
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}
