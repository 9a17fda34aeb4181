//! The result of a run against one interface.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// The result of a run against one interface.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary {
    /// The binding of the interface, or `card`.
    pub binding: String,
    /// The protocol version of the interface; empty for a card.
    pub version: String,
    /// The URL that was called.
    pub url: String,
    /// The number of requests that ended, with errors.
    pub requests: u64,
    /// The number of requests that failed.
    pub errors: u64,
    /// The number of requests that failed, by the name of the error.
    pub errors_by_code: BTreeMap<&'static str, u64>,
    /// The number of requests that were due, and could not be started.
    pub unsent: u64,
    /// How long the run took.
    pub elapsed: Duration,
    /// The number of bytes in requests: of bodies over HTTP, else of messages.
    pub bytes_sent: u64,
    /// The number of bytes in responses.
    pub bytes_received: u64,
    /// In microseconds, of successful requests.
    pub(crate) latency: Histogram<u64>,
    pub(crate) first_event: Histogram<u64>,
}

/// The percentiles of reports, with their names in JSON and in text.
const PERCENTILES: [(&str, &str, f64); 4] =
    [("p50", "p50", 0.5), ("p90", "p90", 0.9), ("p99", "p99", 0.99), ("p999", "p99.9", 0.999)];

impl Summary {
    pub(crate) fn new(elapsed: Duration) -> Self {
        Self {
            binding: String::new(),
            version: String::new(),
            url: String::new(),
            requests: 0,
            errors: 0,
            errors_by_code: BTreeMap::new(),
            unsent: 0,
            elapsed,
            bytes_sent: 0,
            bytes_received: 0,
            latency: histogram(),
            first_event: histogram(),
        }
    }

    /// The latency that a part of the successful requests did not exceed: 0.99 for the 99th
    /// percentile. Zero without any.
    pub fn latency(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.latency.value_at_quantile(quantile))
    }

    /// As [`latency`](Self::latency), until the first event of a stream.
    pub fn first_event(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.first_event.value_at_quantile(quantile))
    }

    /// Successful requests per second.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 requests")]
    pub fn requests_per_second(&self) -> f64 {
        let successes = self.requests - self.errors;
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { successes as f64 / seconds } else { 0.0 }
    }

    /// The part of the requests that failed or could not be started, in percent. A run without
    /// any request failed.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 requests")]
    pub fn error_percent(&self) -> f64 {
        let total = self.requests + self.unsent;
        if total == 0 { 100.0 } else { 100.0 * (self.errors + self.unsent) as f64 / total as f64 }
    }

    /// The report as JSON, with percentiles and buckets of the latencies in microseconds.
    pub fn json(&self) -> Value {
        let first_event = (!self.first_event.is_empty()).then(|| distribution(&self.first_event));
        json!({
            "binding": self.binding,
            "version": self.version,
            "url": self.url,
            "requests": self.requests,
            "errors": self.errors,
            "errorsByCode": self.errors_by_code,
            "unsent": self.unsent,
            "errorPercent": self.error_percent(),
            "elapsedSeconds": self.elapsed.as_secs_f64(),
            "requestsPerSecond": self.requests_per_second(),
            "bytesSent": self.bytes_sent,
            "bytesReceived": self.bytes_received,
            "latencyMicros": distribution(&self.latency),
            "firstEventMicros": first_event,
        })
    }

    /// The report as one line of text.
    pub fn line(&self) -> String {
        let mut line = format!("{:.0} requests/s", self.requests_per_second());
        let mut latencies = |prefix: &str, histogram: &Histogram<u64>| {
            if histogram.is_empty() {
                return;
            }
            for (_, name, quantile) in PERCENTILES {
                let value = millis(histogram.value_at_quantile(quantile));
                line.push_str(&format!(", {prefix}{name} {value} ms"));
            }
            line.push_str(&format!(", {prefix}max {} ms", millis(histogram.max())));
        };
        latencies("", &self.latency);
        latencies("first event ", &self.first_event);
        line.push_str(&format!(
            ", {} bytes sent, {} received, {} of {} failed",
            self.bytes_sent, self.bytes_received, self.errors, self.requests
        ));
        for (code, count) in &self.errors_by_code {
            line.push_str(&format!(", {code} {count}"));
        }
        if self.unsent > 0 {
            line.push_str(&format!(", {} not started", self.unsent));
        }
        line
    }
}

/// Percentiles and buckets of a histogram. A bucket counts the values up to `upTo` that are in no
/// bucket before it; empty ones are left out.
fn distribution(histogram: &Histogram<u64>) -> Value {
    let mut json = json!({
        "count": histogram.len(),
        "min": histogram.min(),
        "mean": histogram.mean(),
        "max": histogram.max(),
    });
    for (name, _, quantile) in PERCENTILES {
        json[name] = json!(histogram.value_at_quantile(quantile));
    }
    let buckets: Vec<_> = histogram
        .iter_log(1, std::f64::consts::SQRT_2)
        .filter(|bucket| bucket.count_since_last_iteration() > 0)
        .map(|bucket| {
            json!({
                "upTo": bucket.value_iterated_to(),
                "count": bucket.count_since_last_iteration(),
            })
        })
        .collect();
    json["buckets"] = json!(buckets);
    json
}

#[expect(clippy::cast_precision_loss, reason = "latencies are below an hour")]
fn millis(micros: u64) -> String {
    format!("{:.2}", micros as f64 / 1_000.0)
}

/// Latencies are recorded in microseconds up to an hour; longer ones as an hour.
const MAX_MICROS: u64 = 3_600_000_000;

/// Significant digits of latencies.
const DIGITS: u8 = 3;

/// Creates a histogram of latencies.
#[expect(clippy::expect_used, reason = "the bounds are constants")]
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_MICROS, DIGITS).expect("the bounds are valid")
}
