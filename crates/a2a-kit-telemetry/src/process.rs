//! Metrics of the process, under the names that Prometheus clients share. Linux only.

use std::{fs, time::Duration};

use metrics::{counter, describe_counter, describe_gauge, gauge};

/// Clock ticks per second in `/proc`, which Linux fixes for programs.
const TICKS: u64 = 100;

/// Describes the metrics, and shows the version.
pub(crate) fn describe() {
    describe_counter!("process_cpu_seconds_total", "User and system CPU time, in whole seconds");
    for (name, text) in [
        ("process_resident_memory_bytes", "Resident memory"),
        ("process_open_fds", "Open file descriptors"),
        ("process_max_fds", "Soft limit of file descriptors"),
        ("process_threads", "Threads"),
        ("process_start_time_seconds", "Start time since the Unix epoch"),
        ("a2a_build_info", "Version of the program"),
    ] {
        describe_gauge!(name, text);
    }
    gauge!("a2a_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

pub(crate) fn sample() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let stat = read("/proc/self/stat");
    // The name of the program, in parentheses, may contain spaces.
    let fields: Vec<_> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u32>().ok().map(f64::from);
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // Fields 14, 15, 20 and 22 of proc_pid_stat(5), of which the first two are before the name.
    if let (Some(user), Some(system)) = (ticks(11), ticks(12)) {
        counter!("process_cpu_seconds_total").absolute((user + system) / TICKS);
    }
    if let Some(threads) = field(17) {
        gauge!("process_threads").set(threads);
    }
    if let (Some(started), Some(boot)) = (ticks(19), value(&read("/proc/stat"), "btime")) {
        let since_boot = Duration::from_millis(started * (1_000 / TICKS));
        gauge!("process_start_time_seconds").set(boot + since_boot.as_secs_f64());
    }
    if let Some(kibibytes) = value(&read("/proc/self/status"), "VmRSS:") {
        gauge!("process_resident_memory_bytes").set(kibibytes * 1024.0);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        gauge!("process_open_fds").set(u32::try_from(open.count()).unwrap_or(u32::MAX));
    }
    if let Some(limit) = value(&read("/proc/self/limits"), "Max open files") {
        gauge!("process_max_fds").set(limit);
    }
}

/// The first number after a name at the beginning of a line.
fn value(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
