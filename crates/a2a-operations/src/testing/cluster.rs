//! The laws of a [`Store`](crate::Store) that nodes share, for every such store alike.
//!
//! Each function here is given two stores on the same empty data, which are two nodes, and panics
//! where they break the law that the function is named for.
//! [`cluster_suite!`](crate::cluster_suite) makes a test of each of them.

mod command;
mod lease;
pub mod scenery;
mod signal;

pub use command::{
    a_command_goes_with_its_task_to_the_next_node,
    a_command_reaches_the_holder_and_its_answer_comes_back,
    no_command_is_left_for_a_node_that_lets_go,
};
pub use lease::{
    a_lease_that_is_renewed_goes_on, a_silent_node_loses_its_task, a_task_is_held_by_one_node,
    a_task_of_a_silent_node_is_only_taken_over, nodes_share_what_they_store,
    nodes_that_take_over_share_the_tasks, of_nodes_that_reach_for_a_task_one_gets_it,
};
pub use signal::{
    a_change_of_holder_is_told, a_node_is_told_that_it_lost_its_task, an_abandoned_task_is_told,
    the_end_of_a_task_is_told, writes_are_told_to_other_nodes,
};

/// Makes a test of each law of a store that nodes share.
///
/// It is given the name of an async function that makes two stores on the same empty data, whose
/// leases run out after some 300 ms, and wants tokio with its macros, its time and its threads.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use a2a_operations::{MemoryStore, Store, store::MemoryLimits};
///
/// async fn two_nodes() -> (Arc<dyn Store>, Arc<dyn Store>) {
///     let limits = MemoryLimits::default().with_lease(Duration::from_millis(300));
///     let one = MemoryStore::with_limits(limits);
///     let two = one.join("two");
///     (Arc::new(one), Arc::new(two))
/// }
///
/// a2a_operations::cluster_suite!(two_nodes);
/// ```
#[macro_export]
macro_rules! cluster_suite {
    ($make:path) => {
        $crate::cluster_suite! { $make:
            nodes_share_what_they_store,
            a_task_is_held_by_one_node,
            of_nodes_that_reach_for_a_task_one_gets_it,
            a_silent_node_loses_its_task,
            a_task_of_a_silent_node_is_only_taken_over,
            a_lease_that_is_renewed_goes_on,
            nodes_that_take_over_share_the_tasks,
            a_command_reaches_the_holder_and_its_answer_comes_back,
            a_command_goes_with_its_task_to_the_next_node,
            no_command_is_left_for_a_node_that_lets_go,
            writes_are_told_to_other_nodes,
            a_change_of_holder_is_told,
            a_node_is_told_that_it_lost_its_task,
            an_abandoned_task_is_told,
            the_end_of_a_task_is_told,
        }
    };
    ($make:path: $($law:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $law() {
                let (one, two) = $make().await;
                $crate::testing::cluster::$law(one, two).await;
            }
        )+
    };
}
