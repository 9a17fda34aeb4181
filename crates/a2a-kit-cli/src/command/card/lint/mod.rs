//! `a2a card lint`: checks a card for errors and bad practice.

mod report;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use a2a_kit_auth::card::{CardVerification, SignatureError};
use a2a_kit_client::{CardReference, Document};
use a2a_kit_conformance::{CardResponses, check_interfaces};
use a2a_kit_lint::{
    self as lint, Findings, Fixed, Subject, apply_fixes,
    network::{BROKEN_SIGNATURE, UNVERIFIED_SIGNATURE},
};
use clap::{Args, ValueHint};

use self::report::Report;
use super::{super::report_format::ReportFormat, trust::Trust};
use crate::{
    agent::Connector,
    failure::{Code, Failure},
    output::Output,
    settings::Settings,
};

/// Maximum number of rounds of `--fix`; each applies one edit for each place.
const MAX_ROUNDS: usize = 8;

#[derive(Args, Debug)]
pub(crate) struct Lint {
    /// Agent, as for --agent-card
    #[arg(value_name = "REF")]
    pub(super) reference: Option<String>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Call each interface, and check how the card is served
    #[arg(long)]
    live: bool,
    /// Write the card with fixes: to --out, or to the file that it comes from
    #[arg(long)]
    fix: bool,
    /// File for the fixed card
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "fix")]
    out: Option<PathBuf>,
    /// Format of the report [default: that of --output]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    /// List the rules
    #[arg(long, conflicts_with_all = ["reference", "fix", "live", "strict"])]
    list: bool,
    #[command(flatten)]
    trust: Trust,
}

impl Lint {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let format = ReportFormat::or_of(self.format, settings.output);
        if self.list {
            return list(format, settings.output);
        }
        let responses = Arc::new(CardResponses::before(settings.observer.clone()));
        let settings = Settings {
            // The card as it is served now, with the headers of the response.
            cache_directory: None,
            observer: if self.live { Some(responses.clone()) } else { settings.observer.clone() },
            ..settings.clone()
        };
        let reference = settings.agent_card.clone().unwrap_or_default();
        let target = self.fix.then(|| self.target(&reference)).transpose()?;
        let verifier = self.trust.verifier(&settings)?;
        let mut connector = Connector::new(&settings)?;
        let mut document = match connector.document().await? {
            Ok(document) => document,
            Err(error) => {
                let findings = lint::malformed(&error);
                let report = Report::new(&reference, b"", findings, self.strict, false);
                return self.finish(&report, format, settings.output);
            }
        };
        let url = match reference.parse() {
            Ok(CardReference::Url(url)) => url.to_string(),
            _ => String::new(),
        };
        let mut live = Findings::default();
        if self.live && !url.is_empty() {
            responses.check(settings.http(), &mut live).await;
        }
        let check = async |document: &Document| {
            let mut findings = lint::check(&subject(document, &url));
            check_signatures(&verifier.verify(&document.json).await, &mut findings);
            findings
        };
        let mut findings = check(&document).await;
        let mut fixed = 0;
        if let Some(target) = &target {
            for _ in 0..MAX_ROUNDS {
                let Some(text) = fix(&document, &findings) else { break };
                fixed += text.fixed;
                document = reread(text, &document)?;
                findings = check(&document).await;
            }
            self.write(target, &document, fixed, settings.output)?;
        }
        if self.live {
            let subject = subject(&document, &url);
            let connect = |index| connector.connect(&document.card, index);
            check_interfaces(&document.card, &subject, connect, &mut live).await;
        }
        findings.append(live);
        let mut report = Report::new(&reference, &document.json, findings, self.strict, self.live);
        report.fixed = fixed;
        self.finish(&report, format, settings.output)
    }

    fn finish(&self, report: &Report, format: ReportFormat, output: Output) -> Result<(), Failure> {
        report.print(format, output)?;
        if report.is_valid() { Ok(()) } else { Err(Failure::new(Code::Reported, "")) }
    }

    /// The file for the fixed card.
    fn target(&self, reference: &str) -> Result<PathBuf, Failure> {
        match (&self.out, reference.parse()) {
            (Some(out), _) => Ok(out.clone()),
            // Through a symbolic link, the file itself is replaced.
            (None, Ok(CardReference::File(path))) => Ok(fs::canonicalize(&path).unwrap_or(path)),
            (None, _) => Err(Failure::usage("--fix: the card is not a file")
                .with_hint("name the file for the fixed card with --out")),
        }
    }

    fn write(
        &self,
        target: &Path,
        document: &Document,
        fixed: usize,
        output: Output,
    ) -> Result<(), Failure> {
        if fixed == 0 && self.out.is_none() {
            return Ok(());
        }
        replace(target, &document.json).map_err(|error| {
            Failure::usage(format!("failed to write {}: {error}", target.display()))
        })?;
        output.note(&format!("card with {fixed} fixes written to {}", target.display()));
        if fixed > 0 && !document.card.signatures.is_empty() {
            output
                .warning("the signatures do not match the fixed card: sign it with a2a card sign");
        }
        Ok(())
    }
}

fn subject<'a>(document: &'a Document, url: &str) -> Subject<'a> {
    Subject::new(&document.card, &document.json, document.version, document.violations())
        .with_url(url)
        .with_legacy_path(document.is_at_legacy_path)
}

fn fix(document: &Document, findings: &Findings) -> Option<Fixed> {
    apply_fixes(std::str::from_utf8(&document.json).ok()?, findings.list())
}

fn reread(fixed: Fixed, original: &Document) -> Result<Document, Failure> {
    let mut document = Document::read(fixed.json.into())
        .map_err(|error| Failure::internal(format!("the fixed card is unreadable: {error}")))?;
    document.is_at_legacy_path = original.is_at_legacy_path;
    Ok(document)
}

/// Replaces a file at once, so that a crash leaves the old or the new one. Permissions are kept.
pub(in crate::command) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    match fs::metadata(path) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        #[cfg(unix)]
        Err(_new) => {
            use std::os::unix::fs::PermissionsExt as _;
            // Temporary files are private; these are not.
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        #[cfg(not(unix))]
        Err(_new) => {}
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn list(format: ReportFormat, output: Output) -> Result<(), Failure> {
    if format != ReportFormat::Text {
        return output.json(&lint::rules().collect::<Vec<_>>());
    }
    output.text(|text| {
        for rule in lint::rules() {
            text.line(&format!("{} {}", rule.severity, rule.id), rule.title);
        }
    })
}

/// Adds a finding for each signature that is not valid, unless one is.
fn check_signatures(verification: &CardVerification, findings: &mut Findings) {
    let CardVerification::Unverifiable(rejected) = verification else { return };
    for (index, one) in rejected.iter().enumerate() {
        let rule = match one.reason {
            SignatureError::UnknownKey
            | SignatureError::UntrustedAddress(_)
            | SignatureError::Keys(_) => &UNVERIFIED_SIGNATURE,
            _ => &BROKEN_SIGNATURE,
        };
        findings.add(rule, format!("/signatures/{index}"), one.to_string());
    }
}

#[cfg(test)]
mod tests {
    use a2a_kit_auth::card::{JwsCardVerifier, TrustStore};
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn malformed_signature_is_broken_and_one_of_an_unknown_key_unverified() {
        let header = json!({"alg": "ES256", "kid": "k", "typ": "JOSE"}).to_string();
        let header = BASE64_URL_SAFE_NO_PAD.encode(header);
        for (protected, signature, id) in
            [("e30", "eA", "broken-signature"), (&header, "eA", "unverified-signature")]
        {
            let card = json!({"signatures": [{"protected": protected, "signature": signature}]});
            let card = card.to_string();
            let verifier = JwsCardVerifier::new(TrustStore::new());
            let mut findings = Findings::default();
            check_signatures(&verifier.verify(card.as_bytes()).await, &mut findings);
            let found = &findings.list()[0];
            assert_eq!((found.rule.id, found.pointer.as_deref()), (id, Some("/signatures/0")));
        }
    }
}
