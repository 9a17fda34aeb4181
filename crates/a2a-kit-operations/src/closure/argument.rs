//! Arguments of closures.

use std::sync::Arc;

use a2a_core::v1::{Message, Task};
use serde::de::DeserializeOwned;

use crate::{AgentError, BoxError, RequestContext, TaskUpdater};

/// Arguments that a closure of [`agent_fn`](crate::agent_fn) may take.
///
/// | Argument | Value |
/// |---|---|
/// | `String` | the text of the message |
/// | [`Message`] | the message |
/// | [`Data<T>`](Data) | the first data part, as a value of type `T` |
/// | [`Arc<Task>`](Task) | the task, with the history up to this message |
/// | [`RequestContext`] | all of these, the caller, and the cancellation signal |
/// | [`TaskUpdater`] | updates of the task |
#[diagnostic::on_unimplemented(
    message = "a closure cannot take an argument of type `{Self}`",
    note = "arguments are `String`, `Message`, `Data<T>`, `Arc<Task>`, `RequestContext` and \
            `TaskUpdater`, up to three of them"
)]
pub trait FromContext: Sized {
    /// Takes the argument from the context of a message.
    ///
    /// # Errors
    ///
    /// An error fails the task, as one of [`AgentExecutor::execute`](crate::AgentExecutor::execute)
    /// does.
    fn from_context(context: &RequestContext, updates: &TaskUpdater) -> Result<Self, BoxError>;
}

impl FromContext for String {
    fn from_context(context: &RequestContext, _: &TaskUpdater) -> Result<Self, BoxError> {
        Ok(context.text())
    }
}

impl FromContext for Message {
    fn from_context(context: &RequestContext, _: &TaskUpdater) -> Result<Self, BoxError> {
        Ok(context.message().clone())
    }
}

impl FromContext for Arc<Task> {
    fn from_context(context: &RequestContext, _: &TaskUpdater) -> Result<Self, BoxError> {
        Ok(context.task())
    }
}

impl FromContext for RequestContext {
    fn from_context(context: &RequestContext, _: &TaskUpdater) -> Result<Self, BoxError> {
        Ok(context.clone())
    }
}

impl FromContext for TaskUpdater {
    fn from_context(_: &RequestContext, updates: &TaskUpdater) -> Result<Self, BoxError> {
        Ok(updates.clone())
    }
}

/// Typed input of a closure: the first data part of the message.
///
/// A message without such data fails the task; the caller sees which member is invalid. The card has
/// to declare the input mode `application/json`.
///
/// ```
/// use a2a_kit_operations::{Data, agent_fn};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Trip {
///     city: String,
///     days: u8,
/// }
///
/// let planner = agent_fn(async |Data(trip): Data<Trip>| {
///     format!("{} days in {}", trip.days, trip.city)
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Data<T>(pub T);

impl<T: DeserializeOwned> FromContext for Data<T> {
    fn from_context(context: &RequestContext, _: &TaskUpdater) -> Result<Self, BoxError> {
        let parsed = context.message().parse().map(Self);
        parsed.map_err(|error| AgentError::new(error.message()).with_source(error).into())
    }
}

/// Closures whose arguments are taken from the context of a message. Implemented for functions of
/// one to three [`FromContext`] arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a closure of a message",
    note = "annotate the types of its arguments: `String`, `Message`, `Data<T>`, `Arc<Task>`, \
            `RequestContext` or `TaskUpdater`"
)]
pub trait ContextFn<Arguments>: Send + Sync + 'static {
    /// What the closure returns.
    type Output;

    /// Calls the closure.
    ///
    /// # Errors
    ///
    /// An argument cannot be taken from the context.
    fn call(
        &self,
        context: &RequestContext,
        updates: &TaskUpdater,
    ) -> Result<Self::Output, BoxError>;
}

/// Closures like those of [`ContextFn`], with shared state as an additional first argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a closure of `{State}` and a message",
    note = "annotate the types of its arguments: the state, then `String`, `Message`, `Data<T>`, \
            `Arc<Task>`, `RequestContext` or `TaskUpdater`"
)]
pub trait StateFn<State, Arguments>: Send + Sync + 'static {
    /// What the closure returns.
    type Output;

    /// Calls the closure.
    ///
    /// # Errors
    ///
    /// An argument cannot be taken from the context.
    fn call(
        &self,
        state: State,
        context: &RequestContext,
        updates: &TaskUpdater,
    ) -> Result<Self::Output, BoxError>;
}

macro_rules! closures {
    ($($argument:ident),*) => {
        impl<F, O, $($argument: FromContext),*> ContextFn<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> O + Send + Sync + 'static,
        {
            type Output = O;

            fn call(&self, context: &RequestContext, updates: &TaskUpdater) -> Result<O, BoxError> {
                Ok(self($($argument::from_context(context, updates)?),*))
            }
        }

        impl<F, O, S, $($argument: FromContext),*> StateFn<S, ($($argument,)*)> for F
        where
            F: Fn(S, $($argument),*) -> O + Send + Sync + 'static,
        {
            type Output = O;

            fn call(
                &self,
                state: S,
                context: &RequestContext,
                updates: &TaskUpdater,
            ) -> Result<O, BoxError> {
                Ok(self(state, $($argument::from_context(context, updates)?),*))
            }
        }
    };
}

closures!(A);
closures!(A, B);
closures!(A, B, C);
