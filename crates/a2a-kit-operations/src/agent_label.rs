//! The label of the metrics of an agent.

use std::sync::{Mutex, PoisonError};

#[cfg(feature = "metrics")]
use metrics::Label;

/// Maximum number of different labels in a process, to bound the number of series.
const MAX_LABELS: usize = 64;

/// The labels, by number. Further agents share [`OTHER`].
static LABELS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The label of agents beyond [`MAX_LABELS`].
const OTHER: &str = "other";

/// The label `agent` on the metrics of an engine and of the operations it serves, to tell the agents
/// of a process apart. Default: no label.
///
/// A process has at most 64 different labels; further ones become `other`.
///
/// ```
/// use a2a_kit_operations::{AgentLabel, EngineConfig};
///
/// let config = EngineConfig::default().with_metrics_label(AgentLabel::new("planner"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentLabel(
    /// The number of the label, from 1; 0 for none.
    u8,
);

impl AgentLabel {
    /// No label.
    pub const NONE: Self = Self(0);

    /// Creates a label. It stays in memory until the process ends.
    pub fn new(name: &str) -> Self {
        let mut labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
        let index = labels.iter().position(|known| *known == name).unwrap_or_else(|| {
            if labels.len() < MAX_LABELS {
                labels.push(Box::leak(name.to_owned().into_boxed_str()));
                labels.len() - 1
            } else {
                MAX_LABELS
            }
        });
        Self(u8::try_from(index + 1).unwrap_or(u8::MAX))
    }

    fn name(self) -> Option<&'static str> {
        let index = usize::from(self.0).checked_sub(1)?;
        let labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
        Some(labels.get(index).copied().unwrap_or(OTHER))
    }

    /// The labels of a series: these, and `agent` if it is set.
    #[cfg(feature = "metrics")]
    pub(crate) fn labels(
        self,
        others: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Vec<Label> {
        let agent = self.name().map(|agent| ("agent", agent));
        let all = others.into_iter().chain(agent);
        all.map(|(label, value)| Label::from_static_parts(label, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded() {
        let labels: Vec<_> = (0..2 * MAX_LABELS).map(|n| AgentLabel::new(&n.to_string())).collect();
        assert_eq!(labels[0], AgentLabel::new("0"));
        assert_eq!((labels[0].name(), labels[1].name()), (Some("0"), Some("1")));
        assert_eq!(labels.last().and_then(|label| label.name()), Some(OTHER));
        assert_eq!(AgentLabel::NONE.name(), None);
    }
}
