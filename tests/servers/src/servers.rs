use std::{fmt, path::Path};

use crate::{Nats, Postgres, Skipped, nats, nginx, postgres};

/// The servers for tests, for a program that runs them.
///
/// Servers started for it end with the program.
#[derive(Debug)]
pub struct Servers {
    postgres: Result<&'static Postgres, Skipped>,
    nats: Result<&'static Nats, Skipped>,
    /// The program, which tests start.
    nginx: Result<&'static Path, Skipped>,
}

impl Servers {
    /// Finds or starts the servers; blocks until they respond.
    pub fn find() -> Self {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime of one thread needs little")
            .block_on(async {
                let (postgres, nats, nginx) = tokio::join!(postgres(), nats(), nginx::program());
                Self { postgres, nats, nginx: nginx.inspect_err(Skipped::say) }
            })
    }

    /// The environment variables for tests. An empty value means that there is no server.
    pub fn environment(&self) -> [(&'static str, &str); 3] {
        [
            ("DATABASE_URL", self.postgres.as_ref().map_or("", |server| server.url())),
            ("NATS_URL", self.nats.as_ref().map_or("", |server| server.url())),
            ("NGINX", self.nginx.as_ref().map_or("", |path| path.to_str().unwrap_or_default())),
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
        }?;
        match self.nginx {
            Ok(program) => write!(f, "; {}", nginx::description(program)),
            Err(ref skipped) => write!(f, "; SKIPPED, {skipped}"),
        }
    }
}
