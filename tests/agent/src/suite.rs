//! What suites and measurements change about `a2a serve`.

use std::ffi::OsString;

use a2a_core::{AgentCard, Error, ErrorKind};
use a2a_kit::Server;
use a2a_kit_auth::server::{BearerTokens, Guard, Throttle};
use a2a_kit_operations::{Caller, Engine, EngineBuilder};
use a2a_kit_script::{Builtins, Script};

use crate::{bench_agent::BenchAgent, command_line::CommandLine, parse_response::ParseResponse};

const CONFORMANCE: &str = include_str!("conformance.toml");
/// The default rule with `--default complete`, and without it.
const COMPLETES: &str = r#"[default]
steps = [
    { state = "working" },
    { artifact = { name = "echo", text = "Echo: {text}" } },
    { state = "completed" },
]"#;
const ASKS: &str = r#"[default]
steps = [
    { state = "working" },
    { wait = "300ms" },
    { state = "input-required", text = "Echo: {text}" },
]"#;
const BENCH: &str = r#"[card]
name = "Bench agent"
description = "Answers with as little work as possible"
provider = { organization = "Example", url = "https://example.com" }

[[card.skills]]
id = "bench"
name = "Bench"
description = "stream:N, hold, history:N, or anything to echo"
tags = ["bench"]
examples = ["stream:1000"]
"#;

/// The token that is accepted with `ITK_ACTS_AUTH`.
const VALID: &str = "itk-valid-token";
/// The token that is known and allows nothing: 403 in place of 401.
const INSUFFICIENT: &str = "itk-insufficient-token";
/// The caller with that token.
const LIMITED: &str = "limited";

/// An agent for suites.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Suite {
    profile: Profile,
    /// Whether messages that no name selects complete the task.
    completes: bool,
    token: Option<Token>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Profile {
    #[default]
    Demo,
    Conformance,
    Bench,
}

/// The accepted token, and what it protects.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Everything,
    ExtendedCard(String),
}

impl Suite {
    /// Reads the flags of the test agent, and the variables that `is_switched` says are 1. Returns
    /// the remaining arguments, with the flags of `a2a serve` that the others stand for.
    ///
    /// # Errors
    ///
    /// What is wrong with a flag.
    pub(crate) fn read(
        arguments: Vec<OsString>,
        is_switched: impl Fn(&str) -> bool,
    ) -> Result<(Self, Vec<OsString>), String> {
        let mut suite = Self::default();
        let Some(mut line) = CommandLine::of_serve(&arguments) else {
            return Ok((suite, arguments));
        };
        match line.take("--profile").as_deref() {
            None | Some("demo") => {}
            Some("conformance") => {
                suite.profile = Profile::Conformance;
                for host in ["127.0.0.0/8", "::1", "localhost"] {
                    line.add(&format!("--allow-webhook={host}"));
                }
            }
            Some(name @ ("bench" | "bench-defaults")) => {
                suite.profile = Profile::Bench;
                if name == "bench" {
                    line.add_default("--store=memory", &[]);
                    line.add_default("--quiet", &[]);
                    // It measures the library, which records no metrics by default.
                    line.add_default("--no-metrics", &["--metrics-listen"]);
                }
                // It has no data that a page could read, and load generators use any host.
                line.add("--allowed-host=*");
            }
            Some(other) => {
                let expected = "expected demo, conformance, bench or bench-defaults";
                return Err(format!("--profile {other}: {expected}"));
            }
        }
        suite.completes = match line.take("--default").as_deref() {
            None => false,
            Some("complete") if suite.profile == Profile::Conformance => true,
            Some("complete") => return Err("--default is only for --profile conformance".into()),
            Some(other) => return Err(format!("--default {other}: expected complete")),
        };
        if is_switched("ITK_ACTS_REDUCED_CAPABILITIES") {
            for flag in ["--no-streaming", "--no-push", "--no-extended-card"] {
                line.add_default(flag, &[]);
            }
        }
        if is_switched("ITK_ACTS_AUTH") {
            line.take("--extended-card-token");
            line.add(&format!("--require-bearer={VALID}"));
            suite.token = Some(Token::Everything);
        } else {
            suite.token = line.value("--extended-card-token").map(Token::ExtendedCard);
        }
        Ok((suite, line.into_arguments()))
    }
}

impl a2a_kit_cli::DemoAgent for Suite {
    fn script(&self, demo: Script) -> Script {
        let default = if self.completes { COMPLETES } else { ASKS };
        let names = || parse("conformance.toml", &format!("{CONFORMANCE}\n{default}\n"));
        match self.profile {
            Profile::Demo => names().or_else(demo),
            Profile::Conformance => names(),
            Profile::Bench => parse("bench.toml", BENCH),
        }
    }

    fn engine(&self, card: AgentCard, script: Script) -> EngineBuilder {
        match self.profile {
            Profile::Bench => Engine::builder(card, BenchAgent),
            Profile::Demo | Profile::Conformance => Engine::builder(card, script),
        }
    }

    fn server(&self, server: Server) -> Server {
        let accepted = match &self.token {
            None => return server,
            Some(Token::Everything) => VALID,
            Some(Token::ExtendedCard(token)) => token,
        };
        let tokens = BearerTokens::new()
            .with_token(accepted, Caller::authenticated("suite"))
            .with_token(INSUFFICIENT, Caller::authenticated(LIMITED));
        let guard = Guard::new()
            .with_verifier("bearer", tokens)
            // Suites send wrong tokens on purpose, and the right one is public.
            .with_throttle(Throttle::default().with_failures_allowed(u32::MAX))
            .with_policy(|caller, _, _| match caller.subject() {
                Some(LIMITED) => {
                    let message = "the token does not allow this operation";
                    Err(Error::new(ErrorKind::PermissionDenied, message))
                }
                _ => Ok(()),
            });
        server.with_auth(match self.token {
            Some(Token::ExtendedCard(_)) => guard.with_extended_card_only(),
            _ => guard,
        })
    }
}

#[expect(clippy::expect_used, reason = "a test reads every script")]
fn parse(name: &str, text: &str) -> Script {
    let builtins = Builtins::new().with("parse_response", ParseResponse);
    builtins.parse(name, text).expect("the script is valid")
}

#[cfg(test)]
mod tests {
    use a2a_kit_cli::DemoAgent as _;

    use super::*;

    fn read(line: &str, variables: &[&str]) -> Result<(Suite, String), String> {
        let arguments = line.split(' ').map(OsString::from).collect();
        let (suite, rest) = Suite::read(arguments, |name| variables.contains(&name))?;
        let rest: Vec<_> = rest.iter().map(|one| one.to_str().unwrap()).collect();
        Ok((suite, rest.join(" ")))
    }

    #[test]
    fn scripts_of_all_profiles_are_valid() {
        for profile in ["demo", "conformance", "conformance --default complete", "bench"] {
            let (suite, _) = read(&format!("a2a serve --profile {profile}"), &[]).unwrap();
            suite.script(parse("empty.toml", ""));
        }
    }

    #[test]
    fn flags_of_the_test_agent_are_replaced_by_those_of_serve() {
        for (line, variables, rest) in [
            ("a2a serve --port 0", &[][..], "a2a serve --port 0"),
            ("a2a send --profile x", &[], "a2a send --profile x"),
            ("a2a serve --profile demo --echo", &[], "a2a serve --echo"),
            ("a2a serve -- cat --profile bench", &[], "a2a serve -- cat --profile bench"),
            (
                "a2a serve --profile=bench --quiet --store x.db --port 1",
                &[],
                "a2a serve --allowed-host=* --no-metrics --quiet --store x.db --port 1",
            ),
            (
                "a2a serve --profile bench-defaults --store x.db",
                &[],
                "a2a serve --allowed-host=* --store x.db",
            ),
            (
                "a2a serve --no-push",
                &["ITK_ACTS_REDUCED_CAPABILITIES"],
                "a2a serve --no-extended-card --no-streaming --no-push",
            ),
            (
                "a2a serve --extended-card-token t",
                &["ITK_ACTS_AUTH"],
                "a2a serve --require-bearer=itk-valid-token",
            ),
        ] {
            assert_eq!(read(line, variables).unwrap().1, rest, "{line}");
        }
    }

    #[test]
    fn unknown_profiles_and_misplaced_defaults_are_errors() {
        for line in [
            "a2a serve --profile demos",
            "a2a serve --default complete",
            "a2a serve --profile conformance --default echo",
        ] {
            read(line, &[]).unwrap_err();
        }
    }
}
