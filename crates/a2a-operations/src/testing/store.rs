//! The laws of a [`Store`](crate::Store), for every store alike.
//!
//! Each function here is given an empty store, and panics where it breaks the law that the
//! function is named for. [`store_suite!`](crate::store_suite) makes a test of each of them.

mod claim;
mod config;
mod list;
mod log;
pub mod scenery;
mod write;

pub use claim::{
    a_fingerprint_is_kept_whole, a_key_stays_tied_to_the_first_task,
    a_released_key_can_be_claimed_again, keys_of_two_scopes_are_different_keys,
    one_of_many_claims_at_once_is_new,
};
pub use config::{
    a_webhook_can_be_deleted_any_number_of_times, a_webhook_is_replaced_by_one_with_its_id,
    a_webhook_without_a_task_is_not_kept, webhooks_are_returned_in_the_order_of_their_ids,
    webhooks_of_two_scopes_are_apart,
};
pub use list::{
    a_change_of_status_moves_a_task_in_the_list, a_list_goes_from_new_to_old_and_then_by_id,
    a_page_starts_behind_any_place, filters_hold_together_and_totals_are_exact,
    pages_have_every_task_once, paging_goes_on_undisturbed_by_writers,
    totals_follow_every_change_of_state,
};
pub use log::{
    a_replay_has_exactly_the_events_behind_a_position, a_replay_never_has_a_gap,
    a_replay_works_after_the_end_of_a_task,
};
pub use write::{
    a_commit_replaces_the_task_and_raises_its_version,
    a_commit_under_another_version_changes_nothing, a_second_task_under_an_id_is_a_conflict,
    a_stored_task_is_returned_as_it_was_given, a_task_that_was_read_stays_as_it_was,
    an_unknown_task_is_none_and_takes_no_commit, chunks_without_a_snapshot_are_in_the_task,
    concurrent_commits_are_made_one_after_the_other, scopes_share_nothing,
};

/// Makes a test of each law of a store.
///
/// It is given the name of an async function that makes an empty store, and wants tokio with
/// its macros and its threads.
///
/// ```
/// use std::sync::Arc;
///
/// use a2a_operations::{MemoryStore, Store};
///
/// async fn empty() -> Arc<dyn Store> {
///     Arc::new(MemoryStore::new())
/// }
///
/// a2a_operations::store_suite!(empty);
/// ```
#[macro_export]
macro_rules! store_suite {
    ($make:path) => {
        $crate::store_suite! { $make:
            a_stored_task_is_returned_as_it_was_given,
            an_unknown_task_is_none_and_takes_no_commit,
            a_second_task_under_an_id_is_a_conflict,
            scopes_share_nothing,
            a_commit_replaces_the_task_and_raises_its_version,
            a_commit_under_another_version_changes_nothing,
            chunks_without_a_snapshot_are_in_the_task,
            a_task_that_was_read_stays_as_it_was,
            concurrent_commits_are_made_one_after_the_other,
            a_replay_has_exactly_the_events_behind_a_position,
            a_replay_works_after_the_end_of_a_task,
            a_replay_never_has_a_gap,
            a_list_goes_from_new_to_old_and_then_by_id,
            a_change_of_status_moves_a_task_in_the_list,
            pages_have_every_task_once,
            a_page_starts_behind_any_place,
            filters_hold_together_and_totals_are_exact,
            totals_follow_every_change_of_state,
            paging_goes_on_undisturbed_by_writers,
            a_key_stays_tied_to_the_first_task,
            a_fingerprint_is_kept_whole,
            a_released_key_can_be_claimed_again,
            keys_of_two_scopes_are_different_keys,
            one_of_many_claims_at_once_is_new,
            webhooks_are_returned_in_the_order_of_their_ids,
            a_webhook_is_replaced_by_one_with_its_id,
            a_webhook_can_be_deleted_any_number_of_times,
            webhooks_of_two_scopes_are_apart,
            a_webhook_without_a_task_is_not_kept,
        }
    };
    ($make:path: $($law:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $law() {
                $crate::testing::store::$law($make().await).await;
            }
        )+
    };
}
