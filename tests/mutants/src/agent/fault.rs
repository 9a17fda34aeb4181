//! The faults of the agent behind the bindings.

/// A fault in an operation. It shows on every binding and in every revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentFault {
    /// A message to an ended task returns the task instead of an error.
    EndedTaskTakesMessages,
    /// A message with a context id gets another context.
    ContextIsReplaced,
    /// A limited history has the oldest messages.
    HistoryHasOldestMessages,

    /// A stream starts without the task.
    StreamWithoutTask,
    /// A stream stays open after the end of the task.
    StreamStaysOpen,
    /// A stream has two neighbouring chunks in the wrong order.
    ChunksAreSwapped,

    /// An unknown task is returned, and is empty.
    UnknownTaskIsEmpty,
    /// A list has all tasks on its first page.
    PageSizeIsIgnored,
    /// Every page of a list is the first one.
    PagesRepeat,
    /// The total size of a list is the size of the page.
    TotalIsThePage,
    /// A page of a list has the oldest task first.
    OldestFirst,
    /// A list has artifacts that were not requested.
    ArtifactsInLists,

    /// A canceled task is reported as completed.
    CancelCompletes,
    /// An ended task can be canceled.
    EndedTaskIsCanceled,
    /// A subscription to an ended task opens a stream.
    EndedTaskStreams,

    /// A push config is returned and not stored.
    PushConfigIsNotStored,
    /// Deleting a push config fails the second time.
    RepeatedDeleteFails,
}
