//! `a2a auth hash-password`.

use std::{fs::File, io};

use argon2::{Argon2, PasswordHasher as _, password_hash};
use clap::Args;
use serde_json::json;

use crate::{failure::Failure, output::Output, token::read_secret};

/// Maximum length of a password, in bytes; servers reject longer ones.
const MAX_PASSWORD: usize = 1 << 10;

#[derive(Args, Debug)]
pub(crate) struct HashPassword {
    /// File with the password, or - for standard input. A trailing line break is ignored
    #[arg(value_name = "FILE")]
    file: String,
}

impl HashPassword {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        let password = match self.file.as_str() {
            "-" => read_secret(io::stdin().lock(), MAX_PASSWORD),
            path => File::open(path).and_then(|file| read_secret(file, MAX_PASSWORD)),
        };
        let password = password
            .map_err(|error| Failure::usage(format!("failed to read {}: {error}", self.file)))?;
        if password.is_empty() || password.len() > MAX_PASSWORD {
            return Err(Failure::usage(format!(
                "invalid password (expected 1 to {MAX_PASSWORD} bytes)"
            )));
        }
        let hash = hash(&password)
            .map_err(|error| Failure::internal(format!("failed to hash the password: {error}")))?;
        output.result(&json!({ "passwordHash": hash }), |text| {
            text.line("Password hash", &hash);
        })
    }
}

/// Hashes a password with the default parameters of the crate, which OWASP recommends.
fn hash(password: &str) -> Result<String, password_hash::Error> {
    let salt = uuid::Uuid::new_v4();
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), salt.as_bytes())?;
    Ok(hash.to_string())
}
