//! Agent cards: signed here and verified by the SDK, and vice versa.

use std::process::Command;

use crate::Result;

use super::{Bench, matrix::Matrix, process, sdk::Programs};

/// The algorithms, in place of the bindings of other matrices.
pub(super) const ALGORITHMS: [&str; 3] = ["ES256", "EdDSA", "RS256"];

impl Bench {
    pub(super) fn cards(&self, sdk: &Programs, matrix: &mut Matrix) -> Result {
        let peer = &*sdk.sdk.name;
        let command = |mut program: Command, verb: &str, algorithm: &str| {
            let folder = self.target.join("cards").join(peer).join(algorithm);
            program.arg(verb).arg(folder).arg(algorithm);
            program
        };
        let ours = |verb: &str, algorithm: &str| {
            command(Command::new(self.binaries.join("interop-cards")), verb, algorithm)
        };
        let theirs = |verb: &str, algorithm: &str| command(sdk.command("cards"), verb, algorithm);
        for algorithm in ALGORITHMS {
            process::succeed(&mut ours("make", algorithm))?;
            process::succeed(&mut theirs("sign", algorithm))?;
        }
        let verifies = |algorithm: &'static str| theirs("verify", algorithm);
        self.columns(peer, "verifier", &ALGORITHMS, verifies, matrix)?;
        let verified = |algorithm: &'static str| ours("verify", algorithm);
        self.columns(peer, "signer", &ALGORITHMS, verified, matrix)
    }
}
