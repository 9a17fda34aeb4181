//! Fixed sleeps of real time, which make tests slow and still fail on a busy machine.

use std::fs;

use crate::{Result, workspace};

/// Sleeps of more than a second, in a file that does not pause time, without a comment above.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in workspace::files(&workspace::root())? {
        if path.extension().is_some_and(|extension| extension == "rs") {
            faults.extend(unexplained(&workspace::relative(&path), &fs::read_to_string(&path)?));
        }
    }
    Ok(faults)
}

fn unexplained(name: &str, text: &str) -> Vec<String> {
    if text.contains("paused") || text.contains("pause()") {
        return Vec::new();
    }
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut faults = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((_, duration)) = line.split_once("sleep(Duration::from_secs(") else { continue };
        let is_long = duration.split(')').next() != Some("1");
        let has_reason = index > 0 && lines[index - 1].starts_with("//");
        if is_long && !has_reason {
            faults.push(format!(
                "{name}:{}: a long sleep needs its reason in the line above",
                index + 1
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sleeps_without_a_reason_are_found() {
        let sleep = |seconds: u8| format!("tokio::time::sleep(Duration::from_secs({seconds}))");
        assert_eq!(unexplained("f", &format!("go();\n{}", sleep(2))).len(), 1);
        assert!(unexplained("f", &format!("// The lease lasts longer.\n{}", sleep(2))).is_empty());
        assert!(unexplained("f", &format!("go();\n{}", sleep(1))).is_empty());
        assert!(unexplained("f", &format!("start_paused\n{}", sleep(60))).is_empty());
    }
}
