//! The laws of a [`Store`](crate::Store), for every store alike.
//!
//! Each function here is given an empty store, and panics where it breaks the law that the
//! function is named for. [`store_suite!`](crate::store_suite) makes a test of each of them.

mod anything;
mod claim;
mod command;
mod config;
mod hold;
mod list;
mod log;
mod moment;
mod outbox;
pub mod scenery;
mod sweep;
mod usage;
mod write;

pub use anything::a_store_answers_like_a_list;
pub use claim::{
    a_fingerprint_is_kept_whole, a_key_is_tied_anew_or_its_task_is_stored,
    a_key_is_tied_anew_while_its_task_is_not_there, a_key_stays_tied_to_the_first_task,
    a_released_key_can_be_claimed_again, a_task_is_not_stored_under_the_key_of_another,
    keys_of_two_scopes_are_different_keys, one_of_many_claims_at_once_is_new,
};
pub use command::{
    a_command_is_answered_once, a_command_that_is_posted_again_is_one,
    a_command_without_a_holder_is_refused, a_task_is_kept_while_commands_wait,
    answers_come_with_their_write, commands_outlive_a_write_that_lets_go, commands_wait_in_order,
};
pub use config::{
    a_webhook_can_be_deleted_any_number_of_times, a_webhook_is_replaced_by_one_with_its_id,
    a_webhook_without_a_task_is_not_kept, webhooks_are_returned_in_the_order_of_their_ids,
    webhooks_of_two_scopes_are_apart,
};
pub use hold::{
    a_commit_under_another_epoch_changes_nothing, a_hold_ends_with_the_next_one,
    a_new_task_with_an_execution_is_held, a_task_is_let_go_under_its_epoch,
    a_task_is_taken_over_with_what_was_recorded, a_task_that_is_not_there_is_held_by_nobody,
    a_write_can_let_go, every_hold_has_an_epoch_of_its_own, the_oldest_are_taken_over_first,
    what_was_recorded_is_forgotten_with_the_hold, who_takes_hold_again_learns_what_was_recorded,
};
pub use list::{
    a_change_of_status_moves_a_task_in_the_list, a_list_goes_from_new_to_old_and_then_by_id,
    a_page_is_bounded_by_bytes, a_page_starts_behind_any_place,
    filters_hold_together_and_totals_are_exact, pages_have_every_task_once,
    paging_goes_on_undisturbed_by_writers, totals_follow_every_change_of_state,
};
pub use log::{
    a_replay_has_exactly_the_events_behind_a_position, a_replay_never_has_a_gap,
    a_replay_works_after_the_end_of_a_task,
};
pub use moment::{a_load_has_the_task_and_the_events_behind_a_position, a_load_is_of_one_moment};
pub use outbox::{
    a_claim_ends_when_nothing_waits, a_deleted_webhook_gets_nothing_more,
    a_long_line_is_delivered_in_order, a_postponed_webhook_is_due_later,
    a_refused_write_pushes_nothing, a_replaced_webhook_goes_on_where_it_was,
    a_retry_waits_for_its_time, a_webhook_gets_the_pushed_events_behind_it,
    a_webhook_is_claimed_by_one_at_a_time, an_event_that_is_given_up_is_a_dead_letter,
    dead_letters_are_purged_by_filter, dead_letters_are_redelivered_in_order,
    dead_letters_without_a_webhook_are_lost, events_that_come_during_a_claim_are_not_lost,
    many_workers_share_the_webhooks, those_that_wait_longest_come_first,
    tries_are_counted_for_each_event, webhooks_of_a_new_task_get_its_first_events,
    webhooks_of_a_task_wait_for_nobody_else,
};
pub use sweep::{
    a_dead_letter_outlives_its_task, a_sweep_forgets_ended_tasks_whole, a_sweep_forgets_old_keys,
    a_sweep_forgets_parked_tasks_that_nobody_holds, a_sweep_keeps_to_its_limit,
    a_sweep_keeps_what_has_not_ended,
};
pub use usage::{usage_counts_the_open_tasks_of_an_owner, usage_measures_what_an_owner_has_stored};
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
            a_page_is_bounded_by_bytes,
            a_page_starts_behind_any_place,
            filters_hold_together_and_totals_are_exact,
            totals_follow_every_change_of_state,
            paging_goes_on_undisturbed_by_writers,
            a_key_stays_tied_to_the_first_task,
            a_fingerprint_is_kept_whole,
            a_released_key_can_be_claimed_again,
            keys_of_two_scopes_are_different_keys,
            one_of_many_claims_at_once_is_new,
            a_key_is_tied_anew_while_its_task_is_not_there,
            a_task_is_not_stored_under_the_key_of_another,
            a_key_is_tied_anew_or_its_task_is_stored,
            webhooks_are_returned_in_the_order_of_their_ids,
            a_webhook_is_replaced_by_one_with_its_id,
            a_webhook_can_be_deleted_any_number_of_times,
            webhooks_of_two_scopes_are_apart,
            a_webhook_without_a_task_is_not_kept,
            a_new_task_with_an_execution_is_held,
            every_hold_has_an_epoch_of_its_own,
            a_task_that_is_not_there_is_held_by_nobody,
            a_commit_under_another_epoch_changes_nothing,
            a_task_is_let_go_under_its_epoch,
            a_write_can_let_go,
            a_task_is_taken_over_with_what_was_recorded,
            what_was_recorded_is_forgotten_with_the_hold,
            who_takes_hold_again_learns_what_was_recorded,
            the_oldest_are_taken_over_first,
            a_hold_ends_with_the_next_one,
            a_command_without_a_holder_is_refused,
            commands_wait_in_order,
            a_command_is_answered_once,
            a_command_that_is_posted_again_is_one,
            a_task_is_kept_while_commands_wait,
            answers_come_with_their_write,
            commands_outlive_a_write_that_lets_go,
            a_load_has_the_task_and_the_events_behind_a_position,
            a_load_is_of_one_moment,
            a_webhook_gets_the_pushed_events_behind_it,
            webhooks_of_a_new_task_get_its_first_events,
            a_refused_write_pushes_nothing,
            a_webhook_is_claimed_by_one_at_a_time,
            many_workers_share_the_webhooks,
            a_claim_ends_when_nothing_waits,
            events_that_come_during_a_claim_are_not_lost,
            a_retry_waits_for_its_time,
            tries_are_counted_for_each_event,
            an_event_that_is_given_up_is_a_dead_letter,
            dead_letters_are_redelivered_in_order,
            dead_letters_without_a_webhook_are_lost,
            dead_letters_are_purged_by_filter,
            a_postponed_webhook_is_due_later,
            a_deleted_webhook_gets_nothing_more,
            a_replaced_webhook_goes_on_where_it_was,
            those_that_wait_longest_come_first,
            webhooks_of_a_task_wait_for_nobody_else,
            a_long_line_is_delivered_in_order,
            a_sweep_forgets_ended_tasks_whole,
            a_sweep_keeps_what_has_not_ended,
            a_sweep_forgets_parked_tasks_that_nobody_holds,
            a_sweep_keeps_to_its_limit,
            a_sweep_forgets_old_keys,
            usage_counts_the_open_tasks_of_an_owner,
            usage_measures_what_an_owner_has_stored,
            a_dead_letter_outlives_its_task,
            a_store_answers_like_a_list,
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
