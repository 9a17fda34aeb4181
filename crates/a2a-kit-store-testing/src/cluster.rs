//! The laws of a [`Store`](a2a_kit_operations::Store) that nodes share.
//!
//! Each function gets two stores on the same empty data, which are two nodes, and panics if they
//! violate the law it is named for. [`cluster_suite!`](crate::cluster_suite) generates a test for
//! each.

mod command;
pub mod fixtures;
mod lease;
mod signal;
mod usage;

pub use command::{
    command_follows_its_task_to_the_next_holder, command_is_never_left_with_a_released_lease,
    command_reaches_the_holder_and_is_answered,
};
pub use lease::{
    concurrent_acquires_have_one_winner, concurrent_takeovers_get_different_tasks,
    expired_lease_is_lost, expired_lease_is_taken_over_but_not_acquired,
    late_leases_are_not_taken_over_by_their_own_node, lease_is_exclusive, nodes_share_stored_tasks,
    renewed_lease_does_not_expire,
};
pub use signal::{
    abandoned_lease_is_signalled, completion_is_signalled, lease_changes_are_signalled,
    lost_lease_is_signalled, writes_are_signalled_to_other_nodes,
};

pub use usage::open_tasks_include_the_writes_of_other_nodes;

/// Generates a test for each law of a shared store.
///
/// The argument is an async function that creates two stores on the same empty data, with leases of
/// about 300 ms. Requires tokio with the features `macros`, `time` and `rt-multi-thread`.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use a2a_kit_operations::Store;
/// use a2a_kit_store_testing::MemoryNode;
///
/// async fn two_nodes() -> (Arc<dyn Store>, Arc<dyn Store>) {
///     let one = MemoryNode::with_lease(Duration::from_millis(300));
///     let two = one.join("two");
///     (Arc::new(one), Arc::new(two))
/// }
///
/// a2a_kit_store_testing::cluster_suite!(two_nodes);
/// ```
#[macro_export]
macro_rules! cluster_suite {
    ($make:path) => {
        $crate::cluster_suite! { $make:
            nodes_share_stored_tasks,
            lease_is_exclusive,
            concurrent_acquires_have_one_winner,
            expired_lease_is_lost,
            expired_lease_is_taken_over_but_not_acquired,
            late_leases_are_not_taken_over_by_their_own_node,
            renewed_lease_does_not_expire,
            concurrent_takeovers_get_different_tasks,
            command_reaches_the_holder_and_is_answered,
            command_follows_its_task_to_the_next_holder,
            command_is_never_left_with_a_released_lease,
            writes_are_signalled_to_other_nodes,
            lease_changes_are_signalled,
            lost_lease_is_signalled,
            abandoned_lease_is_signalled,
            completion_is_signalled,
            open_tasks_include_the_writes_of_other_nodes,
        }
    };
    ($make:path: $($law:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $law() {
                let (one, two) = $make().await;
                $crate::cluster::$law(one, two).await;
            }
        )+
    };
}
