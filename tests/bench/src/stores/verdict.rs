//! Whether what was measured is within its limits.

use std::{fmt::Display, process::ExitCode};

/// The limits that were not kept.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    kept: usize,
    exceeded: Vec<String>,
}

impl Verdict {
    /// Notes whether a figure is below its limit, and says it.
    pub(crate) fn limit<T: PartialOrd + Display>(
        &mut self,
        name: &str,
        figure: T,
        limit: T,
    ) -> &'static str {
        if figure < limit {
            self.kept += 1;
            "ok"
        } else {
            self.exceeded.push(format!("{name}: {figure:.2}, and the limit is {limit:.2}"));
            "TOO MUCH"
        }
    }

    pub(crate) fn end(self) -> ExitCode {
        println!();
        for line in &self.exceeded {
            println!("{line}");
        }
        println!("{} limits kept, {} exceeded", self.kept, self.exceeded.len());
        if self.exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
