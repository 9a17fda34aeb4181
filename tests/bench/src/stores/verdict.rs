//! Comparison of figures with their limits.

use std::{fmt::Display, process::ExitCode};

/// The exceeded limits.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    met: usize,
    exceeded: Vec<String>,
}

impl Verdict {
    /// Records and prints whether a figure is within its limit.
    pub(crate) fn limit<T: PartialOrd + Display>(
        &mut self,
        name: &str,
        figure: T,
        limit: T,
    ) -> &'static str {
        if figure < limit {
            self.met += 1;
            "ok"
        } else {
            self.exceeded.push(format!("{name}: {figure:.2}, limit {limit:.2}"));
            "TOO MUCH"
        }
    }

    pub(crate) fn end(self) -> ExitCode {
        println!();
        for line in &self.exceeded {
            println!("{line}");
        }
        println!("{} limits met, {} exceeded", self.met, self.exceeded.len());
        if self.exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
