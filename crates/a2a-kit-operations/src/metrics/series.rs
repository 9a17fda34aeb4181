//! The series of metrics that are recorded for each request.

use std::{
    cell::{OnceCell, RefCell},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use metrics::{Counter, Histogram, Key, Level, Metadata, Recorder, with_recorder};

use crate::AgentLabel;

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// The address of the recorder whose handles are kept; null before [`keep_handles`].
static KEPT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Keeps the handles of the current recorder from now on, so that they need not be looked up for each
/// record. It has to be the global one, which is current on a new thread, and must not forget series,
/// as one with an idle timeout does. The recorder of a scope, such as
/// [`with_local_recorder`](metrics::with_local_recorder), still comes first. Only the first call
/// counts.
pub fn keep_handles() {
    let recorder = with_recorder(address);
    let _first = KEPT.compare_exchange(ptr::null_mut(), recorder, Relaxed, Relaxed);
}

fn address(recorder: &dyn Recorder) -> *mut () {
    ptr::from_ref(recorder).cast::<()>().cast_mut()
}

/// A counter or a histogram of a recorder.
pub(super) trait Handle {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self;
}

impl Handle for Counter {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_counter(key, &METADATA)
    }
}

impl Handle for Histogram {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_histogram(key, &METADATA)
    }
}

/// The series of a metric. Their keys are cached, because a new key copies and hashes its labels,
/// and their handles if they are [kept](keep_handles).
pub(super) struct Series<H, const N: usize> {
    name: &'static str,
    labels: [&'static str; N],
    known: RefCell<Vec<OneSeries<H, N>>>,
}

struct OneSeries<H, const N: usize> {
    agent: AgentLabel,
    values: [&'static str; N],
    key: Key,
    kept: OnceCell<H>,
}

impl<H: Handle, const N: usize> Series<H, N> {
    pub(super) const fn new(name: &'static str, labels: [&'static str; N]) -> Self {
        Self { name, labels, known: RefCell::new(Vec::new()) }
    }

    /// Calls a function with the handle for some label values.
    pub(super) fn with(
        &self,
        agent: AgentLabel,
        values: [&'static str; N],
        record: impl FnOnce(&H),
    ) {
        // Label values are static strings, so comparing addresses is enough.
        let is_asked = |one: &&OneSeries<H, N>| {
            one.agent == agent && one.values.iter().zip(&values).all(|(a, b)| ptr::eq(*a, *b))
        };
        with_recorder(|recorder| {
            let known = self.known.borrow();
            if let Some(one) = known.iter().find(is_asked) {
                return one.record(recorder, record);
            }
            drop(known);
            let one = self.series(agent, values);
            one.record(recorder, record);
            self.known.borrow_mut().push(one);
        });
    }

    #[cold]
    fn series(&self, agent: AgentLabel, values: [&'static str; N]) -> OneSeries<H, N> {
        let labels = agent.labels(self.labels.into_iter().zip(values));
        let key = Key::from_parts(self.name, labels).to_retained();
        OneSeries { agent, values, key, kept: OnceCell::new() }
    }
}

impl<H: Handle, const N: usize> OneSeries<H, N> {
    fn record(&self, recorder: &dyn Recorder, record: impl FnOnce(&H)) {
        let register = || H::register(recorder, &self.key);
        if address(recorder) == KEPT.load(Relaxed) {
            record(self.kept.get_or_init(register));
        } else {
            record(&register());
        }
    }
}

macro_rules! series {
    ($handle:ident, $record:expr, $agent:expr, $name:literal $(, $label:literal => $value:expr)*) => {{
        use $crate::metrics::series::Series;
        const LABELS: &[&str] = &[$($label),*];
        thread_local! {
            static SERIES: Series<metrics::$handle, { LABELS.len() }> =
                const { Series::new($name, [$($label),*]) };
        }
        SERIES.with(|series| series.with($agent, [$($value),*], $record));
    }};
}

/// Increments a counter with label values.
macro_rules! count {
    ($($series:tt)*) => {
        $crate::metrics::series::series!(Counter, |counter| counter.increment(1), $($series)*)
    };
}

/// Records a time in a histogram with label values.
macro_rules! record {
    ($time:expr, $($series:tt)*) => {
        $crate::metrics::series::series!(Histogram, |histogram| histogram.record($time), $($series)*)
    };
}
pub(super) use {count, record, series};

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicU64};

    use metrics::{Gauge, KeyName, SharedString, Unit, with_local_recorder};

    use super::*;

    /// Counts everything together, and the look-ups of handles.
    #[derive(Clone, Default)]
    struct Sum {
        recorded: Arc<AtomicU64>,
        registered: Arc<AtomicU64>,
    }

    impl Recorder for Sum {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            if key.name() != "test_total" {
                return Counter::noop();
            }
            self.registered.fetch_add(1, Relaxed);
            Counter::from_arc(Arc::clone(&self.recorded))
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    impl Sum {
        fn counts(&self) -> (u64, u64) {
            (self.recorded.load(Relaxed), self.registered.load(Relaxed))
        }
    }

    #[test]
    fn handles_of_the_global_recorder_are_kept_and_others_come_first() {
        let record = || count!(AgentLabel::NONE, "test_total", "a" => "b");
        // Without a recorder; one that is installed later is used from then on.
        record();
        let global = Sum::default();
        metrics::set_global_recorder(global.clone()).unwrap();
        record();
        record();
        assert_eq!(global.counts(), (2, 2));
        keep_handles();
        for _ in 0..10 {
            record();
        }
        assert_eq!(global.counts(), (12, 3));
        for _ in 0..2 {
            let scoped = Sum::default();
            with_local_recorder(&scoped, || {
                record();
                record();
            });
            assert_eq!(scoped.counts(), (2, 2));
        }
        record();
        assert_eq!(global.counts(), (13, 3));
    }
}
