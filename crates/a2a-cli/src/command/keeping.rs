//! The flags of `a2a serve` that say where tasks are kept.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueHint};

use crate::settings::value;

const KEEPING: &str = "Store";

/// Where tasks are kept, and for how long.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = KEEPING)]
pub(crate) struct Keeping {
    /// Where tasks are kept: memory, the path of a file, or postgres://user@host/database
    /// [default: a2a.db, or memory with --profile bench]
    #[arg(long, value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<String>,
    /// Where nodes hear of each other in place of the database: nats://host, or nats://host/name
    /// where several clusters share a server
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) cluster: Option<String>,
    /// Name of this node in a store that nodes share [default: a fresh one]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// File with the keys, newest first, that secrets of webhooks are encrypted with at rest;
    /// the variable A2ACLI_SECRET_KEY has the keys themselves
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) secret_key_file: Option<PathBuf>,
    /// How long a task is kept after its end [default: for good]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) retention: Option<Duration>,
    /// How long a task is kept that waits for its user or for an authorization
    #[arg(long, default_value = "720h", value_name = "DURATION", value_parser = value::duration)]
    pub(crate) parked_retention: Option<Duration>,
}

impl Keeping {
    /// The first of these flags that is given.
    pub(crate) fn first_flag(&self) -> Option<&'static str> {
        [
            ("--store", self.store.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--node", self.node.is_some()),
            ("--secret-key-file", self.secret_key_file.is_some()),
            ("--retention", self.retention.is_some()),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}
