//! The requirements of the CLI specification.

use std::fmt;

/// The revision of the specification that the table states.
pub(super) const REVISION: &str = "2026-08-17";

/// A level of the specification. It counts only if those below it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    One = 1,
    Two,
    Three,
}

impl Tier {
    pub(super) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", *self as u8)
    }
}

/// A requirement: its id without the prefix `A2ACLI_`, and its subject.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) id: &'static str,
    pub(super) tier: Tier,
    pub(super) subject: &'static str,
}

impl Requirement {
    /// Returns whether a test belongs to the requirement, by the last part of its path.
    pub(super) fn has(&self, test: &str) -> bool {
        let name = test.rsplit("::").next().unwrap_or(test);
        let rest = name.strip_prefix(&*self.id.to_ascii_lowercase());
        rest.is_some_and(|rest| rest.starts_with('_') && rest.len() > 1)
    }
}

const fn row(tier: Tier, id: &'static str, subject: &'static str) -> Requirement {
    Requirement { id, tier, subject }
}

use Tier::{One, Three, Two};

/// Every requirement of the specification.
pub(super) const REQUIREMENTS: [Requirement; 66] = [
    row(One, "CARD_GET_001", "agent card from a host, URL or file"),
    row(One, "SEND_001", "sending a message"),
    row(One, "SEND_002", "waiting by default, and returning at once on request"),
    row(One, "SEND_003", "streaming, and its fallback"),
    row(One, "SEND_004", "artifacts with all parts"),
    row(One, "SEND_005", "media types of parts"),
    row(One, "SEND_006", "order of parts, and standard input"),
    row(One, "TASK_GET_001", "state, artifacts and history of a task"),
    row(One, "TASK_CANCEL_001", "canceling a task"),
    row(One, "INTERACT_001", "continuing a context"),
    row(One, "INTERACT_002", "continuing a task, and refused ids"),
    row(One, "INTERACT_003", "ids of the agent only"),
    row(One, "INTERACT_004", "ids, state and resume command"),
    row(One, "INTERACT_005", "no stored conversation"),
    row(One, "TASK_POLL_001", "showing a task once, or waiting for it"),
    row(One, "TASK_POLL_002", "poll interval, timeout, backoff and interrupts"),
    row(One, "TASK_POLL_003", "states at which a wait ends"),
    row(One, "TASK_POLL_004", "polling after a lost stream"),
    row(One, "OUT_001", "ids and state in each mode, payload on stdout"),
    row(One, "OUT_002", "one JSON document"),
    row(One, "OUT_003", "JSON lines of a stream"),
    row(One, "OUT_004", "error envelope and names of errors"),
    row(One, "OUT_005", "text output"),
    row(One, "OUT_006", "ids of an asynchronous send"),
    row(One, "EXIT_001", "exit status"),
    row(One, "EXIT_002", "outcome of a task apart from the exit status"),
    row(One, "AUTH_001", "bearer tokens and API keys, placed by the declared scheme"),
    row(One, "AUTH_002", "credentials in environment variables"),
    row(One, "AUTH_003", "warning for credentials without TLS verification"),
    row(One, "AUTH_004", "redaction of secrets"),
    row(One, "TX_001", "transport of the card, in its order"),
    row(One, "TX_002", "selection of an interface, and preferences"),
    row(One, "TX_003", "tenant of the interface"),
    row(One, "VER_001", "protocol version on each request"),
    row(One, "DEFAULT_001", "six defaults, each overridable"),
    row(One, "CONFIG_001", "configuration files and `config show`"),
    row(One, "CLI_001", "help with effective defaults, and version"),
    row(One, "SKILL_001", "one agent skill"),
    row(One, "SKILL_002", "skill apart from the contract"),
    row(Two, "CARD_GET_002", "validation of a card"),
    row(Two, "TASK_LIST_001", "listing tasks"),
    row(Two, "TASK_SUBSCRIBE_001", "subscribing to a task"),
    row(Two, "TASK_SUBSCRIBE_002", "resuming a subscription"),
    row(Two, "AUTH_005", "login by the device flow"),
    row(Two, "AUTH_006", "login by client credentials"),
    row(Two, "AUTH_007", "stored tokens"),
    row(Two, "TX_004", "two or more transports"),
    row(Two, "VER_003", "capabilities of the card"),
    row(Two, "CONFIG_002", "precedence of settings"),
    row(Two, "DOWNLOAD_001", "saving artifacts"),
    row(Two, "OUT_007", "raw messages for debugging"),
    row(Two, "CONFORM_001", "conformance checks of an agent"),
    row(Two, "CLI_002", "completion scripts"),
    row(Two, "PUSH_001", "push notification configurations"),
    row(Three, "CARD_GET_003", "extended card"),
    row(Three, "AUTH_008", "credentials for cards"),
    row(Three, "CARD_GET_004", "signatures of cards"),
    row(Three, "CARD_GET_005", "catalogs of cards"),
    row(Three, "PUSH_002", "webhook receiver"),
    row(Three, "CHAT_001", "interactive conversation"),
    row(Three, "TX_005", "gRPC"),
    row(Three, "AUTH_009", "mutual TLS"),
    row(Three, "AUTH_010", "OpenID Connect"),
    row(Three, "AUTH_011", "authorization inside a task"),
    row(Three, "DEMO_SERVER_001", "demo agent"),
    row(Three, "VER_002", "required extensions"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_id_is_listed_once_and_tiers_have_their_size() {
        let ids: BTreeSet<_> = REQUIREMENTS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), REQUIREMENTS.len());
        let size = |tier| REQUIREMENTS.iter().filter(|row| row.tier == tier).count();
        assert_eq!(Tier::ALL.map(size), [39, 15, 12]);
    }

    #[test]
    fn test_belongs_to_the_requirement_that_begins_its_name() {
        let row = &REQUIREMENTS[1];
        assert!(row.has("any_agent::send::send_001_sends_a_message"));
        for other in ["send_001", "send_001_", "send_0012_x", "send_001::other", "x_send_001_y"] {
            assert!(!row.has(other), "{other}");
        }
    }
}
