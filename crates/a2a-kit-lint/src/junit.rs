//! Reports in JUnit XML.

use std::time::Duration;

use crate::{CheckResult, Outcome, Severity, Summary};

/// Writes results as JUnit XML: a suite for each place, with a test case for each rule.
///
/// `tool` is the command. Rules that are less serious than `least` don't fail.
pub fn junit(tool: &str, results: &[CheckResult], least: Severity, duration: Duration) -> String {
    let mut places: Vec<&str> = Vec::new();
    for result in results {
        if !places.contains(&result.place.as_str()) {
            places.push(&result.place);
        }
    }
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{tool}\" {} time=\"{:.3}\">\n",
        counts(results, least),
        duration.as_secs_f64(),
    );
    for place in places {
        let of_place = || results.iter().filter(|one| one.place == place);
        out.push_str(&format!(
            "  <testsuite name=\"{}\" {}>\n",
            escaped(place),
            counts(of_place(), least)
        ));
        for result in of_place() {
            case(&mut out, result, least);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts<'a>(results: impl IntoIterator<Item = &'a CheckResult>, least: Severity) -> String {
    let (mild, counted): (Vec<_>, Vec<_>) =
        results.into_iter().partition(|one| is_mild(one, least));
    let Summary { pass, fail, skip, not_measured, known } = Summary::of(counted);
    let skipped = skip + not_measured + known + mild.len();
    let tests = pass + fail + skipped;
    format!("tests=\"{tests}\" failures=\"{fail}\" skipped=\"{skipped}\"")
}

fn is_mild(result: &CheckResult, least: Severity) -> bool {
    matches!(result.outcome, Outcome::Fail(_)) && result.rule.severity > least
}

fn case(out: &mut String, result: &CheckResult, least: Severity) {
    out.push_str(&format!(
        "    <testcase classname=\"a2a.{}\" name=\"{} {}\"",
        escaped(&result.place.replace([' ', '.'], "_")),
        result.rule.id,
        escaped(result.rule.title)
    ));
    let skipped = match &result.outcome {
        Outcome::Pass => return out.push_str("/>\n"),
        Outcome::Fail(findings) if is_mild(result, least) => {
            findings.first().map(|finding| (result.rule.level(), finding.message.as_str()))
        }
        outcome => outcome.reason().map(|reason| (outcome.name(), reason)),
    };
    out.push_str(">\n");
    if let Some((kind, reason)) = skipped {
        let reason = escaped(&format!("{}: {reason}", kind.replace('_', " ")));
        out.push_str(&format!("      <skipped message=\"{reason}\"/>\n"));
    } else {
        for finding in result.findings() {
            let exchange = finding.exchange.as_ref();
            let proof = exchange.map(|one| format!("{}\n\n{}", one.request, one.response));
            let proof = proof.or_else(|| finding.pointer.clone()).unwrap_or_default();
            out.push_str(&format!(
                "      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                escaped(&finding.message),
                result.rule.level(),
                escaped(&proof)
            ));
        }
    }
    out.push_str("    </testcase>\n");
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
