//! `a2a conformance`: checks an agent.

use std::path::{Path, PathBuf};

use a2a_kit_client::Transport;
use a2a_kit_conformance::{
    CheckInfo, Conformance as Run, Credential, KnownResults, Progress, Prompts, Report, RunError,
};
use a2a_kit_lint::Severity;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::report_format::{ReportFormat, pretty, yaml};
use crate::{
    agent::service_headers,
    failure::{Code, Failure},
    output::Output,
    settings::{Settings, UNLIMITED, UserSecret, value},
};

#[derive(Args, Debug)]
pub(crate) struct Conformance {
    /// Lowest level of requirements to check: must, should or may
    #[arg(long, value_name = "LEVEL", default_value = "must", value_parser = level)]
    level: Severity,
    /// Check only requirements whose id matches; `*` and `?` are wildcards. Repeatable
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Leave out requirements whose id matches. Repeatable
    #[arg(long, value_name = "GLOB")]
    skip: Vec<String>,
    /// List the checks instead of running them
    #[arg(long)]
    list: bool,
    /// Check only this binding: jsonrpc, http+json (or rest), grpc. Repeatable; as --transport
    #[arg(long, value_name = "BINDING", value_parser = value::binding)]
    binding: Vec<Transport>,
    /// Texts that make the agent behave in a certain way, as `ask=Which city?,slow=work`: hello, ask,
    /// stream, slow, artifact, message, fail. `\,` is a comma in a text. Repeatable [default: those of
    /// the demo agent, if the card has its skills]
    #[arg(long, value_name = "LIST")]
    prompt_for: Vec<String>,
    /// Use the built-in prompts for a known agent
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,
    /// Bearer token of another caller, who must not reach the tasks of the first
    #[arg(long, value_name = "TOKEN")]
    second_bearer: Option<String>,
    /// API key of another caller, who must not reach the tasks of the first
    #[arg(long, value_name = "KEY")]
    second_api_key: Option<String>,
    /// Format of the report [default: text; with -o json: json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    /// Write the report to a file, and a text report to stdout
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// File with results that are known and accepted, one a line, as `R-058 GRPC*: the reason`
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Exit with status 1 if a requirement could not be measured
    #[arg(long)]
    require_measured: bool,
    /// Exit with status 0 even if a check fails
    #[arg(long)]
    exit_zero: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    Demo,
}

fn level(text: &str) -> Result<Severity, String> {
    [Severity::Error, Severity::Warning, Severity::Info]
        .into_iter()
        .find(|level| level.keyword().eq_ignore_ascii_case(text.trim()))
        .ok_or_else(|| format!("unknown level {text:?} (expected must, should or may)"))
}

impl Conformance {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let run = self.configured(settings)?;
        let format = ReportFormat::or_of(self.format, settings.output);
        if run.checks().is_empty() {
            return Err(Failure::usage(format!(
                "no check of level {} has an id that --only and --skip select",
                self.level.keyword()
            ))
            .with_hint("list the checks with `a2a conformance --list --level may`"));
        }
        if self.list {
            return self.print(&list(&run.checks(), format)?, settings.output);
        }
        let target = settings.agent_card()?;
        let shows_progress = settings.output.shows_progress();
        let report = run
            .run(target, |Progress { interface, requests, .. }| {
                if shows_progress {
                    settings.output.progress(&format!("{interface}: {requests} requests"));
                }
            })
            .await;
        if shows_progress {
            settings.output.progress("");
        }
        let report = report.map_err(|error| failure(&error))?;
        self.print(&written(&report, format)?, settings.output)?;
        if self.report.is_some() {
            settings.output.document(&report.to_text())?;
        }
        let is_measured = !self.require_measured || report.summary().not_measured == 0;
        if report.is_conformant() && is_measured || self.exit_zero {
            return Ok(());
        }
        Err(Failure::new(Code::Reported, "checks failed, or were not measured"))
    }

    /// Writes to the file of `--report`, else to stdout.
    fn print(&self, text: &str, output: Output) -> Result<(), Failure> {
        let Some(path) = &self.report else { return output.document(text) };
        std::fs::write(path, text).map_err(|error| {
            Failure::usage(format!("--report: failed to write {}: {error}", path.display()))
        })
    }

    fn configured(&self, settings: &Settings) -> Result<Run, Failure> {
        if settings.endpoint.is_some() {
            return Err(Failure::usage("--endpoint has no card to check: use --agent-card"));
        }
        let mut prompts = match self.profile {
            Some(Profile::Demo) => Prompts::demo(),
            None => Prompts::default(),
        };
        for list in &self.prompt_for {
            prompts.set(list).map_err(|error| Failure::usage(format!("--prompt-for: {error}")))?;
        }
        let known = match &self.known {
            Some(path) => known(path).map_err(|why| {
                Failure::usage(format!("--known: failed to read {}: {why}", path.display()))
            })?,
            None => KnownResults::default(),
        };
        let mut bindings = settings.transport.clone();
        bindings.extend(&self.binding);
        if self.second_bearer.is_some() || self.second_api_key.is_some() {
            settings.check_secret(UserSecret::Flag("second-bearer"))?;
        }
        let mut second = Vec::new();
        second.extend(self.second_bearer.clone().map(Credential::Bearer));
        second.extend(self.second_api_key.clone().map(Credential::ApiKey));
        Ok(Run::builder()
            .with_level(self.level)
            .with_only(self.only.clone())
            .with_skip(self.skip.clone())
            .with_bindings(bindings)
            .with_versions(settings.version.into_iter().collect::<Vec<_>>())
            .with_prompts(prompts)
            .with_known(known)
            .with_credentials(credentials(settings)?)
            .with_second_credentials(second)
            .with_credential_origins(settings.credential_origins.clone())
            .with_client(settings.http().with_connect_timeout(settings.request_timeout))
            .with_request_timeout(settings.request_timeout)
            .with_timeout(settings.timeout.unwrap_or(UNLIMITED)))
    }
}

fn known(path: &Path) -> Result<KnownResults, Box<dyn std::error::Error>> {
    Ok(std::fs::read_to_string(path)?.parse()?)
}

fn credentials(settings: &Settings) -> Result<Vec<Credential>, Failure> {
    let mut credentials = Vec::new();
    credentials.extend(settings.bearer.clone().map(Credential::Bearer));
    credentials.extend(settings.api_key.clone().map(Credential::ApiKey));
    credentials.extend(settings.basic.clone().map(Credential::Basic));
    let headers = service_headers(settings)?.into_iter();
    credentials.extend(headers.map(|(name, value)| Credential::Header(name, value)));
    Ok(credentials)
}

fn failure(error: &RunError) -> Failure {
    let code = match error {
        RunError::Reference(_) | RunError::NoInterface(_) => Code::Usage,
        RunError::Unreachable { .. } => Code::Unreachable,
        RunError::NotFound(_) => Code::CardNotFound,
        RunError::Denied { .. } => Code::CredentialsMissing,
        _ => Code::Internal,
    };
    Failure::new(code, error.to_string())
}

fn written(report: &Report, format: ReportFormat) -> Result<String, Failure> {
    Ok(match format {
        ReportFormat::Text => report.to_text(),
        ReportFormat::Json => pretty(&report.to_json())?,
        ReportFormat::Junit => report.to_junit(),
        ReportFormat::Sarif => pretty(&report.to_sarif())?,
        ReportFormat::Markdown => report.to_markdown(),
        ReportFormat::Yaml => yaml(&report.to_json()),
    })
}

/// The checks without results.
fn list(checks: &[CheckInfo], format: ReportFormat) -> Result<String, Failure> {
    let lines = |head: &str, line: fn(&CheckInfo) -> String| {
        checks.iter().fold(head.to_owned(), |text, check| text + &line(check))
    };
    Ok(match format {
        ReportFormat::Json => {
            let document = |check: &CheckInfo| {
                json!({
                    "id": check.rule.id, "level": check.rule.level(), "section": check.rule.section,
                    "title": check.rule.title, "scope": check.scope,
                })
            };
            pretty(&json!({ "checks": checks.iter().map(document).collect::<Vec<_>>() }))?
        }
        ReportFormat::Markdown => {
            let head =
                "| Id | Level | Section | Applies to | Requirement |\n|---|---|---|---|---|\n";
            lines(head, |CheckInfo { rule, scope, .. }| {
                let (id, level, section, title) = (rule.id, rule.level(), rule.section, rule.title);
                format!("| {id} | {level} | {section} | {scope} | {title} |\n")
            })
        }
        ReportFormat::Text => lines("", |CheckInfo { rule, scope, .. }| {
            format!("{}  {:6}  {} ({scope})\n", rule.id, rule.level(), rule.title)
        }),
        ReportFormat::Junit | ReportFormat::Sarif | ReportFormat::Yaml => {
            return Err(Failure::usage("--list has the formats text, json and markdown"));
        }
    })
}
