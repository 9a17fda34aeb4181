//! The operations: the rows of the matrix, in its order.

mod errors;
mod push;
mod sending;
mod streams;
mod tasks;

use futures::future::BoxFuture;

use crate::{expect::Result, peer::Peer};

/// An operation. It fails if a result is not what it should be.
pub(crate) type Row = for<'a> fn(&'a dyn Peer) -> BoxFuture<'a, Result>;

pub(crate) const ROWS: [(&str, Row); 38] = [
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
