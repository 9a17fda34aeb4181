//! Formats of log lines: one line per event, and JSON with trace ids.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use a2a_core::escape::escape_log;
use opentelemetry::trace::TraceContextExt as _;
use tracing::{Dispatch, Event, Subscriber, dispatcher::WeakDispatch};
use tracing_opentelemetry::get_otel_context;
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{self, Format, Json, JsonFields, Writer},
        time::{FormatTime as _, SystemTime as Clock},
    },
    registry::LookupSpan,
};

/// The JSON format of the log: the fields of an event at the top level, its spans, and `trace_id`
/// and `span_id` if the current span belongs to a trace.
#[derive(Clone, Debug)]
pub(crate) struct TracedJson {
    format: Format<Json>,
    dispatch: Arc<OnceLock<WeakDispatch>>,
}

impl Default for TracedJson {
    fn default() -> Self {
        Self { format: format::json().flatten_event(true), dispatch: Arc::default() }
    }
}

impl TracedJson {
    /// Sets the subscriber, which is needed to look up the traces of spans.
    pub(crate) fn introduce(&self, dispatch: &Dispatch) {
        let _is_first = self.dispatch.set(dispatch.downgrade());
    }
}

impl<S> FormatEvent<S, JsonFields> for TracedJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        let dispatch = self.dispatch.get().and_then(WeakDispatch::upgrade);
        let span = context.lookup_current();
        let traced = dispatch.zip(span).and_then(|(dispatch, span)| {
            let context = get_otel_context(&span.id(), &dispatch)?;
            let span = context.span().span_context().clone();
            span.is_valid().then_some(span)
        });
        match (traced, line.trim_end().strip_suffix('}')) {
            (Some(span), Some(open)) => {
                let (trace, span) = (span.trace_id(), span.span_id());
                writeln!(writer, "{open},\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"}}")
            }
            _ => writer.write_str(&line),
        }
    }
}

/// A format of which each event is one line that controls no terminal.
#[derive(Clone, Debug)]
pub(crate) struct OneLine<F>(pub(crate) F);

impl<S, N, F> FormatEvent<S, N> for OneLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{}", escape_log(line.strip_suffix('\n').unwrap_or(&line)))
    }
}

/// Formats the current time (RFC 3339, UTC).
pub(crate) fn now() -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = Clock.format_time(&mut Writer::new(&mut text));
    text
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Mutex, PoisonError},
    };

    use serde_json::Value;
    use tracing_subscriber::{Layer as _, fmt, layer::SubscriberExt as _};

    use super::*;
    use crate::{Otlp, Traces};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    //
    #[test]
    fn log_line_has_the_ids_of_its_trace_and_task() {
        let lines = Lines::default();
        let writer = lines.clone();
        let json = TracedJson::default();
        let log = fmt::layer()
            .json()
            .event_format(json.clone())
            .with_writer(move || writer.clone())
            .with_filter(crate::quiet("info").unwrap());
        // An unreachable collector has no effect on the log.
        let traces = Traces::new(Otlp::to("http://127.0.0.1:9")).unwrap();
        let subscriber = tracing_subscriber::registry().with(log).with(traces.layer());
        let dispatch = Dispatch::new(subscriber);
        json.introduce(&dispatch);
        tracing::dispatcher::with_default(&dispatch, || {
            let span = tracing::info_span!("execute", a2a.task.id = "t1", a2a.context.id = "c1");
            span.in_scope(|| tracing::error!(error.id = "e1", "the executor failed"));
            tracing::info!("outside");
        });
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [inside, outside] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(inside["error.id"], "e1");
        assert_eq!(inside["message"], "the executor failed");
        assert_eq!(inside["span"]["a2a.task.id"], "t1");
        assert_eq!(inside["span"]["a2a.context.id"], "c1");
        assert_eq!(inside["trace_id"].as_str().unwrap().len(), 32);
        assert_eq!(inside["span_id"].as_str().unwrap().len(), 16);
        assert!(outside.get("trace_id").is_none(), "{outside}");
    }
}
