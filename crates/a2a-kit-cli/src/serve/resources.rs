//! Adapts the limits of a server to its file descriptors and to the memory of its container.

use std::{fs, path::Path};

use a2a_kit_http::Limits as HttpLimits;

use crate::settings::serve::Limits;

/// Descriptors that are left to the store, webhooks, commands and health probes.
const OTHER_DESCRIPTORS: usize = 128;

/// Largest soft limit of descriptors that is set: programs that close all possible descriptors, as
/// commands of `--exec` may do, take long with more.
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// The part of the memory limit that each budget gets by default.
const MEMORY_PARTS: u64 = 8;

/// The resources of this process; `None` if unlimited or unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resources {
    descriptors: Option<u64>,
    /// In bytes.
    memory: Option<u64>,
}

impl Resources {
    /// Raises the soft limit of descriptors to the hard one, and reads the limits.
    pub(super) fn of_process() -> Self {
        let memory = fs::read_to_string("/proc/self/cgroup")
            .ok()
            .and_then(|groups| memory_limit(Path::new("/sys/fs/cgroup"), &groups));
        Self { descriptors: descriptors(), memory }
    }

    /// Returns the limits of connections and requests within these resources, and describes those
    /// that differ from the settings.
    pub(super) fn adapt(self, settings: &Limits) -> (HttpLimits, Option<String>) {
        let mut limits = settings.http();
        let mut changed = Vec::new();
        if let Some(descriptors) = self.descriptors {
            let all = usize::try_from(descriptors).unwrap_or(usize::MAX);
            let most = all.saturating_sub(OTHER_DESCRIPTORS).max(all / 2).max(1);
            if most < limits.max_connections {
                let per_address = match settings.max_connections_per_address {
                    Some(given) => given.get().min(most),
                    None => (most / 4).max(1),
                };
                limits =
                    limits.with_max_connections(most).with_max_connections_per_address(per_address);
                changed.push(format!(
                    "{most} connections, {per_address} per address ({descriptors} descriptors)"
                ));
            }
        }
        if let Some(memory) = self.memory {
            let part = usize::try_from(memory / MEMORY_PARTS).unwrap_or(usize::MAX);
            let mut adapted = Vec::new();
            if settings.max_pending_body_bytes.is_none() && part < limits.max_pending_body_bytes {
                limits = limits.with_max_pending_body_bytes(part);
                adapted.push("request bodies");
            }
            if settings.max_pending_response_bytes.is_none()
                && part < limits.max_pending_response_bytes
            {
                limits = limits.with_max_pending_response_bytes(part);
                adapted.push("unread responses");
            }
            if !adapted.is_empty() {
                let (part, memory) = (part >> 20, memory >> 20);
                let kinds = adapted.join(" and of ");
                changed.push(format!("{part} MiB of {kinds} ({memory} MiB of memory)"));
            }
        }
        (limits, (!changed.is_empty()).then(|| changed.join("; ")))
    }
}

/// Raises the soft limit to the hard one, and returns it.
#[cfg(unix)]
fn descriptors() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let current = limit.current?;
    // macOS has no hard limit, and accepts at most OPEN_MAX.
    for wanted in [limit.maximum.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS), 10_240] {
        if wanted <= current {
            continue;
        }
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }) {
            Ok(()) => break,
            Err(error) => tracing::debug!(%error, wanted, "failed to raise the descriptor limit"),
        }
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn descriptors() -> Option<u64> {
    None
}

/// The memory limit of the control groups in `/proc/self/cgroup`, in bytes, or of those above them.
fn memory_limit(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next());
        let (base, file) = match controllers {
            // Version 2.
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        // In a container, the path may be that of the host, where only the root is visible.
        let path = Path::new(path.unwrap_or_default().trim_start_matches('/')).to_owned();
        let read = |group: &Path| fs::read_to_string(base.join(group).join(file)).ok();
        path.ancestors().filter_map(read).collect()
    });
    // `max`, and the largest number of pages, stand for no limit.
    let bytes = limits.filter_map(|text| text.trim().parse::<u64>().ok());
    bytes.filter(|bytes| *bytes < 1 << 60).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::serve::LayeredSettings;

    fn defaults() -> Limits {
        LayeredSettings::default().serve().unwrap().limits
    }

    #[test]
    fn connections_stay_below_the_descriptors() {
        for (descriptors, connections, per_address) in [
            (None, 65_536, 16_384),
            (Some(1 << 20), 65_536, 16_384),
            (Some(20_000), 19_872, 4_968),
            (Some(1_024), 896, 224),
            (Some(64), 32, 8),
        ] {
            let resources = Resources { descriptors, ..Resources::default() };
            let (limits, told) = resources.adapt(&defaults());
            assert_eq!(limits.max_connections, connections, "{descriptors:?}");
            assert_eq!(limits.max_connections_per_address, per_address, "{descriptors:?}");
            assert_eq!(told.is_some(), connections != 65_536, "{told:?}");
        }
        let mut settings = defaults();
        settings.max_connections_per_address = std::num::NonZeroUsize::new(50_000);
        let resources = Resources { descriptors: Some(20_000), ..Resources::default() };
        assert_eq!(resources.adapt(&settings).0.max_connections_per_address, 19_872);
    }

    #[test]
    fn default_budgets_are_an_eighth_of_the_memory_of_the_container() {
        let resources = Resources { memory: Some(400 << 20), ..Resources::default() };
        let (limits, told) = resources.adapt(&defaults());
        assert_eq!(limits.max_pending_body_bytes, 50 << 20);
        assert_eq!(limits.max_pending_response_bytes, 50 << 20);
        let told = told.unwrap();
        assert_eq!(told, "50 MiB of request bodies and of unread responses (400 MiB of memory)");
        let mut settings = defaults();
        settings.max_pending_body_bytes = Some(settings.max_body_bytes);
        let (limits, _) = resources.adapt(&settings);
        assert_eq!(limits.max_pending_body_bytes, 8 << 20);
        let large = Resources { memory: Some(64 << 30), ..Resources::default() };
        assert!(large.adapt(&defaults()).1.is_none());
    }

    #[test]
    fn memory_limit_is_the_smallest_of_the_groups() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(memory_limit(root.path(), "0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1000\n");
        write("memory.max", "5000\n");
        assert_eq!(memory_limit(root.path(), "0::/a/b\n"), Some(1000));
        assert_eq!(memory_limit(root.path(), "0::/\n"), Some(5000));
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let first = "5:cpu:/\n4:memory:/docker/x\n";
        assert_eq!(memory_limit(root.path(), first), None);
        write("memory/memory.limit_in_bytes", "700\n");
        assert_eq!(memory_limit(root.path(), first), Some(700));
    }
}
