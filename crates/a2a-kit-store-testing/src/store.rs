//! The laws of a [`Store`](a2a_kit_operations::Store).
//!
//! Each function gets an empty store, and panics if it violates the law it is named for.
//! [`store_suite!`](crate::store_suite) generates a test for each.

mod command;
mod config;
mod dead_letter;
pub mod fixtures;
mod idempotency_key;
mod journal;
mod lease;
mod list;
mod log;
mod model;
mod outbox;
mod snapshot;
mod sweep;
mod usage;
mod write;

pub use command::{
    answers_are_committed_with_their_transition, command_without_a_lease_holder_is_rejected,
    commands_are_returned_in_order, commands_survive_a_releasing_commit,
    first_answer_to_a_command_wins, release_fails_while_commands_are_pending,
    reposted_command_is_not_duplicated,
};
pub use config::{
    deleting_a_webhook_is_idempotent, webhook_with_the_same_id_is_replaced,
    webhook_without_a_task_is_not_stored, webhooks_are_returned_in_id_order,
    webhooks_are_separate_per_scope,
};
pub use dead_letter::{
    dead_letters_are_purged_by_filter, dead_letters_are_redelivered_in_order,
    dead_letters_of_deleted_webhooks_are_not_redelivered,
    undeliverable_event_becomes_a_dead_letter,
};
pub use idempotency_key::{
    concurrent_claims_have_one_winner, fingerprint_keeps_all_its_bits, first_claim_of_a_key_wins,
    insert_rejects_a_key_claimed_by_another_task, key_is_taken_over_only_while_its_task_is_absent,
    key_takeover_excludes_insert_of_the_first_task, keys_are_separate_per_scope,
    released_key_can_be_claimed_again,
};
pub use journal::{
    journal_is_kept_until_it_is_replaced_or_deleted, journal_outlives_the_lease,
    rejected_commit_keeps_the_journal,
};
pub use lease::{
    absent_task_cannot_be_acquired, acquire_fences_the_previous_lease,
    commit_can_release_the_lease, commit_with_a_stale_epoch_changes_nothing,
    each_acquire_raises_the_epoch, expired_leases_are_taken_over_oldest_first,
    insert_with_a_checkpoint_acquires_the_lease, reacquire_returns_the_checkpoint,
    release_discards_the_checkpoint, release_requires_the_current_epoch,
    take_over_returns_the_checkpoint_and_its_epoch,
};
pub use list::{
    filters_combine_and_totals_are_exact, list_is_ordered_by_status_time_then_id,
    page_can_start_after_any_key, page_is_limited_by_bytes, pages_return_every_task_once,
    paging_is_stable_under_concurrent_writes, status_change_reorders_the_list,
    totals_track_state_changes,
};
pub use log::{
    replay_has_no_gaps, replay_returns_exactly_the_events_after_a_position,
    replay_works_after_completion,
};
pub use model::store_matches_the_reference_model;
pub use outbox::{
    attempts_are_counted_per_event, claim_ends_when_the_outbox_is_empty,
    concurrent_workers_claim_different_webhooks, deleted_webhook_receives_nothing,
    events_stored_during_a_claim_are_delivered, long_backlog_is_delivered_in_order,
    longest_waiting_webhooks_are_claimed_first, postponed_webhook_is_due_later,
    rejected_commit_enqueues_no_deliveries, replaced_webhook_keeps_its_cursor,
    retry_waits_for_its_delay, webhook_has_at_most_one_claim,
    webhook_receives_pushed_events_stored_after_it,
    webhooks_of_a_new_task_receive_its_first_events, webhooks_of_a_task_are_independent,
};
pub use snapshot::{
    load_is_a_consistent_snapshot, load_returns_the_task_and_the_events_after_a_position,
};
pub use sweep::{
    dead_letter_outlives_its_task, sweep_keeps_unfinished_tasks,
    sweep_removes_ended_tasks_completely, sweep_removes_old_keys,
    sweep_removes_parked_tasks_without_a_lease, sweep_respects_its_limit,
};
pub use usage::{
    ended_tasks_stop_counting_at_once, removed_and_reacquired_tasks_stop_counting_at_once,
    usage_counts_the_open_tasks_of_an_owner, usage_counts_the_stored_bytes_of_an_owner,
};
pub use write::{
    chunks_without_a_snapshot_are_applied_to_the_task,
    commit_replaces_the_task_and_increments_its_version,
    commit_with_a_stale_version_changes_nothing, concurrent_commits_are_serialized,
    duplicate_task_id_is_a_conflict, longest_texts_are_stored, returned_task_is_immutable,
    scopes_are_isolated, stored_task_is_returned_unchanged,
    unknown_task_is_none_and_rejects_commits,
};

/// Generates a test for each law of a store.
///
/// The argument is an async function that creates an empty store. Requires tokio with the features
/// `macros` and `rt-multi-thread`.
///
/// ```
/// use std::sync::Arc;
///
/// use a2a_kit_operations::{MemoryStore, Store};
///
/// async fn empty() -> Arc<dyn Store> {
///     Arc::new(MemoryStore::new())
/// }
///
/// a2a_kit_store_testing::store_suite!(empty);
/// ```
#[macro_export]
macro_rules! store_suite {
    ($make:path) => {
        $crate::store_suite! { $make:
            stored_task_is_returned_unchanged,
            unknown_task_is_none_and_rejects_commits,
            duplicate_task_id_is_a_conflict,
            longest_texts_are_stored,
            scopes_are_isolated,
            commit_replaces_the_task_and_increments_its_version,
            commit_with_a_stale_version_changes_nothing,
            chunks_without_a_snapshot_are_applied_to_the_task,
            returned_task_is_immutable,
            concurrent_commits_are_serialized,
            journal_is_kept_until_it_is_replaced_or_deleted,
            journal_outlives_the_lease,
            rejected_commit_keeps_the_journal,
            replay_returns_exactly_the_events_after_a_position,
            replay_works_after_completion,
            replay_has_no_gaps,
            list_is_ordered_by_status_time_then_id,
            status_change_reorders_the_list,
            pages_return_every_task_once,
            page_is_limited_by_bytes,
            page_can_start_after_any_key,
            filters_combine_and_totals_are_exact,
            totals_track_state_changes,
            paging_is_stable_under_concurrent_writes,
            first_claim_of_a_key_wins,
            fingerprint_keeps_all_its_bits,
            released_key_can_be_claimed_again,
            keys_are_separate_per_scope,
            concurrent_claims_have_one_winner,
            key_is_taken_over_only_while_its_task_is_absent,
            insert_rejects_a_key_claimed_by_another_task,
            key_takeover_excludes_insert_of_the_first_task,
            webhooks_are_returned_in_id_order,
            webhook_with_the_same_id_is_replaced,
            deleting_a_webhook_is_idempotent,
            webhooks_are_separate_per_scope,
            webhook_without_a_task_is_not_stored,
            insert_with_a_checkpoint_acquires_the_lease,
            each_acquire_raises_the_epoch,
            absent_task_cannot_be_acquired,
            commit_with_a_stale_epoch_changes_nothing,
            release_requires_the_current_epoch,
            commit_can_release_the_lease,
            take_over_returns_the_checkpoint_and_its_epoch,
            release_discards_the_checkpoint,
            reacquire_returns_the_checkpoint,
            expired_leases_are_taken_over_oldest_first,
            acquire_fences_the_previous_lease,
            command_without_a_lease_holder_is_rejected,
            commands_are_returned_in_order,
            first_answer_to_a_command_wins,
            reposted_command_is_not_duplicated,
            release_fails_while_commands_are_pending,
            answers_are_committed_with_their_transition,
            commands_survive_a_releasing_commit,
            load_returns_the_task_and_the_events_after_a_position,
            load_is_a_consistent_snapshot,
            webhook_receives_pushed_events_stored_after_it,
            webhooks_of_a_new_task_receive_its_first_events,
            rejected_commit_enqueues_no_deliveries,
            webhook_has_at_most_one_claim,
            concurrent_workers_claim_different_webhooks,
            claim_ends_when_the_outbox_is_empty,
            events_stored_during_a_claim_are_delivered,
            retry_waits_for_its_delay,
            attempts_are_counted_per_event,
            undeliverable_event_becomes_a_dead_letter,
            dead_letters_are_redelivered_in_order,
            dead_letters_of_deleted_webhooks_are_not_redelivered,
            dead_letters_are_purged_by_filter,
            postponed_webhook_is_due_later,
            deleted_webhook_receives_nothing,
            replaced_webhook_keeps_its_cursor,
            longest_waiting_webhooks_are_claimed_first,
            webhooks_of_a_task_are_independent,
            long_backlog_is_delivered_in_order,
            sweep_removes_ended_tasks_completely,
            sweep_keeps_unfinished_tasks,
            sweep_removes_parked_tasks_without_a_lease,
            sweep_respects_its_limit,
            sweep_removes_old_keys,
            usage_counts_the_open_tasks_of_an_owner,
            usage_counts_the_stored_bytes_of_an_owner,
            ended_tasks_stop_counting_at_once,
            removed_and_reacquired_tasks_stop_counting_at_once,
            dead_letter_outlives_its_task,
            store_matches_the_reference_model,
        }
    };
    ($make:path: $($law:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $law() {
                $crate::store::$law($make().await).await;
            }
        )+
    };
}
