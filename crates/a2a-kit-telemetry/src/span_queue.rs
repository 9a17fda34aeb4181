//! The queue of spans for the collector. Those that do not fit, and those that the collector did not
//! get, are counted in `a2a_spans_dropped_total`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor},
};

/// Maximum number of pending spans; further spans are dropped.
const MAX_QUEUED: usize = 4_096;
const MAX_BATCH: usize = 512;
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// Passes spans to an exporter in batches, from a separate thread.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    batches: BatchSpanProcessor,
    /// The spans that are queued or being exported.
    pending: Arc<AtomicUsize>,
}

impl SpanQueue {
    pub(crate) fn new(exporter: impl SpanExporter + 'static) -> Self {
        let pending = Arc::default();
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(BATCH_DELAY)
            .build();
        let exporter = CountingExporter { exporter, pending: Arc::clone(&pending) };
        let batches = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        Self { batches, pending }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        // The queue of the batches has as many places, and drops none.
        if self.pending.fetch_add(1, Ordering::Relaxed) < MAX_QUEUED {
            return self.batches.on_end(span);
        }
        self.pending.fetch_sub(1, Ordering::Relaxed);
        dropped(1);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts the spans that leave the queue.
#[derive(Debug)]
struct CountingExporter<E> {
    exporter: E,
    pending: Arc<AtomicUsize>,
}

impl<E: SpanExporter> SpanExporter for CountingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.pending.fetch_sub(spans, Ordering::Relaxed);
        if result.is_err() {
            dropped(spans);
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn dropped(spans: usize) {
    let spans = u64::try_from(spans).unwrap_or(u64::MAX);
    metrics::counter!("a2a_spans_dropped_total").increment(spans);
}
