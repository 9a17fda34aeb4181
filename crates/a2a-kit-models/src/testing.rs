//! A model that answers from a script, for tests without a network.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_core::stream::{BoxStream, Stream};
use futures_util::{StreamExt as _, stream};

use crate::{
    ChatModel, ModelError, ModelInfo,
    model::{ChatRequest, ModelErrorKind, ModelEvent, StopReason, Usage},
};

/// A model that answers from a script, one turn for each call, and records what it is asked.
///
/// Clones share the script. A call beyond it is answered like a request that the provider rejects.
///
/// ```
/// use a2a_kit_models::{ModelAgent, testing::ScriptedModel};
///
/// let model = ScriptedModel::new(["Oslo", "About 700,000 people"]);
/// let agent = ModelAgent::with_model(model.clone());
/// # let _ = agent;
/// assert!(model.requests().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    info: ModelInfo,
    state: Mutex<State>,
    open: AtomicUsize,
    aborted: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    turns: VecDeque<ScriptedTurn>,
    requests: Vec<ChatRequest>,
}

/// How a [`ScriptedModel`] answers one call. From a text: word by word, with a regular end.
#[derive(Debug, Default)]
pub struct ScriptedTurn(Vec<Step>);

#[derive(Debug)]
enum Step {
    Event(ModelEvent),
    Error(ModelError),
    Pause(Duration),
    Forever,
}

impl ScriptedModel {
    /// A model with a script.
    pub fn new(turns: impl IntoIterator<Item = impl Into<ScriptedTurn>>) -> Self {
        let info = ModelInfo {
            provider: "scripted".to_owned(),
            name: "model".to_owned(),
            ..ModelInfo::default()
        };
        Self::with_info(info, turns)
    }

    /// A model with a script, of a provider and a name, and with media types.
    pub fn with_info(
        info: ModelInfo,
        turns: impl IntoIterator<Item = impl Into<ScriptedTurn>>,
    ) -> Self {
        let turns = turns.into_iter().map(Into::into).collect();
        let state = Mutex::new(State { turns, requests: Vec::new() });
        Self(Arc::new(Shared { info, state, ..Shared::default() }))
    }

    /// What the model was asked, in order.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.state().requests.clone()
    }

    /// The number of turns that are left.
    pub fn remaining(&self) -> usize {
        self.state().turns.len()
    }

    /// The number of calls that are being answered.
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    /// The number of calls that were given up before their end.
    pub fn aborted(&self) -> usize {
        self.0.aborted.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatModel for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let model = self.clone();
        let answer = stream::once(async move {
            let mut state = model.state();
            state.requests.push(request);
            let turn = state.turns.pop_front();
            drop(state);
            let steps = turn.unwrap_or_else(|| ScriptedTurn::error(ModelErrorKind::Rejected)).0;
            model.0.open.fetch_add(1, Ordering::SeqCst);
            let steps = stream::iter(steps).filter_map(perform).boxed();
            Answering { steps, shared: Arc::clone(&model.0), has_ended: false }
        });
        answer.flatten().boxed()
    }
}

async fn perform(step: Step) -> Option<Result<ModelEvent, ModelError>> {
    match step {
        Step::Event(event) => Some(Ok(event)),
        Step::Error(error) => Some(Err(error)),
        Step::Pause(time) => {
            tokio::time::sleep(time).await;
            None
        }
        Step::Forever => std::future::pending().await,
    }
}

/// An answer, counted as open until it ends or is dropped.
struct Answering {
    steps: BoxStream<'static, Result<ModelEvent, ModelError>>,
    shared: Arc<Shared>,
    has_ended: bool,
}

impl Stream for Answering {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let step = self.steps.poll_next_unpin(context);
        if let Poll::Ready(None | Some(Err(_) | Ok(ModelEvent::Finished(_)))) = &step {
            self.has_ended = true;
        }
        step
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        if !self.has_ended {
            self.shared.aborted.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl From<&str> for ScriptedTurn {
    fn from(text: &str) -> Self {
        Self::default().text(text).finish(StopReason::End)
    }
}

impl From<String> for ScriptedTurn {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<ModelError> for ScriptedTurn {
    fn from(error: ModelError) -> Self {
        Self(vec![Step::Error(error)])
    }
}

impl ScriptedTurn {
    /// An answer without events, which is cut unless a [stop reason](Self::finish) is added.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call that fails.
    pub fn error(kind: ModelErrorKind) -> Self {
        ModelError::new(kind).into()
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, event: ModelEvent) -> Self {
        self.0.push(Step::Event(event));
        self
    }

    /// Adds a text, word by word.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| ModelEvent::Text(word.to_owned()));
        self.0.extend(words.map(Step::Event));
        self
    }

    /// Adds the tokens that were used.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.event(ModelEvent::Usage(usage))
    }

    /// Adds a pause.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.0.push(Step::Pause(time));
        self
    }

    /// Adds an error.
    #[must_use]
    pub fn fail(mut self, error: ModelError) -> Self {
        self.0.push(Step::Error(error));
        self
    }

    /// Adds silence without an end.
    #[must_use]
    pub fn forever(mut self) -> Self {
        self.0.push(Step::Forever);
        self
    }

    /// Adds the regular end.
    #[must_use]
    pub fn finish(self, reason: StopReason) -> Self {
        self.event(ModelEvent::Finished(reason))
    }
}
