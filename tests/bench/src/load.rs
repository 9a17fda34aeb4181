//! A load on a server, and its results.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::{
    Result, grpc, http1,
    request::{Ask, Binding},
    server::Server,
};

/// Load on one server.
pub(crate) struct Load<'a> {
    pub(crate) server: &'a Server,
    pub(crate) binding: Binding,
    /// The requests, sent in round-robin order; they differ only in their ids.
    pub(crate) asks: &'a [Ask],
    /// Requests in flight.
    pub(crate) in_flight: usize,
    /// Requests per second of an open loop. If `None`, each connection sends the next request after
    /// the response (closed loop).
    pub(crate) rate: Option<f64>,
    pub(crate) length: Length,
}

/// The duration of a load.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// Measure for this time, after a warm-up.
    Time { warm_up: Duration, measured: Duration },
    /// A number of requests, or those answered within this time.
    Requests { count: usize, limit: Duration },
}

impl Length {
    /// The time of most figures.
    pub(crate) const USUAL: Self =
        Self::Time { warm_up: Duration::from_millis(400), measured: Duration::from_secs(2) };

    pub(crate) fn requests(count: usize) -> Self {
        Self::Requests { count, limit: Duration::from_secs(20) }
    }
}

impl Load<'_> {
    /// Runs the load.
    pub(crate) fn run(&self) -> Result<Outcome> {
        self.run_with(|_| {})
    }

    /// Runs the load, and passes on each response: the HTTP/1.1 body, or the gRPC messages.
    pub(crate) fn run_with(&self, on_response: impl FnMut(&[u8])) -> Result<Outcome> {
        let failed = |error| format!("{}: {error}", self.server.name);
        match self.binding {
            Binding::JsonRpc | Binding::Rest => http1::run(self, on_response).map_err(failed),
            Binding::Grpc => grpc::run(self).map_err(failed),
        }
    }

    /// The requests of HTTP/1.1.
    pub(crate) fn http_requests(&self) -> Vec<Bytes> {
        self.asks.iter().map(|ask| ask.http(self.binding, self.server)).collect()
    }

    /// The text that every response must contain.
    pub(crate) fn expected(&self) -> (String, usize) {
        let ask = &self.asks[0];
        (ask.mark(), ask.min_events())
    }
}

/// The result of a load.
pub(crate) struct Outcome {
    /// Events of streams, one per request elsewhere.
    pub(crate) events: usize,
    pub(crate) time: Duration,
    /// CPU time of the server.
    pub(crate) cpu: Duration,
    /// Times from the due time of a request to the end of its response, ascending.
    latencies: Vec<Duration>,
}

impl Outcome {
    /// Events per second; responses per second where there are no streams.
    pub(crate) fn rate(&self) -> f64 {
        self.events as f64 / self.time.as_secs_f64()
    }

    /// CPU time of the server for each, in seconds.
    pub(crate) fn cpu_each(&self) -> f64 {
        self.cpu.as_secs_f64() / self.events as f64
    }

    /// The part of the time in which the server had its core.
    pub(crate) fn utilization(&self) -> f64 {
        self.cpu.as_secs_f64() / self.time.as_secs_f64()
    }

    /// The latency at this percentile, in seconds.
    pub(crate) fn latency(&self, part: f64) -> f64 {
        let index = (self.latencies.len() as f64 * part) as usize;
        self.latencies[index.min(self.latencies.len() - 1)].as_secs_f64()
    }
}

/// Counts responses between the start and the end of a measurement.
pub(crate) struct Meter<'a> {
    server: &'a Server,
    length: Length,
    begin: Instant,
    /// The start of the measurement, and the CPU time then.
    since: Option<(Instant, Duration)>,
    requests: usize,
    events: usize,
    latencies: Vec<Duration>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(load: &Load<'a>) -> Self {
        let begin = Instant::now();
        let since = match load.length {
            Length::Time { .. } => None,
            Length::Requests { .. } => Some((begin, load.server.cpu())),
        };
        let (requests, events, latencies) = Default::default();
        Self { server: load.server, length: load.length, begin, since, requests, events, latencies }
    }

    /// Whether the measurement is over.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        match self.length {
            Length::Time { warm_up, measured } => {
                if self.since.is_none() && now >= self.begin + warm_up {
                    self.since = Some((now, self.server.cpu()));
                }
                now >= self.begin + warm_up + measured
            }
            Length::Requests { count, limit } => {
                self.requests >= count || now >= self.begin + limit
            }
        }
    }

    /// Whether another request may be sent, given the number in flight.
    pub(crate) fn admits(&self, in_flight: usize) -> bool {
        match self.length {
            Length::Time { .. } => true,
            Length::Requests { count, .. } => self.requests + in_flight < count,
        }
    }

    /// Counts a response.
    pub(crate) fn count(&mut self, events: usize, due: Instant, now: Instant) {
        if self.since.is_some() {
            self.requests += 1;
            self.events += events;
            self.latencies.push(now.saturating_duration_since(due));
        }
    }

    pub(crate) fn end(mut self) -> Result<Outcome> {
        let (since, cpu) = self.since.ok_or("ended before the measurement")?;
        let (time, cpu) = (since.elapsed(), self.server.cpu().saturating_sub(cpu));
        if self.requests == 0 {
            return Err(format!("no response within {time:.1?}"));
        }
        self.latencies.sort_unstable();
        let Self { events, latencies, .. } = self;
        Ok(Outcome { events, time, cpu, latencies })
    }
}
