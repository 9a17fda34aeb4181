//! What a scenario has learned about the agent.

/// What a scenario has learned about the agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    /// A task that has ended, and its context.
    pub(super) ended: Option<(String, String)>,
    /// A task with an artifact.
    pub(super) with_artifact: Option<String>,
    /// The text that makes a task ask for input.
    pub(super) asking: Option<String>,
    /// The text that gives a task that works for a while.
    pub(super) slow: Option<String>,
    /// The context of the tasks to list.
    pub(super) context: Option<String>,
}

/// The reason if there is no task at all.
pub(super) const NO_TASK: &str = "the agent answered without a task that has ended: \
    name a text that gives one with --prompt-for hello=…";
/// The reason if no task asks for input.
pub(super) const NO_ASKING: &str =
    "no task asked for input: name a text that does with --prompt-for ask=…";
/// The reason if no task is known to work for a while.
pub(super) const NO_SLOW: &str = "no task is sure to be still working: \
    name a text that takes seconds with --prompt-for slow=…";
