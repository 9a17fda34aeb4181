//! The report for people.

use a2a_kit_lint::CheckResult;

use super::Report;

impl Report {
    /// The report for people: each violation with its proof, then what was not measured.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let name = if self.agent.is_empty() { "an agent without a name" } else { &self.agent };
        out.push_str(&format!("Agent: {} ({})\n", visible(name), visible(&self.target)));
        out.push_str(&format!("Level: {}\n", self.level.keyword()));
        let sent = self.prompts.texts().map(|(behavior, text)| match text {
            Some(text) => format!("{behavior} {text:?}"),
            None => format!("{behavior} –"),
        });
        out.push_str(&format!("Texts: {}\n\n", sent.collect::<Vec<_>>().join(", ")));
        for why in &self.unreachable {
            out.push_str(&format!("UNREACHABLE {}\n\n", visible(why)));
        }
        for result in self.failures() {
            failure(&mut out, result);
        }
        for (title, name) in
            [("Not measured", "not_measured"), ("Skipped", "skip"), ("Known", "known")]
        {
            reasons(&mut out, self, title, name);
        }
        if !self.unused_known.is_empty() {
            let entries = visible(&self.unused_known.join(", "));
            out.push_str(&format!("Known, but neither failed nor unmeasured: {entries}\n\n"));
        }
        let summary = self.summary();
        let known = match summary.known {
            0 => String::new(),
            known => format!(", {known} known"),
        };
        out.push_str(&format!(
            "Result: {} ({} passed, {} failed, {} skipped, {} not measured{known}, in {} ms)\n",
            self.verdict(),
            summary.pass,
            summary.fail,
            summary.skip,
            summary.not_measured,
            self.duration.as_millis(),
        ));
        out
    }
}

fn failure(out: &mut String, result: &CheckResult) {
    out.push_str(&format!(
        "FAIL {} [{}] {} ({}, spec section {})\n",
        result.rule.id,
        result.rule.level(),
        result.rule.title,
        result.place,
        result.rule.section
    ));
    for finding in result.findings() {
        out.push_str(&format!("  {}\n", visible(&finding.located())));
        let Some(exchange) = &finding.exchange else { continue };
        indented(out, "  > ", &exchange.request);
        indented(out, "  < ", &exchange.response);
    }
    out.push('\n');
}

fn indented(out: &mut String, prefix: &str, text: &str) {
    for line in text.lines() {
        out.push_str(prefix);
        out.push_str(&visible(line));
        out.push('\n');
    }
}

/// Lists what has no result, by its reason.
fn reasons(out: &mut String, report: &Report, title: &str, outcome: &str) {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for result in report.results.iter().filter(|result| result.outcome.name() == outcome) {
        let Some(reason) = result.outcome.reason() else { continue };
        let name = format!("{} ({})", result.rule.id, result.place);
        match all.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => all.push((reason, vec![name])),
        }
    }
    if all.is_empty() {
        return;
    }
    out.push_str(&format!("{title}:\n"));
    for (reason, names) in all {
        out.push_str(&format!("  because {}: {}\n", visible(reason), names.join(", ")));
    }
    out.push('\n');
}

/// A text without characters that control a terminal.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\t' { c.escape_default().to_string() } else { c.to_string() }
        })
        .collect()
}
