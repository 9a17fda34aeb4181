//! `a2a bench`: measures throughput and latency of an agent.

mod report;

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    time::Duration,
};

use a2a_core::{AgentCard, Error, ErrorKind, ProtocolVersion, host::is_loopback};
use a2a_kit_bench::{
    Amount, Baseline, BaselineError, BenchSettings, Load, MAX_CONCURRENCY, Operation, PrepareError,
    Stop, Summary, Target,
};
use a2a_kit_client::{CardReference, Transport};
use a2a_kit_http::uri;
use clap::{
    Args, ValueHint,
    builder::{PossibleValuesParser, TypedValueParser},
};
use report::Report;

use crate::{
    agent::{self, Connector},
    failure::{Code, Failure},
    settings::{Settings, value},
};

/// The longest text of a message, in bytes.
const MAX_PAYLOAD: usize = 10 << 20;

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// Operation to measure: send, stream, get, list or card
    #[arg(
        long = "op",
        value_name = "OPERATION",
        default_value = "send",
        hide_possible_values = true,
        value_parser = operation()
    )]
    operation: Operation,
    /// Number of requests to each interface
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "duration",
          value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// Duration of the measurement of each interface, instead of a number of requests
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    duration: Option<Duration>,
    /// Maximum number of requests in flight, up to 10000
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = concurrency)]
    concurrency: usize,
    /// Start this many requests per second, and measure latencies from the intended starts
    /// [default: start a request when the last one has ended]
    #[arg(long, value_name = "PER SECOND", value_parser = rate)]
    rate: Option<f64>,
    /// Number of requests before each measurement
    #[arg(long, value_name = "N", default_value_t = 50)]
    warmup: u64,
    /// Length of the text of messages, in bytes, up to 10MiB
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = payload)]
    payload: usize,
    /// Fail if a figure is worse than in this report (of -o json)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    baseline: Option<PathBuf>,
    /// How much worse a figure may be, in percent of the baseline
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent,
          requires = "baseline")]
    max_regress: f64,
    /// How many requests may fail, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    max_errors: f64,
    /// Allow targets other than this machine
    #[arg(long)]
    i_own_this_agent: bool,
}

impl Bench {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        self.require_permission(settings)?;
        let bench = BenchSettings::new(self.operation, self.payload, &self.load(settings));
        let baseline = self.baseline.as_ref().map(|path| baseline(path, &bench)).transpose()?;
        let stop = Stop::default();
        let interrupt = stop.clone();
        let signal = a2a_kit_http::shutdown_signal();
        let signals = tokio::spawn(async move {
            signal.await;
            interrupt.stop();
        });
        let mut summaries = Vec::new();
        let result = self.measure_all(settings, &stop, &mut summaries).await;
        signals.abort();
        result?;
        let limit = self.max_regress;
        let regressions = baseline.map(|baseline| baseline.compare(&summaries, limit));
        let report = Report {
            settings: bench,
            summaries,
            is_interrupted: stop.is_stopped(),
            max_errors: self.max_errors,
            regressions: regressions.unwrap_or_default(),
        };
        settings.output.result(&report.json(), |text| report.write(text))?;
        match report.is_good() {
            true => Ok(()),
            false if report.is_interrupted => Err(Failure::new(Code::ReportedInterrupted, "")),
            false => Err(Failure::new(Code::Reported, "")),
        }
    }

    /// Refuses a remote address before anything is sent to it.
    fn require_permission(&self, settings: &Settings) -> Result<(), Failure> {
        if let Some(url) = &settings.endpoint {
            return require_loopback(url, self.i_own_this_agent);
        }
        match settings.agent_card.as_deref().map(str::parse) {
            Some(Ok(CardReference::Url(url))) => {
                require_loopback(&url.to_string(), self.i_own_this_agent)
            }
            // Others are invalid, or files, whose interfaces are checked.
            _ => Ok(()),
        }
    }

    fn load(&self, settings: &Settings) -> Load {
        Load::new(self.duration.map_or(Amount::Requests(self.requests), Amount::Duration))
            .with_concurrency(self.concurrency)
            .with_rate(self.rate)
            .with_warmup(self.warmup)
            .with_drain(settings.request_timeout)
    }

    async fn measure_all(
        &self,
        settings: &Settings,
        stop: &Stop,
        summaries: &mut Vec<Summary>,
    ) -> Result<(), Failure> {
        if self.operation == Operation::Card {
            let target = Target::of_card(&card_url(settings)?, settings.http());
            let target = target.map_err(|error| Failure::internal(error.to_string()))?;
            summaries.push(self.measure(target, false, settings, stop).await?);
            return Ok(());
        }
        let mut connector = Connector::new(settings)?;
        let card = match &settings.endpoint {
            Some(url) => agent::of_endpoint(settings, url)?,
            None => {
                let document = connector.document().await?;
                let document =
                    document.map_err(|error| Failure::new(Code::CardInvalid, error.to_string()))?;
                let violations = document.violations();
                if !violations.is_empty() {
                    return Err(agent::invalid_card(&violations));
                }
                AgentCard::clone(&document.card)
            }
        };
        if self.operation == Operation::Stream && !card.can_stream() {
            let message = "the card does not declare streaming";
            return Err(Failure::protocol(ErrorKind::UnsupportedOperation, message));
        }
        let interfaces = interfaces(&card, settings)?;
        for index in &interfaces {
            require_loopback(&card.supported_interfaces[*index].url, self.i_own_this_agent)?;
        }
        for index in interfaces {
            if stop.is_stopped() {
                break;
            }
            let interface = card.supported_interfaces[index].clone();
            let connect = |http| connector.connect_with(&card, index, http);
            let target =
                Target::of_interface(interface, self.concurrency, settings.http(), connect);
            let target = target.map_err(|error| connector.failure(&error))?;
            let has_credential = connector.has_credential();
            summaries.push(self.measure(target, has_credential, settings, stop).await?);
        }
        Ok(())
    }

    async fn measure(
        &self,
        target: Target,
        has_credential: bool,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<Summary, Failure> {
        let failure = move |error: &Error| Failure::of_operation(error, has_credential);
        let target = target
            .with_operation(self.operation)
            .with_payload(self.payload)
            .with_timeout(settings.request_timeout)
            .with_error_names(move |error| failure(error).code.name());
        let target = target.prepare().await.map_err(|error| match error {
            PrepareError::Call(error) => failure(&error),
            PrepareError::TimedOut(_) => Failure::new(Code::Timeout, error.to_string()),
            error => Failure::usage(format!("--op get: {error}")),
        })?;
        let (label, output) = (target.label(), settings.output);
        let progress = |elapsed: Duration, requests, errors| {
            if output.shows_progress() {
                let seconds = elapsed.as_secs();
                output.progress(&format!(
                    "{label}: {requests} requests, {errors} failed, {seconds} s"
                ));
            }
        };
        let summary = self.load(settings).run_with_progress(target, stop, progress).await;
        if output.shows_progress() {
            output.progress("");
        }
        Ok(summary)
    }
}

/// Reads an earlier report.
fn baseline(path: &Path, settings: &BenchSettings) -> Result<Baseline, Failure> {
    let failure =
        |error: &dyn Display| Failure::usage(format!("--baseline {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failure(&error))?;
    Baseline::read(&text, settings).map_err(|error| match error {
        BaselineError::OtherSettings { .. } => {
            failure(&error).with_hint("measure the baseline again with the flags of this run")
        }
        error => failure(&error),
    })
}

/// The URL of the card that the settings name.
fn card_url(settings: &Settings) -> Result<String, Failure> {
    let reference = settings.agent_card()?;
    match reference.parse() {
        Ok(CardReference::Url(url)) => Ok(url.to_string()),
        Ok(_) => Err(Failure::usage(format!("--op card: {reference} is a file"))),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}

/// The interfaces to measure: of one version, the newest unless `--a2a-version` names another, and
/// with `--transport` only those bindings, in that order.
fn interfaces(card: &AgentCard, settings: &Settings) -> Result<Vec<usize>, Failure> {
    let known: Vec<(usize, Transport, ProtocolVersion)> = card
        .supported_interfaces
        .iter()
        .enumerate()
        .filter_map(|(index, interface)| {
            let transport = interface.protocol_binding.parse().ok()?;
            Some((index, transport, interface.protocol_version.parse().ok()?))
        })
        .collect();
    let newest = known.iter().map(|(.., version)| *version).max();
    let wanted = settings.version.or(newest);
    let mut selected: Vec<_> =
        known.into_iter().filter(|(.., version)| Some(*version) == wanted).collect();
    if !settings.transport.is_empty() {
        let place = |transport| settings.transport.iter().position(|one| *one == transport);
        selected.retain(|(_, transport, _)| place(*transport).is_some());
        selected.sort_by_key(|(_, transport, _)| place(*transport));
    }
    if selected.is_empty() {
        let message = "the card has no interface with the requested bindings and version";
        return Err(Failure::protocol(ErrorKind::UnsupportedOperation, message)
            .with_hint("see the interfaces with `a2a card get`"));
    }
    Ok(selected.into_iter().map(|(index, ..)| index).collect())
}

fn operation() -> impl TypedValueParser<Value = Operation> {
    PossibleValuesParser::new(["send", "stream", "get", "list", "card"])
        .try_map(|name| serde_json::from_value::<Operation>(name.into()))
}

fn concurrency(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_CONCURRENCY).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MAX_CONCURRENCY}"))
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|rate: &f64| *rate >= 0.001 && *rate <= 1e6);
    number.ok_or_else(|| "expected requests per second, from 0.001 to 1000000".to_owned())
}

fn payload(text: &str) -> Result<usize, String> {
    let length = value::bytes(text)?;
    let is_allowed = (1..=MAX_PAYLOAD).contains(&length);
    if is_allowed { Ok(length) } else { Err("expected 1 byte to 10MiB".to_owned()) }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    number.ok_or_else(|| "expected a percentage, at least 0".to_owned())
}

/// Refuses targets other than the machine itself, unless the user owns the agent.
fn require_loopback(address: &str, is_owner: bool) -> Result<(), Failure> {
    let parsed = uri::parse(address).or_else(|_| uri::parse(&format!("https://{address}")));
    let is_local = parsed.is_ok_and(|url| url.host().is_some_and(is_loopback));
    if is_local || is_owner {
        return Ok(());
    }
    Err(Failure::usage(format!("{address} is not on this machine"))
        .with_hint("to put load on an agent of yours, add --i-own-this-agent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_called_without_permission() {
        for local in ["http://127.0.0.1:1/rpc", "localhost:50051", "[::1]:1", "http://localhost"] {
            assert!(require_loopback(local, false).is_ok(), "{local}");
        }
        for remote in ["https://agent.example", "10.0.0.1:1", "agent:50051", "", "http://"] {
            let failure = require_loopback(remote, false).unwrap_err();
            assert_eq!(failure.code.exit(), 2, "{remote}");
            assert!(failure.hint().unwrap().contains("--i-own-this-agent"));
            assert!(require_loopback(remote, true).is_ok(), "{remote}");
        }
    }
}
