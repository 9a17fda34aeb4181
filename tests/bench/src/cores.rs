//! CPU affinity: one core for the load generator, one for the server under test.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The initial affinity of this process.
fn all() -> &'static CpuSet {
    static CORES: OnceLock<CpuSet> = OnceLock::new();
    CORES.get_or_init(|| sched_getaffinity(None).expect("Linux knows the affinity of a thread"))
}

/// The cores of the load generator and the server; the same one on a machine with one core.
pub(crate) fn both() -> [usize; 2] {
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| all().is_set(*core));
    let first = cores.next().expect("this thread runs on a core");
    [first, cores.next().unwrap_or(first)]
}

/// Binds this thread and its children to a core.
pub(crate) fn stay_on(core: usize) {
    all();
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).expect("the core is one of ours");
}

/// Restores the initial affinity of this thread.
pub(crate) fn stay_on_any() {
    sched_setaffinity(None, all()).expect("the cores are ours");
}
