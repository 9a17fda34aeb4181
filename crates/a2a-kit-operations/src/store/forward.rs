//! Forwarding of store methods.

/// Implements methods of [`TaskStore`](crate::store::TaskStore),
/// [`LeaseStore`](crate::store::LeaseStore) or [`PushStore`](crate::store::PushStore) by forwarding
/// to another store: all methods of a trait, or the named ones.
///
/// After `=>` follows an expression for the other store, in which the name before it is `self`.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
///
/// use a2a_kit_operations::{
///     Scope, Store, forward_store,
///     store::{Committed, LeaseStore, NewTask, PushStore, StoreError, TaskStore},
/// };
/// use async_trait::async_trait;
///
/// /// Counts the tasks that are created.
/// #[derive(Debug)]
/// struct Counted {
///     store: Arc<dyn Store>,
///     created: AtomicU64,
/// }
///
/// #[async_trait]
/// impl TaskStore for Counted {
///     async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
///         self.created.fetch_add(1, Ordering::Relaxed);
///         self.store.insert(scope, new).await
///     }
///
///     forward_store! {
///         TaskStore: this => this.store;
///         commit, get, load, replay, list, usage, open_tasks, claim_key, take_over_key,
///         release_key, sweep, probe, close,
///     }
/// }
///
/// impl LeaseStore for Counted {
///     forward_store!(LeaseStore: this => this.store);
/// }
///
/// impl PushStore for Counted {
///     forward_store!(PushStore: this => this.store);
/// }
/// ```
#[macro_export]
macro_rules! forward_store {
    ($trait:ident: $this:ident => $store:expr) => {
        $crate::store_methods!($trait (forward $this ($store)));
    };
    ($trait:ident: $this:ident => $store:expr; $($method:ident),* $(,)?) => {
        $($crate::store_methods!(@ $trait $method => (forward $this ($store)));)*
    };
}

/// Implements methods of a store trait like [`forward_store!`], each through one method of the
/// wrapper, which gets the name of the method and the call to the other store as a future.
///
/// ```
/// use std::{future::Future, sync::Arc};
///
/// use a2a_kit_operations::{Store, intercept_store, store::{PushStore, StoreError}};
///
/// /// Prints the names of webhook calls that fail.
/// #[derive(Debug)]
/// struct Logged(Arc<dyn Store>);
///
/// impl Logged {
///     async fn log<T>(
///         &self,
///         name: &'static str,
///         call: impl Future<Output = Result<T, StoreError>>,
///     ) -> Result<T, StoreError> {
///         call.await.inspect_err(|error| println!("{name}: {error}"))
///     }
/// }
///
/// impl PushStore for Logged {
///     intercept_store!(log, PushStore: this => this.0);
/// }
/// ```
#[macro_export]
macro_rules! intercept_store {
    ($intercept:ident, $trait:ident: $this:ident => $store:expr) => {
        $crate::store_methods!($trait (intercept $this ($store) $intercept));
    };
    ($intercept:ident, $trait:ident: $this:ident => $store:expr; $($method:ident),* $(,)?) => {
        $($crate::store_methods!(@ $trait $method => (intercept $this ($store) $intercept));)*
    };
}

/// The table of store methods.
#[doc(hidden)]
#[macro_export]
macro_rules! store_methods {
    (@ TaskStore insert => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore insert ['a] (scope: &'a $crate::Scope, new: $crate::store::NewTask) -> $crate::store::Committed);
    };
    (@ TaskStore commit => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore commit ['a] (scope: &'a $crate::Scope, transition: $crate::store::Transition) -> $crate::store::Committed);
    };
    (@ TaskStore get => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore get ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str) -> Option<$crate::store::StoredTask>);
    };
    (@ TaskStore load => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore load ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str, after: $crate::EventId) -> Option<($crate::store::StoredTask, $crate::store::Replay)>);
    };
    (@ TaskStore replay => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore replay ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str, after: $crate::EventId) -> Option<$crate::store::Replay>);
    };
    (@ TaskStore list => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore list ['a 'b] (scope: &'a $crate::Scope, query: &'b $crate::store::TaskQuery) -> $crate::store::TaskPage);
    };
    (@ TaskStore usage => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore usage ['a] (owner: &'a str) -> $crate::store::Usage);
    };
    (@ TaskStore open_tasks => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore open_tasks ['a] (owner: &'a str) -> usize);
    };
    (@ TaskStore claim_key => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore claim_key ['a 'b 'c] (scope: &'a $crate::Scope, key: &'b str, fingerprint: u64, task_id: &'c str) -> $crate::store::Claim);
    };
    (@ TaskStore take_over_key => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore take_over_key ['a 'b 'c 'd] (scope: &'a $crate::Scope, key: &'b str, fingerprint: u64, gone: &'c str, task_id: &'d str) -> $crate::store::Claim);
    };
    (@ TaskStore release_key => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore release_key ['a 'b 'c] (scope: &'a $crate::Scope, key: &'b str, task_id: &'c str) -> ());
    };
    (@ TaskStore sweep => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore sweep [] (sweep: $crate::store::Sweep) -> Vec<::std::sync::Arc<str>>);
    };
    (@ TaskStore probe => $how:tt) => {
        $crate::store_methods!(@@ $how, TaskStore probe [] () -> ());
    };
    (@ TaskStore close => ($how:ident $this:ident ($store:expr) $($rest:tt)*)) => {
        fn close<'store, 'future>(&'store self) -> $crate::store::forward::CloseFuture<'future>
        where
            'store: 'future,
            Self: 'future,
        {
            let $this = self;
            $crate::store::TaskStore::close(&$store)
        }
    };
    (@ LeaseStore node => ($how:ident $this:ident ($store:expr) $($rest:tt)*)) => {
        fn node(&self) -> &str {
            let $this = self;
            $crate::store::LeaseStore::node(&$store)
        }
    };
    (@ LeaseStore lease => ($how:ident $this:ident ($store:expr) $($rest:tt)*)) => {
        fn lease(&self) -> Option<::std::time::Duration> {
            let $this = self;
            $crate::store::LeaseStore::lease(&$store)
        }
    };
    (@ LeaseStore acquire => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore acquire ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str) -> Option<$crate::store::Acquired>);
    };
    (@ LeaseStore renew => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore renew ['a] (held: &'a [(::std::sync::Arc<str>, u64)]) -> Vec<::std::sync::Arc<str>>);
    };
    (@ LeaseStore release => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore release ['a] (task_id: &'a str, epoch: u64) -> bool);
    };
    (@ LeaseStore abandon => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore abandon ['a] (task_id: &'a str, epoch: u64) -> ());
    };
    (@ LeaseStore take_over => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore take_over [] (limit: usize) -> Vec<$crate::store::Orphan>);
    };
    (@ LeaseStore post_command => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore post_command ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str, command: $crate::store::Command) -> bool);
    };
    (@ LeaseStore commands => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore commands ['a] (task_id: &'a str) -> Vec<$crate::store::Command>);
    };
    (@ LeaseStore answer_command => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore answer_command ['a] (command_id: &'a str, answer: $crate::store::forward::Bytes) -> ());
    };
    (@ LeaseStore read_answer => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore read_answer ['a] (command_id: &'a str) -> Option<$crate::store::forward::Bytes>);
    };
    (@ LeaseStore delete_answer => $how:tt) => {
        $crate::store_methods!(@@ $how, LeaseStore delete_answer ['a] (command_id: &'a str) -> ());
    };
    (@ LeaseStore signals => ($how:ident $this:ident ($store:expr) $($rest:tt)*)) => {
        fn signals(&self) -> Option<$crate::store::Signals> {
            let $this = self;
            $crate::store::LeaseStore::signals(&$store)
        }
    };
    (@ PushStore put_config => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore put_config ['a] (scope: &'a $crate::Scope, webhook: $crate::Webhook) -> ());
    };
    (@ PushStore configs => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore configs ['a 'b] (scope: &'a $crate::Scope, task_id: &'b str) -> Vec<$crate::Webhook>);
    };
    (@ PushStore delete_config => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore delete_config ['a 'b 'c] (scope: &'a $crate::Scope, task_id: &'b str, id: &'c str) -> ());
    };
    (@ PushStore claim_deliveries => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore claim_deliveries [] (limit: usize) -> $crate::store::ClaimedDeliveries);
    };
    (@ PushStore record_delivery => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore record_delivery ['a] (key: &'a $crate::store::DeliveryKey, outcome: $crate::store::DeliveryOutcome) -> bool);
    };
    (@ PushStore backlog => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore backlog [] () -> $crate::store::Backlog);
    };
    (@ PushStore dead_letters => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore dead_letters ['a] (query: &'a $crate::store::DeadLetterQuery) -> Vec<$crate::store::DeadLetter>);
    };
    (@ PushStore redeliver => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore redeliver ['a] (query: &'a $crate::store::DeadLetterQuery) -> $crate::store::Redelivery);
    };
    (@ PushStore purge_dead_letters => $how:tt) => {
        $crate::store_methods!(@@ $how, PushStore purge_dead_letters ['a] (query: &'a $crate::store::DeadLetterQuery) -> u64);
    };
    (@ $trait:ident $unknown:ident => $how:tt) => {
        compile_error!(concat!("`", stringify!($unknown), "` is not a method of `", stringify!($trait), "`"));
    };
    // What an `async fn` of async-trait becomes, without a future around the other store's.
    (
        @@ (forward $this:ident ($store:expr)), $trait:ident $method:ident
        [$($life:lifetime)*] ($($name:ident: $type:ty),*) -> $result:ty
    ) => {
        fn $method<'store, $($life,)* 'future>(
            &'store self,
            $($name: $type),*
        ) -> $crate::store::forward::StoreFuture<'future, $result>
        where
            'store: 'future,
            $($life: 'future,)*
            Self: 'future,
        {
            let $this = self;
            $crate::store::$trait::$method(&$store, $($name),*)
        }
    };
    (
        @@ (intercept $this:ident ($store:expr) $intercept:ident), $trait:ident $method:ident
        [$($life:lifetime)*] ($($name:ident: $type:ty),*) -> $result:ty
    ) => {
        fn $method<'store, $($life,)* 'future>(
            &'store self,
            $($name: $type),*
        ) -> $crate::store::forward::StoreFuture<'future, $result>
        where
            'store: 'future,
            $($life: 'future,)*
            Self: 'future,
        {
            let $this = self;
            let call = $crate::store::$trait::$method(&$store, $($name),*);
            ::std::boxed::Box::pin($this.$intercept(stringify!($method), call))
        }
    };
    (TaskStore $how:tt) => {
        $crate::store_methods! {
            TaskStore $how: insert commit get load replay list usage open_tasks claim_key
            take_over_key release_key sweep probe close
        }
    };
    (LeaseStore $how:tt) => {
        $crate::store_methods! {
            LeaseStore $how: node lease acquire renew release abandon take_over post_command
            commands answer_command read_answer delete_answer signals
        }
    };
    (PushStore $how:tt) => {
        $crate::store_methods! {
            PushStore $how: put_config configs delete_config claim_deliveries record_delivery
            backlog dead_letters redeliver purge_dead_letters
        }
    };
    ($trait:ident $how:tt: $($method:ident)*) => {
        $($crate::store_methods!(@ $trait $method => $how);)*
    };
}

use std::{future::Future, pin::Pin, sync::Arc};

pub use bytes::Bytes;

use super::{LeaseStore, PushStore, StoreError, TaskStore};

/// The future of a store method.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The future of `TaskStore::close`.
pub type CloseFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    forward_store!(TaskStore: this => **this);
}

impl<S: LeaseStore + ?Sized> LeaseStore for Arc<S> {
    forward_store!(LeaseStore: this => **this);
}

impl<S: PushStore + ?Sized> PushStore for Arc<S> {
    forward_store!(PushStore: this => **this);
}
