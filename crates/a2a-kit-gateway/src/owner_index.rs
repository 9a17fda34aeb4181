//! An index of the tasks and contexts of each owner.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Error, ErrorKind, Message, Request, Result, TaskState,
    v1::{ListTasksRequest, ListTasksResponse, Task, TaskStatus},
    well_known::{Struct, Timestamp},
};
use a2a_kit_operations::{
    Call, CallContext, Caller, EngineConfig, MemoryStore, Scope, list_stored,
    store::{
        MAX_ID_BYTES, MAX_TENANT_BYTES, NewTask, StoreError, StoredTask, Sweep, TaskQuery,
        TaskStore, TaskView, Transition,
    },
};
use ring::digest::{Context, SHA256};

/// The tenants of contexts begin with it, and tenants and subjects of callers must not contain it.
const CONTEXTS: char = '\u{1}';

/// Interval of the retention sweep, and the delay between two of its batches.
pub(crate) const SWEEP: Duration = Duration::from_secs(60);
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// How often a new task is recorded before its call fails.
const ATTEMPTS: u32 = 3;
/// The delay after the first attempt; it doubles.
const RETRY: Duration = Duration::from_millis(100);

/// The message id of the status of a task that the upstream agent has lost.
const LOST: &str = "lost";

/// The states of a task that can change without its caller.
const OPEN: [TaskState; 4] =
    [TaskState::Submitted, TaskState::Working, TaskState::AuthRequired, TaskState::InputRequired];

/// Which tasks and contexts of the upstream agent belong to which owner, in a [store](TaskStore).
///
/// A task is recorded before its id leaves the gateway, without history and artifacts: id, context,
/// status and metadata, as last seen. Its owner is the caller that sent the first message of it,
/// in the tenant of that message. Use one store per upstream agent; nodes of one gateway share it.
///
/// A recorded task is kept for the [retention](EngineConfig::retention) after the gateway has seen
/// its end, and for the [parked retention](EngineConfig::parked_retention) while it waits for its
/// caller. Then it is unknown to the gateway, whatever the upstream agent has of it.
#[derive(Clone, Debug)]
pub struct OwnerIndex(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn TaskStore>,
    config: EngineConfig,
    is_swept: AtomicBool,
}

/// A recorded task.
#[derive(Clone, Debug)]
pub(crate) struct Recorded(StoredTask);

impl Recorded {
    pub(crate) fn task(&self) -> &Task {
        &self.0.task
    }

    /// The context as the upstream agent knows it, if that is another one than the caller's.
    pub(crate) fn upstream_context(&self) -> Option<&str> {
        std::str::from_utf8(&self.0.journal).ok().filter(|context| !context.is_empty())
    }

    /// Whether the task has ended because the upstream agent did not find it. If it finds it again,
    /// the task is as it says.
    pub(crate) fn is_lost(&self) -> bool {
        let message = self.task().status.as_ref().and_then(|status| status.message.as_ref());
        message.is_some_and(|message| message.message_id == LOST)
    }
}

impl Default for OwnerIndex {
    fn default() -> Self {
        Self::new(Arc::new(MemoryStore::new()), EngineConfig::default())
    }
}

impl OwnerIndex {
    /// Creates an index in a store. Of the settings of an engine, `retention`, `parked_retention`,
    /// `max_list_bytes` and, except for running tasks, `caller_limits` apply.
    pub fn new(store: Arc<dyn TaskStore>, config: EngineConfig) -> Self {
        Self(Arc::new(Inner { store, config, is_swept: AtomicBool::new(false) }))
    }

    /// The scope of a call, whose texts a store can keep.
    ///
    /// # Errors
    ///
    /// `InvalidParams` for a tenant or context that is too long or has control characters,
    /// `PermissionDenied` for such a subject.
    pub(crate) fn scope(&self, context: &CallContext, request: &impl Request) -> Result<Scope> {
        self.start();
        let scope = Scope::new(request.tenant(), &context.caller);
        if !is_possible(&scope.owner, MAX_ID_BYTES) {
            let message = "the subject of the credentials is too long or has control characters";
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        for (field, text, max) in [
            ("tenant", request.tenant(), MAX_TENANT_BYTES),
            ("contextId", request.context_id(), MAX_ID_BYTES),
        ] {
            if !is_possible(text, max) {
                let problem = format!("must have at most {max} bytes and no control characters");
                return Err(Error::invalid_params(field, problem));
            }
        }
        Ok(scope)
    }

    /// Finds a task of an owner. The only way from an id that a caller names to a task of the
    /// upstream agent.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for a task that is not recorded, or is of another owner.
    pub(crate) async fn find(&self, scope: &Scope, id: &str) -> Result<Recorded> {
        self.get(scope, id).await?.ok_or_else(|| Error::task_not_found(id))
    }

    pub(crate) async fn get(&self, scope: &Scope, id: &str) -> Result<Option<Recorded>> {
        if !is_possible(id, MAX_ID_BYTES) {
            return Ok(None);
        }
        Ok(self.0.store.get(scope, id).await.map_err(Error::from)?.map(Recorded))
    }

    /// Records a task that the upstream agent has begun for an owner, and returns it; or that of an
    /// earlier call, if it is the owner's; `None` if the task is of another owner.
    ///
    /// # Errors
    ///
    /// Errors of the store. The upstream agent works on the task then, but the caller does not
    /// learn its id: a retry with the same idempotency key joins and records it.
    pub(crate) async fn insert(
        &self,
        scope: &Scope,
        task: Task,
        upstream_context: &str,
    ) -> Result<Option<Recorded>> {
        let task = Arc::new(task);
        let mut delay = RETRY;
        for attempt in 1.. {
            let new = NewTask::new(Arc::clone(&task), Vec::new())
                .with_journal(upstream_context.to_owned());
            match self.0.store.insert(scope, new).await {
                Ok(_) | Err(StoreError::Conflict { .. }) => break,
                Err(StoreError::Failed(_)) if attempt < ATTEMPTS => {
                    tokio::time::sleep(delay).await;
                    delay *= 2;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.get(scope, &task.id).await
    }

    /// Updates what is recorded of a task. If the store fails, lists show an older state until the
    /// task is read again.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` if the task was removed.
    pub(crate) async fn update(
        &self,
        scope: &Scope,
        recorded: &mut Recorded,
        status: Option<&TaskStatus>,
        metadata: Option<&Struct>,
    ) -> Result<()> {
        let mut task = Task::clone(&recorded.0.task);
        if status.is_some() {
            task.status = timed(status);
        }
        if metadata.is_some() {
            task.metadata = metadata.cloned();
        }
        let task = Arc::new(task);
        let StoredTask { version, epoch, .. } = recorded.0;
        let transition = Transition::new(task.id.as_str(), version, epoch, Vec::new())
            .with_snapshot(Arc::clone(&task));
        if self.0.store.commit(scope, transition).await.is_ok() {
            recorded.0.version += 1;
            recorded.0.task = task;
        } else if let Ok(newer) = self.get(scope, &recorded.0.task.id).await {
            *recorded = newer.ok_or_else(|| Error::task_not_found(&recorded.0.task.id))?;
        }
        Ok(())
    }

    /// The context of the upstream agent for one that a caller names: that of the owner's tasks and
    /// messages or, if it has none there, one that no other owner can name.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    pub(crate) async fn upstream_context(&self, scope: &Scope, own: &str) -> Result<String> {
        let query = TaskQuery::default()
            .with_context_id(own.to_owned())
            .with_limit(1)
            .with_view(TaskView::default().with_history(0).with_artifacts(false));
        let found = self.0.store.list(scope, &query).await.map_err(Error::from)?;
        let recorded = match found.tasks.first() {
            Some(task) => self.get(scope, &task.id).await?,
            None => self.get(&contexts(scope), &context_id(own)).await?,
        };
        Ok(match recorded {
            Some(recorded) => recorded.upstream_context().unwrap_or(own).to_owned(),
            None => digest(scope, "upstream-context", own),
        })
    }

    /// Records a context of the upstream agent as the owner's, or that it is still used.
    ///
    /// # Errors
    ///
    /// `InvalidAgentResponse` for a context of another owner; errors of the store.
    pub(crate) async fn keep_context(&self, scope: &Scope, context: &str) -> Result<()> {
        if !is_possible(context, MAX_ID_BYTES) {
            return Err(Error::new(
                ErrorKind::InvalidAgentResponse,
                "the upstream agent answered with a context id that can't be stored",
            ));
        }
        let status = TaskStatus::now(TaskState::Completed, None);
        let id = context_id(context);
        let entry = Task {
            id: id.clone(),
            context_id: context.to_owned(),
            status: Some(status.clone()),
            ..Task::default()
        };
        let scope = contexts(scope);
        let is_kept = match self.get(&scope, &id).await? {
            Some(mut known) => self.update(&scope, &mut known, Some(&status), None).await.is_ok(),
            None => false,
        };
        if is_kept || self.insert(&scope, entry, "").await?.is_some() {
            Ok(())
        } else {
            Err(foreign("context"))
        }
    }

    /// Checks that the store responds and accepts writes: while it does not, no messages are
    /// forwarded.
    ///
    /// # Errors
    ///
    /// `Unavailable` after a failed write, until another one of that size succeeds.
    pub async fn probe(&self) -> Result<()> {
        Ok(self.0.store.probe().await?)
    }

    /// Returns the address of the upstream agent whose tasks these are, as
    /// [set](Self::set_upstream) last; `None` for a new index.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    pub async fn upstream(&self) -> Result<Option<String>> {
        let (scope, id) = upstream_entry();
        let entry = self.get(&scope, &id).await?;
        Ok(entry
            .and_then(|entry| entry.task().status.as_ref()?.message.as_ref().map(Message::text)))
    }

    /// Remembers the address of the upstream agent: ids of another agent may be the same ones.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    pub async fn set_upstream(&self, address: &str) -> Result<()> {
        let (scope, id) = upstream_entry();
        // Never removed: it does not end.
        let status = TaskStatus::now(TaskState::Working, Some(Message::agent(address)));
        match self.get(&scope, &id).await? {
            Some(mut known) => self.update(&scope, &mut known, Some(&status), None).await,
            None => {
                let entry = Task { id, status: Some(status), ..Task::default() };
                self.insert(&scope, entry, "").await.map(drop)
            }
        }
    }

    /// Checks the limits of an owner that begins a task.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` at a limit, and errors of the store: a message whose task could not be
    /// recorded does not reach the upstream agent.
    pub(crate) async fn check_usage(&self, owner: &str) -> Result<()> {
        self.0.config.caller_limits.of(owner).check_usage(&*self.0.store, owner, Some(1)).await
    }

    /// A page of the owner's tasks, as last seen.
    ///
    /// # Errors
    ///
    /// As for [`list_stored`].
    pub(crate) async fn list(&self, call: &Call<ListTasksRequest>) -> Result<ListTasksResponse> {
        list_stored(&*self.0.store, call, self.0.config.max_list_bytes).await
    }

    /// The newest unfinished tasks of an owner, at most `limit`; none if the store fails.
    pub(crate) async fn open(&self, scope: &Scope, limit: usize) -> Vec<String> {
        let usage = self.0.store.usage(&scope.owner).await;
        if usage.is_ok_and(|usage| usage.open_tasks == 0) {
            return Vec::new();
        }
        let mut open = Vec::new();
        for state in OPEN {
            let query = TaskQuery::default()
                .with_state(state)
                .with_limit(limit)
                .with_view(TaskView::default().with_history(0).with_artifacts(false));
            let found = self.0.store.list(scope, &query).await.unwrap_or_default();
            open.extend(found.tasks.iter().map(|task| {
                let time = task.status.as_ref().and_then(|status| status.timestamp);
                (time.map_or(0, Timestamp::as_millis), task.id.clone())
            }));
        }
        open.sort_unstable_by(|one, other| other.cmp(one));
        open.truncate(limit);
        open.into_iter().map(|(_, id)| id).collect()
    }

    /// Ends a task that the upstream agent no longer has: nothing else would.
    pub(crate) async fn end_lost(&self, scope: &Scope, id: &str) {
        if let Ok(Some(mut lost)) = self.get(scope, id).await {
            let text = Message::agent("the agent no longer has this task");
            let message = Message { message_id: LOST.to_owned(), ..text };
            let status = TaskStatus::now(TaskState::Failed, Some(message));
            // It fails if the index no longer has it either.
            let _ = self.update(scope, &mut lost, Some(&status), None).await;
        }
    }

    /// Sweeps until the index is dropped; starts once.
    fn start(&self) {
        if self.0.is_swept.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.0.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let index = Arc::downgrade(&self.0);
        runtime.spawn(async move {
            while let Some(inner) = index.upgrade() {
                let EngineConfig { retention, parked_retention, .. } = inner.config;
                let sweep = Sweep::default().with_tasks(retention).with_parked(parked_retention);
                // A failure is seen by the next call too.
                let removed = inner.store.sweep(sweep).await.map_or(0, |removed| removed.len());
                drop(inner);
                let has_more = removed >= sweep.limit;
                tokio::time::sleep(if has_more { BATCH_PAUSE } else { SWEEP }).await;
            }
        });
    }
}

/// A status with a time, by which lists are ordered.
pub(crate) fn timed(status: Option<&TaskStatus>) -> Option<TaskStatus> {
    let mut status = status.cloned().unwrap_or_default();
    status.timestamp.get_or_insert_with(Timestamp::now);
    Some(status)
}

/// A digest that differs by owner, tenant, purpose and text: it doesn't reveal another owner
/// and text.
pub(crate) fn digest(scope: &Scope, purpose: &str, text: &str) -> String {
    let mut context = Context::new(&SHA256);
    for part in [&*scope.tenant, &*scope.owner, purpose, text] {
        context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut digest = String::with_capacity(32);
    for byte in &context.finish().as_ref()[..16] {
        // Writing to a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// The scope and the id of the entry of the upstream agent, which no caller has.
fn upstream_entry() -> (Scope, String) {
    let scope = Scope::new(&CONTEXTS.to_string(), &Caller::authenticated(CONTEXTS.to_string()));
    let id = digest(&scope, "upstream", "");
    (scope, id)
}

/// The id of the entry of a context: one for all owners, so that it belongs to one.
fn context_id(context: &str) -> String {
    digest(&Scope::new("", &Caller::ANONYMOUS), "context", context)
}

/// The scope of the contexts of an owner.
fn contexts(scope: &Scope) -> Scope {
    let mut contexts = scope.clone();
    contexts.tenant = format!("{CONTEXTS}{}", digest(scope, "contexts", "")).into();
    contexts
}

fn is_possible(text: &str, max: usize) -> bool {
    text.len() <= max && !text.contains(['\0', CONTEXTS])
}

/// The error for an answer about a task or context that is not that of the call.
pub(crate) fn foreign(what: &str) -> Error {
    let message = format!("the upstream agent answered with another {what}");
    Error::new(ErrorKind::InvalidAgentResponse, message)
}
