//! The steps of the scenarios, by which checks find their exchanges.

/// A step of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    // Sending.
    /// A harmless text, which waits for the result.
    Send,
    /// The same, with members that the protocol does not have.
    SendUnknownMembers,
    /// Texts in a context chosen by the client; several.
    SendInContext,
    /// With `historyLength` 0, and 1.
    SendHistoryZero,
    SendHistoryOne,
    /// To a task that has ended.
    SendToTerminal,
    /// To a task that does not exist, and a look for it afterwards.
    SendUnknownTask,
    GetUnknownTaskAfterSend,
    /// A part of a media type that the card does not list.
    SendForeignMediaType,
    /// A text that produces an artifact.
    SendArtifact,
    /// A text that is answered with a message.
    SendMessageAnswer,
    /// A text whose task fails.
    SendFailing,
    /// With `returnImmediately`.
    SendImmediately,
    /// A text whose task asks for input, a message with another context, and one that resumes it.
    SendAsking,
    SendOtherContext,
    SendResuming,
    /// With a push config in the request.
    SendWithPush,
    /// Invalid requests.
    SendNothing,
    SendWithoutParts,
    SendWithoutMessageId,
    SendWithoutRole,
    SendTwoContents,
    SendWrongType,
    // Streaming.
    Stream,
    StreamAsking,
    /// A text that is answered with a message.
    StreamMessageAnswer,
    StreamUnknownTask,
    StreamToTerminal,
    // Reading.
    GetTask,
    GetTaskAgain,
    GetTaskAfterStream,
    GetArtifactTask,
    GetHistoryZero,
    GetHistoryOne,
    /// The same of a task with several messages.
    GetResumed,
    GetResumedHistoryOne,
    GetUnknown,
    GetAfterCancel,
    // Listing.
    List,
    ListContext,
    ListPage,
    ListPageZero,
    ListPageTooLarge,
    ListArtifacts,
    ListHistoryZero,
    ListStatus,
    ListOtherStatus,
    ListSince,
    ListFuture,
    // Canceling.
    Cancel,
    CancelAgain,
    CancelUnknown,
    CancelTerminal,
    // Subscribing.
    Subscribe,
    SubscribeUnknown,
    SubscribeTerminal,
    // Push notification configs.
    PushCreate,
    PushCreateSecond,
    PushGet,
    PushList,
    PushDelete,
    PushDeleteAgain,
    PushGetDeleted,
    PushListAfterDelete,
    PushCreateUnknownTask,
    PushGetUnknown,
    // Versions.
    VersionUnknown,
    VersionMissing,
    VersionPatch,
    // Errors of the binding.
    UnknownMethod,
    NotJson,
    NotARequest,
    WrongJsonRpcVersion,
    // Extensions and the extended card.
    UnknownExtension,
    KnownExtension,
    WithoutRequiredExtension,
    ExtendedCard,
    ExtendedCardAnonymous,
    // Access.
    Anonymous,
    GetByOther,
    CancelByOther,
    ListByOther,
    SubscribeByOther,
    PushByOther,
    /// The task of another interface.
    GetFromOtherInterface,
}
