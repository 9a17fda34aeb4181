//! Behaviours in code, for steps that a file can't express.

use std::{collections::BTreeMap, fmt, sync::Arc};

use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};
use futures_util::future::BoxFuture;

type Run =
    dyn Fn(RequestContext, TaskUpdater) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// Behaviours in code: what a step with `builtin = "name"` does.
///
/// ```
/// use a2a_kit_operations::agent_fn;
/// use a2a_kit_script::Builtins;
///
/// let builtins = Builtins::new().with("shout", agent_fn(async |text: String| text.to_uppercase()));
/// let script = builtins.parse("shouter.toml", "[default]\nsteps = [{ builtin = \"shout\" }]")?;
/// # Ok::<(), a2a_kit_script::ScriptError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Builtins(pub(crate) BTreeMap<String, Arc<Run>>);

impl Builtins {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a behaviour: an executor that gets the message, and ends the task.
    pub fn with(mut self, name: impl Into<String>, executor: impl AgentExecutor) -> Self {
        let executor = Arc::new(executor);
        let run = move |context, updates| -> BoxFuture<'static, Result<(), BoxError>> {
            let executor = Arc::clone(&executor);
            Box::pin(async move { executor.execute(context, updates).await })
        };
        self.0.insert(name.into(), Arc::new(run));
        self
    }
}

impl fmt::Debug for Builtins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
