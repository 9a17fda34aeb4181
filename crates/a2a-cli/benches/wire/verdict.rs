//! Whether what was measured is within its limits.

use std::process::ExitCode;

use crate::{case::Case, load::Figures};

#[derive(Default)]
pub(crate) struct Verdict {
    kept: usize,
    exceeded: Vec<String>,
}

impl Verdict {
    /// Says what is left of the floor, and notes whether that is enough.
    pub(crate) fn judge(&mut self, case: &Case, floor: &[Figures], agent: &[Figures]) {
        let (name, (rate, cpu)) = (case.name(), ratios(floor, agent));
        println!("{name:>40}: {}", compared(floor, agent));
        self.note(rate >= case.rate, || {
            format!("{name}: x{rate:.2} of the floor, and x{:.2} has to be left", case.rate)
        });
        if let Some(limit) = case.cpu {
            self.note(cpu <= limit, || {
                format!("{name}: x{cpu:.2} of the floor's processor time, at most x{limit:.2}")
            });
        }
    }

    fn note(&mut self, is_kept: bool, said: impl FnOnce() -> String) {
        if is_kept {
            self.kept += 1;
        } else {
            self.exceeded.push(said());
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

/// An agent against what was measured beside it.
pub(crate) fn compared(beside: &[Figures], agent: &[Figures]) -> String {
    let (rate, cpu) = ratios(beside, agent);
    let seen = median(agent.iter().map(|figures| figures.rate));
    format!("{seen:.0}/s, x{rate:.2}; processor time x{cpu:.2}")
}

/// The medians of what the rounds say, each of which stands for itself: what disturbs one
/// disturbs both servers.
fn ratios(beside: &[Figures], agent: &[Figures]) -> (f64, f64) {
    let pairs = || beside.iter().zip(agent);
    (
        median(pairs().map(|(beside, agent)| agent.rate / beside.rate)),
        median(pairs().map(|(beside, agent)| agent.cpu / beside.cpu)),
    )
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
