use std::fmt;

use crate::{Nats, Postgres, Skipped, nats, postgres};

/// The servers for tests, for a program that runs them.
///
/// Servers started for it end with the program.
#[derive(Debug)]
pub struct Servers {
    postgres: Result<&'static Postgres, Skipped>,
    nats: Result<&'static Nats, Skipped>,
}

impl Servers {
    /// Finds or starts the servers; blocks until they respond.
    pub fn find() -> Self {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime of one thread needs little")
            .block_on(async {
                let (postgres, nats) = tokio::join!(postgres(), nats());
                Self { postgres, nats }
            })
    }

    /// The environment variables for tests. An empty value means that there is no server.
    pub fn environment(&self) -> [(&'static str, &str); 2] {
        [
            ("DATABASE_URL", self.postgres.as_ref().map_or("", |server| server.url())),
            ("NATS_URL", self.nats.as_ref().map_or("", |server| server.url())),
        ]
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.postgres {
            Ok(postgres) => write!(f, "{postgres}"),
            Err(skipped) => write!(f, "SKIPPED, {skipped}"),
        }?;
        match &self.nats {
            Ok(nats) => write!(f, "; {nats}"),
            Err(skipped) => write!(f, "; SKIPPED, {skipped}"),
        }
    }
}
