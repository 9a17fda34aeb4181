//! Faults of operations: messages, tasks, lists and webhooks.

use crate::{AgentFault, Fault, Mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "tasks-of-others-are-visible",
        requirement: "R-418",
        also: &["R-047", "R-161"],
        fault: Fault::SharedTasks,
    },
    Mutant {
        name: "ended-task-takes-messages",
        requirement: "R-020",
        also: &["R-155", "R-199"],
        fault: Fault::Agent(AgentFault::EndedTaskTakesMessages),
    },
    Mutant {
        name: "context-is-replaced",
        requirement: "R-187",
        also: &[],
        fault: Fault::Agent(AgentFault::ContextIsReplaced),
    },
    Mutant {
        name: "history-has-oldest-messages",
        requirement: "R-029",
        also: &[],
        fault: Fault::Agent(AgentFault::HistoryHasOldestMessages),
    },
    Mutant {
        name: "unknown-task-is-empty",
        requirement: "R-046",
        also: &["R-155", "R-161", "R-197", "R-302", "R-418"],
        fault: Fault::Agent(AgentFault::UnknownTaskIsEmpty),
    },
    Mutant {
        name: "page-size-is-ignored",
        requirement: "R-053",
        also: &["R-055"],
        fault: Fault::Agent(AgentFault::PageSizeIsIgnored),
    },
    Mutant {
        name: "pages-repeat",
        requirement: "R-048",
        also: &[],
        fault: Fault::Agent(AgentFault::PagesRepeat),
    },
    Mutant {
        name: "total-is-the-page",
        requirement: "R-055",
        also: &[],
        fault: Fault::Agent(AgentFault::TotalIsThePage),
    },
    Mutant {
        name: "oldest-task-first",
        requirement: "R-049",
        also: &[],
        fault: Fault::Agent(AgentFault::OldestFirst),
    },
    Mutant {
        name: "artifacts-in-lists",
        requirement: "R-050",
        also: &[],
        fault: Fault::Agent(AgentFault::ArtifactsInLists),
    },
    Mutant {
        name: "cancel-completes",
        requirement: "R-058",
        also: &[],
        fault: Fault::Agent(AgentFault::CancelCompletes),
    },
    Mutant {
        name: "ended-task-is-canceled",
        requirement: "R-059",
        also: &["R-155", "R-302"],
        fault: Fault::Agent(AgentFault::EndedTaskIsCanceled),
    },
    Mutant {
        name: "ended-task-streams",
        requirement: "R-066",
        also: &["R-155"],
        fault: Fault::Agent(AgentFault::EndedTaskStreams),
    },
    Mutant {
        name: "push-config-is-not-stored",
        requirement: "R-070",
        also: &["R-073", "R-075"],
        fault: Fault::Agent(AgentFault::PushConfigIsNotStored),
    },
    Mutant {
        name: "repeated-delete-fails",
        requirement: "R-078",
        also: &[],
        fault: Fault::Agent(AgentFault::RepeatedDeleteFails),
    },
];
