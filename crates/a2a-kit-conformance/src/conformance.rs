//! Configuration of a run, and the run itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use a2a_core::{AgentCard, ProtocolVersion, host};
use a2a_kit_client::{ClientSettings, Transport, credentials::Origin};
use a2a_kit_http::client::HttpClient;
use a2a_kit_lint::{CheckResult, Severity};
use derive_setters::Setters;
use http::Uri;
use serde_json::{Value, json};

use crate::{
    check::{self, Check, Judge},
    evidence::{CardEvidence, Evidence},
    exchange::Exchange,
    fetch::{self, Fetched, RunError},
    glob,
    identity::{self, Credential, Identity},
    interfaces::{self, Interface},
    known::KnownResults,
    prompts::Prompts,
    recorder::Recorder,
    report::{CheckInfo, Report, result},
    scenario,
    step::Step,
    verdict::Verdict,
    webhook::Webhook,
    wire::{Call, Link, MAX_BODY_BYTES, RawHttp},
};

/// A conformance run: which checks, against what.
///
/// ```no_run
/// use a2a_kit_conformance::{Conformance, lint::Severity};
///
/// # async fn example() -> Result<(), a2a_kit_conformance::RunError> {
/// let conformance = Conformance::builder().with_level(Severity::Warning);
/// let report = conformance.run("localhost:8080", |_| {}).await?;
/// assert!(report.failures().next().is_none(), "{}", report.to_text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Conformance {
    /// The lowest level of requirements that is checked, as the severity of their violation. Default:
    /// [`Severity::Error`], requirements with MUST.
    pub level: Severity,
    /// Patterns of ids to check, with `*` and `?`; none for all. Default: none.
    pub only: Vec<String>,
    /// Patterns of ids to leave out. Default: none.
    pub skip: Vec<String>,
    /// The bindings to check; none for all of the card. Default: none.
    pub bindings: Vec<Transport>,
    /// The revisions to check; none for all of the card. One that the card does not list is tried
    /// at the URLs of the others. Default: none.
    pub versions: Vec<ProtocolVersion>,
    /// Texts that make the agent behave in a certain way. What they lack is filled in for the demo
    /// agent of `a2a serve`, by the skills of its card.
    pub prompts: Prompts,
    /// Results that are known and accepted. Default: none.
    pub known: KnownResults,
    /// The credentials of the caller. Default: none.
    pub credentials: Vec<Credential>,
    /// The credentials of another caller, who must not reach the tasks of the first.
    /// Default: none.
    pub second_credentials: Vec<Credential>,
    /// Origins besides the card's to which credentials are sent. Default: none.
    pub credential_origins: Vec<Origin>,
    /// Settings of the HTTP client: TLS, connect timeout, observer.
    pub client: ClientSettings,
    /// Timeout of a request, and of each stream. Default: 15 s.
    pub request_timeout: Duration,
    /// The most time that the run takes. Default: 5 min.
    pub timeout: Duration,
}

impl Default for Conformance {
    fn default() -> Self {
        Self {
            level: Severity::Error,
            only: Vec::new(),
            skip: Vec::new(),
            bindings: Vec::new(),
            versions: Vec::new(),
            prompts: Prompts::default(),
            known: KnownResults::default(),
            credentials: Vec::new(),
            second_credentials: Vec::new(),
            credential_origins: Vec::new(),
            client: ClientSettings::default(),
            request_timeout: Duration::from_secs(15),
            timeout: Duration::from_secs(300),
        }
    }
}

/// The most bytes of responses that a run keeps.
const MAX_RECORDED_BYTES: usize = 48 << 20;

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The interface that is checked: binding, revision and URL.
    pub interface: String,
    /// How many requests were made on it.
    pub requests: usize,
}

impl Conformance {
    /// Creates a run with default settings.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Returns what would be checked, in the order of reports.
    pub fn checks(&self) -> Vec<CheckInfo> {
        self.selected().map(CheckInfo::from).collect()
    }

    fn selected(&self) -> impl Iterator<Item = &'static Check> {
        check::all().filter(|check| self.selects(check))
    }

    fn selects(&self, check: &Check) -> bool {
        let matches =
            |patterns: &[String]| patterns.iter().any(|one| glob::matches(one, check.rule.id));
        check.rule.severity <= self.level
            && (self.only.is_empty() || matches(&self.only))
            && !matches(&self.skip)
    }

    /// Checks the agent whose card is at `target`: a host, a URL or a file, as
    /// [`CardReference`](a2a_kit_client::CardReference) reads it.
    ///
    /// Cancels only tasks, and deletes only push notification configs, that it created itself.
    ///
    /// # Errors
    ///
    /// [`RunError`] if there is no card, or nothing to check in it.
    pub async fn run(
        &self,
        target: &str,
        on_progress: impl Fn(&Progress) + Send + Sync,
    ) -> Result<Report, RunError> {
        // Erased, and on the heap: it is large, and compiled once.
        Box::pin(self.run_all(target, &on_progress)).await
    }

    async fn run_all(
        &self,
        target: &str,
        on_progress: &(dyn Fn(&Progress) + Send + Sync),
    ) -> Result<Report, RunError> {
        let start = Instant::now();
        let deadline = start + self.timeout;
        let mut settings = self.client.clone();
        settings.max_redirects = 0;
        settings.idle_timeout = Some(self.request_timeout);
        settings.max_response_bytes = MAX_BODY_BYTES;
        let client = HttpClient::new(settings.clone())
            .map_err(|error| RunError::Setup(error.message().to_owned()))?;
        let http = RawHttp::new(client, self.request_timeout);
        let fetched = fetch::fetch(target, &http, &self.credentials).await?;
        let mut secrets = identity::secrets(&self.credentials);
        secrets.extend(identity::secrets(&self.second_credentials));
        let mut report = Report::new(target, &fetched.evidence.document, self.level);
        let prompts = self.prompts.clone().or_of_card(&fetched.card);
        let interfaces = interfaces::selected(&fetched.interfaces, &self.bindings, &self.versions);
        if interfaces.is_empty() && !fetched.interfaces.is_empty() {
            let names: Vec<_> = fetched.interfaces.iter().map(Interface::name).collect();
            return Err(RunError::NoInterface(names.join(", ")));
        }
        let webhook = webhook(&interfaces, &fetched.card).await;
        let mut card = fetched.evidence.clone();
        if !card.is_current() {
            card.probe = probe(&fetched, &http, &settings).await;
        }
        let room = AtomicUsize::new(MAX_RECORDED_BYTES);
        let mut links = Vec::new();
        let mut all: Vec<Evidence> = Vec::new();
        let mut ended = Vec::new();
        for interface in &interfaces {
            let link = match self.link(interface, &fetched, http.clone(), &settings) {
                Ok(link) => link,
                Err(why) => {
                    report.unreachable.push(format!("{}: {why}", interface.name()));
                    continue;
                }
            };
            if let Some(webhook) = &webhook {
                webhook.clear();
            }
            let requests = AtomicUsize::new(0);
            let on_request = || {
                let requests = requests.fetch_add(1, Ordering::Relaxed) + 1;
                on_progress(&Progress { interface: interface.name(), requests });
            };
            let (binding, version) = (interface.binding, interface.version);
            let card = Arc::clone(&fetched.card);
            let recorder = Recorder {
                link: &link,
                prompts: &prompts,
                webhook: webhook.as_ref(),
                evidence: Evidence::new(binding, version, interface.url.as_str(), card),
                deadline,
                room: &room,
                on_request: &on_request,
                silence: 0,
                started: Vec::new(),
            };
            let (evidence, id) = if interface.version == ProtocolVersion::V1_0 {
                Box::pin(scenario::run(recorder)).await
            } else {
                (Box::pin(scenario::run_legacy(recorder)).await, None)
            };
            all.push(evidence);
            ended.push(id);
            links.push(link);
        }
        across(&links, &mut all, &ended, deadline).await;
        self.judge(&card, &all, &secrets, &mut report);
        report.unused_known = self.known.apply(&mut report.results);
        report.prompts = prompts;
        report.duration = start.elapsed();
        Ok(report)
    }

    fn link(
        &self,
        interface: &Interface,
        fetched: &Fetched,
        http: RawHttp,
        settings: &ClientSettings,
    ) -> Result<Link, String> {
        let has_credentials = !self.credentials.is_empty() || !self.second_credentials.is_empty();
        if has_credentials && !self.trusts(interface, fetched) {
            return Err(
                "credentials are not sent to another origin than the card's, unless it is \
                        named as a credential origin"
                    .to_owned(),
            );
        }
        let mut link = Link::new(interface, http, settings)?;
        link.first = Identity::new(&self.credentials, &fetched.card);
        link.second = (!self.second_credentials.is_empty())
            .then(|| Identity::new(&self.second_credentials, &fetched.card));
        let required = fetched.card.extensions().iter().filter(|extension| extension.required);
        link.required_extensions = required.map(|extension| extension.uri.clone()).collect();
        Ok(link)
    }

    /// Returns whether an interface may get credentials: it is where the card is, or in a file that
    /// the user has.
    fn trusts(&self, interface: &Interface, fetched: &Fetched) -> bool {
        let Some(of_card) = &fetched.origin else { return true };
        let (Ok(of_card), Ok(origin)) =
            (of_card.parse::<Origin>(), interface.url.parse::<Origin>())
        else {
            return false;
        };
        origin.is_equivalent(&of_card)
            || self.credential_origins.iter().any(|trusted| trusted.is_equivalent(&origin))
    }

    fn judge(
        &self,
        card: &CardEvidence,
        all: &[Evidence],
        secrets: &[String],
        report: &mut Report,
    ) {
        let is_current = |one: &&Evidence| one.version == ProtocolVersion::V1_0;
        let current: Vec<_> = all.iter().filter(is_current).collect();
        for check in self.selected() {
            let mut verdict = Verdict::new(&check.rule, secrets);
            match check.judge {
                Judge::Card(judge) => judge(card, &mut verdict),
                Judge::Together(_) if current.is_empty() => continue,
                Judge::Together(judge) => judge(&current, &mut verdict),
                _ => {
                    let all = all.iter().filter(|one| check.applies(one.binding, one.version));
                    report.results.extend(all.map(|one| result(check, one, secrets)));
                    continue;
                }
            }
            report.results.push(CheckResult::new(&check.rule, "agent", verdict.finish()));
        }
    }
}

/// A local webhook, if the agent is on this machine and sends notifications.
async fn webhook(interfaces: &[Interface], card: &AgentCard) -> Option<Webhook> {
    let is_local = |interface: &Interface| {
        let url = interface.url.parse::<Uri>();
        url.is_ok_and(|url| url.host().is_some_and(host::is_loopback))
    };
    if !card.can_push() || !interfaces.iter().all(is_local) {
        return None;
    }
    // Without a port, deliveries are not measured.
    Webhook::start().await.ok()
}

/// Asks the first card's URL in 1.0, whose interfaces it does not list.
async fn probe(fetched: &Fetched, http: &RawHttp, settings: &ClientSettings) -> Option<Exchange> {
    let url = match fetched.interfaces.first() {
        Some(one) => (one.binding == Transport::JsonRpc).then_some(one.url.as_str()),
        None => fetched.evidence.document.get("url").and_then(Value::as_str),
    };
    let url = url.map(str::to_owned).or_else(|| fetched.origin.clone())?;
    let (binding, version) = (Transport::JsonRpc, ProtocolVersion::V1_0);
    let interface = Interface { binding, version, url, tenant: String::new() };
    let link = Link::new(&interface, http.clone(), settings).ok()?;
    let id = uuid::Uuid::new_v4().to_string();
    Some(link.call(Call::new("GetTask", json!({ "id": id }))).await)
}

/// Reads a task of another interface on each interface of 1.0.
async fn across(links: &[Link], all: &mut [Evidence], ended: &[Option<String>], deadline: Instant) {
    for (at, link) in links.iter().enumerate() {
        if link.version != ProtocolVersion::V1_0 || Instant::now() >= deadline {
            continue;
        }
        let other =
            ended.iter().enumerate().find_map(|(other, id)| id.as_ref().filter(|_| other != at));
        let Some(evidence) = all.get_mut(at) else { continue };
        match other {
            Some(id) => {
                let exchange = link.call(Call::new("GetTask", json!({ "id": id }))).await;
                evidence.push(Step::GetFromOtherInterface, exchange);
            }
            None => evidence.note_missing(
                Step::GetFromOtherInterface,
                "no other interface has a task that ended",
            ),
        }
    }
}
