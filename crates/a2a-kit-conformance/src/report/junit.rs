//! The report as JUnit XML.

use super::model::{CheckResult, Report};
use crate::outcome::Outcome;

impl Report {
    /// The report as JUnit XML: a suite for each interface.
    pub fn to_junit(&self) -> String {
        write(self)
    }
}

/// Writes a suite for each interface, with a test case for each check.
fn write(report: &Report) -> String {
    let mut places: Vec<&str> = Vec::new();
    for result in &report.results {
        if !places.contains(&result.place()) {
            places.push(result.place());
        }
    }
    let summary = report.summary();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"a2a conformance\" tests=\"{}\" \
         failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
        report.results.len(),
        summary.fail,
        summary.skip + summary.not_measured + summary.known,
        report.duration.as_secs_f64(),
    );
    for place in places {
        let results: Vec<_> = report.results.iter().filter(|one| one.place() == place).collect();
        let count = |wanted: fn(&Outcome) -> bool| {
            results.iter().filter(|result| wanted(&result.outcome)).count()
        };
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            escaped(place),
            results.len(),
            count(|outcome| matches!(outcome, Outcome::Fail(_))),
            count(|outcome| outcome.reason().is_some()),
        ));
        for result in results {
            case(&mut out, result);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, result: &CheckResult) {
    out.push_str(&format!(
        "    <testcase classname=\"a2a.{}\" name=\"{} {}\"",
        escaped(&result.place().replace([' ', '.'], "_")),
        result.id,
        escaped(result.title)
    ));
    match &result.outcome {
        Outcome::Pass => out.push_str("/>\n"),
        Outcome::Fail(findings) => {
            out.push_str(">\n");
            for finding in findings {
                let proof = finding
                    .exchange
                    .as_ref()
                    .map(|exchange| format!("{}\n\n{}", exchange.request, exchange.response));
                out.push_str(&format!(
                    "      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                    escaped(&finding.message),
                    result.level,
                    escaped(&proof.unwrap_or_default())
                ));
            }
            out.push_str("    </testcase>\n");
        }
        Outcome::Skip(reason) | Outcome::NotMeasured(reason) | Outcome::Known(reason) => {
            out.push_str(&format!(
                ">\n      <skipped message=\"{}: {}\"/>\n    </testcase>\n",
                result.outcome.name().replace('_', " "),
                escaped(reason)
            ));
        }
    }
}

/// Escapes markup, and replaces what XML 1.0 can't hold.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escaped("<a b=\"c\">&\u{1}\r\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\n");
    }
}
