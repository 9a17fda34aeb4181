/// A kind of fault. Each is a figure, and each figure should be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A task that is missing, rejected, or FAILED although the agent did not fail it.
    Lost,
    /// A task that did not end in time.
    Stuck,
    /// An answer that is older than one received before its question was sent.
    Stale,
    /// An event that a reader missed.
    Gap,
    /// An event that a reader had already.
    Repeated,
    /// An event after a later one.
    Reordered,
    /// An event that differs between readers.
    Differs,
    /// A task that is not the sum of its events.
    Snapshot,
    /// A stream or a subscription that ended before the task did, or events after the end.
    LostEnd,
    /// An accepted message that is not in the history.
    MessageLost,
    /// A message that is in the history twice, or although it was refused.
    MessageTwice,
    /// A message before one that was accepted earlier.
    MessageOrder,
    /// A cancel that succeeded, of a task that is not CANCELED.
    Cancel,
    /// An event, or an answer to a message or a cancel, that took too long although the nodes and
    /// their links were in order.
    Late,
    /// Events, artifacts, responses or deliveries that the agent did not produce.
    Unexpected,
    /// An event that a webhook missed.
    Undelivered,
    /// An event first delivered to a webhook after a later one.
    Disordered,
    /// A side effect after the lease of its run had ended.
    Effect,
    /// A program or a `once` that began after its server had been resumed without the lease.
    Begun,
    /// A `once` that ran again although its result had been stored.
    OnceAgain,
}

impl Fault {
    /// All kinds, in the order of the figures.
    pub const ALL: [Self; 20] = [
        Self::Lost,
        Self::Stuck,
        Self::Stale,
        Self::Gap,
        Self::Repeated,
        Self::Reordered,
        Self::Differs,
        Self::Snapshot,
        Self::LostEnd,
        Self::MessageLost,
        Self::MessageTwice,
        Self::MessageOrder,
        Self::Cancel,
        Self::Late,
        Self::Unexpected,
        Self::Undelivered,
        Self::Disordered,
        Self::Effect,
        Self::Begun,
        Self::OnceAgain,
    ];

    /// The words of its figure.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Lost => "tasks lost",
            Self::Stuck => "tasks stuck",
            Self::Stale => "answers older than one seen before",
            Self::Gap => "events missing in a stream",
            Self::Repeated => "events repeated in a stream",
            Self::Reordered => "events out of order",
            Self::Differs => "events that differ between readers",
            Self::Snapshot => "tasks that are not the sum of their events",
            Self::LostEnd => "lost ends",
            Self::MessageLost => "accepted messages lost",
            Self::MessageTwice => "messages handled twice, or although refused",
            Self::MessageOrder => "messages out of order",
            Self::Cancel => "cancels undone",
            Self::Late => "events and answers later than 10 s",
            Self::Unexpected => "unexpected events, artifacts or responses",
            Self::Undelivered => "webhook events missing",
            Self::Disordered => "webhook events out of order",
            Self::Effect => "side effects after the lease ended",
            Self::Begun => "programs and `once` begun after SIGCONT without a lease",
            Self::OnceAgain => "`once` run again after its result was stored",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn figures_are_in_the_order_of_the_kinds() {
        for (index, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, index, "{fault:?}");
        }
    }
}
