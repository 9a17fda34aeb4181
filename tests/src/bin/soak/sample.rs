//! Samples of a server's resources, and their trends.

use std::{fmt, fs, time::Duration};

/// The resource usage of a server at one time.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    at: Duration,
    /// In the order of [`KINDS`].
    values: [f64; KINDS.len()],
}

/// The sampled resources, and their tolerated variance.
const KINDS: [(&str, f64); 6] = [
    ("MiB", 6.0),
    ("file descriptors", 8.0),
    ("threads", 4.0),
    ("live tasks", 20.0),
    ("executors", 20.0),
    ("readers", 20.0),
];

/// The tolerated relative growth.
const TOLERANCE: f64 = 0.05;

impl Sample {
    /// Samples a process and its metrics.
    pub(crate) async fn take(process: u32, url: &str, at: Duration) -> Result<Self, String> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))
            .map_err(|error| format!("the server has exited: {error}"))?;
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|number| number.parse::<f64>().ok()).unwrap_or_default()
        };
        let files =
            fs::read_dir(format!("/proc/{process}/fd")).map_err(|error| error.to_string())?;
        let metrics = reqwest::get(format!("{url}/metrics")).await.map_err(|e| e.to_string())?;
        let metrics = metrics.text().await.map_err(|error| error.to_string())?;
        let sum = |name: &str| {
            let lines = metrics.lines().filter(|line| {
                line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']))
            });
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "few files")]
        let files = files.count() as f64;
        Ok(Self {
            at,
            values: [
                line("VmRSS:") / 1024.0,
                files,
                line("Threads:"),
                sum("a2a_tasks"),
                sum("a2a_executors"),
                sum("a2a_stream_readers"),
            ],
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ((kind, _), values)) in KINDS.iter().zip(self.values).enumerate() {
            write!(f, "{}{values:.0} {kind}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The trend of a resource after the first third, which is warm-up.
#[derive(Debug)]
pub(crate) struct Trend {
    kind: &'static str,
    /// The means of the second and of the last third.
    early: f64,
    late: f64,
    /// Growth per minute, by least squares over both.
    slope: f64,
    slack: f64,
}

impl Trend {
    /// The trends of all resources.
    pub(crate) fn of(samples: &[Sample]) -> Vec<Self> {
        let third = samples.len() / 3;
        let (early, late) = samples[third..].split_at(third);
        KINDS
            .iter()
            .enumerate()
            .map(|(index, (kind, slack))| Self {
                kind,
                early: mean(early.iter().map(|sample| sample.values[index])),
                late: mean(late.iter().map(|sample| sample.values[index])),
                slope: slope(
                    samples[third..]
                        .iter()
                        .map(|sample| (sample.at.as_secs_f64() / 60.0, sample.values[index])),
                ),
                slack: *slack,
            })
            .collect()
    }

    /// Whether growth is within the variance.
    pub(crate) fn is_flat(&self) -> bool {
        self.late - self.early <= self.early * TOLERANCE + self.slack
    }
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, early, late, slope, .. } = self;
        let verdict = if self.is_flat() { "flat" } else { "GROWS" };
        write!(f, "{kind}: {early:.1}, then {late:.1}; {slope:+.2} per minute: {verdict}")
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let (x, y) = (mean(points.clone().map(|(x, _)| x)), mean(points.clone().map(|(_, y)| y)));
    let above: f64 = points.clone().map(|(px, py)| (px - x) * (py - y)).sum();
    let below: f64 = points.map(|(px, _)| (px - x).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: impl Fn(f64) -> f64) -> Vec<Sample> {
        let sample = |minute: u32| Sample {
            at: Duration::from_secs(60) * minute,
            values: [values(f64::from(minute)); KINDS.len()],
        };
        (0..30).map(sample).collect()
    }

    #[test]
    fn variance_is_flat_and_growth_is_not() {
        let is_flat = |samples: &[Sample]| Trend::of(samples).iter().all(Trend::is_flat);
        assert!(is_flat(&samples(|_| 100.0)));
        // Warm-up, then variance.
        assert!(is_flat(&samples(|minute| if minute < 10.0 { minute } else { 100.0 })));
        assert!(is_flat(&samples(|minute| 100.0 + 20.0 * (minute % 5.0))));
        let growing = samples(|minute| 100.0 + 5.0 * minute);
        assert!(!is_flat(&growing));
        assert!((Trend::of(&growing)[0].slope - 5.0).abs() < 1e-9);
    }
}
