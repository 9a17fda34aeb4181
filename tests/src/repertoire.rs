//! The behaviours that the older revisions have, as far as each has them.

/// Runs at a seat what a revision has: `v0_1`, `v0_3`, `rest_v0_3` or `draft`.
#[macro_export]
macro_rules! repertoire {
    // Tasks have the ids that clients choose, and no list.
    (v0_1: $name:ident $seat:ident) => {
        $crate::at_seat! {
            $name $seat:
            context::a_task_in_another_context_than_the_message_says_is_refused,
            context::an_offered_extension_is_activated_when_it_is_asked_for,
            context::tasks_of_one_context_share_it_and_nothing_else,
            send::a_message_to_a_task_that_has_ended_is_refused,
            send::messages_with_the_same_id_are_separate_messages,
            stream::a_closed_stream_does_not_cancel_its_task,
            stream::a_stream_is_the_task_and_then_its_updates_in_order,
            stream::a_subscription_is_the_task_as_it_is_and_everything_after,
            task::a_task_that_has_ended_or_is_not_there_is_not_canceled,
        }
    };
    // Over JSON-RPC and gRPC; 0.2 has the same.
    (v0_3: $name:ident $seat:ident) => {
        $crate::at_seat! {
            $name $seat:
            context::a_required_extension_has_to_be_asked_for,
            context::a_task_in_another_context_than_the_message_says_is_refused,
            context::an_offered_extension_is_activated_when_it_is_asked_for,
            context::tasks_of_one_context_share_it_and_nothing_else,
            push::a_removed_webhook_gets_nothing_more,
            push::a_webhook_that_may_not_be_called_is_refused,
            push::an_agent_that_calls_no_webhooks_says_so,
            push::status_changes_reach_every_webhook_in_order_despite_failures,
            push::webhooks_of_an_unknown_task_are_refused,
            send::a_message_answer_leaves_no_task,
            send::a_message_to_a_task_that_has_ended_is_refused,
            send::a_message_to_a_task_that_waits_resumes_it,
            send::a_message_to_a_working_task_waits_for_its_turn,
            send::a_message_to_an_unknown_task_is_refused,
            send::a_retry_under_the_same_key_joins_the_first_try,
            send::a_send_waits_for_the_end_of_the_task,
            send::an_agent_that_fails_leaves_a_failed_task_without_internals,
            send::an_answer_has_as_much_history_as_was_asked_for,
            send::an_immediate_send_returns_the_task_while_it_works,
            send::messages_with_the_same_id_are_separate_messages,
            stream::a_caller_that_leaves_does_not_cancel_its_task,
            stream::a_closed_stream_does_not_cancel_its_task,
            stream::a_message_stream_is_one_message,
            stream::a_stream_ends_where_input_is_required,
            stream::a_stream_is_the_task_and_then_its_updates_in_order,
            stream::a_subscription_is_the_task_as_it_is_and_everything_after,
            stream::an_agent_that_does_not_stream_says_so_before_the_stream_opens,
            stream::every_reader_gets_the_same_events_in_the_same_order,
            task::a_cancel_ends_the_streams_of_its_task,
            task::a_canceled_task_is_canceled_once,
            task::a_task_is_read_as_it_is_and_reading_changes_nothing,
            task::a_task_that_has_ended_or_is_not_there_is_not_canceled,
        }
    };
    // An error has no details in this form, so the behaviours that look at them are left out.
    (rest_v0_3: $name:ident $seat:ident) => {
        $crate::at_seat! {
            $name $seat:
            context::a_required_extension_has_to_be_asked_for,
            context::an_offered_extension_is_activated_when_it_is_asked_for,
            context::tasks_of_one_context_share_it_and_nothing_else,
            push::a_removed_webhook_gets_nothing_more,
            push::an_agent_that_calls_no_webhooks_says_so,
            push::status_changes_reach_every_webhook_in_order_despite_failures,
            push::webhooks_of_an_unknown_task_are_refused,
            send::a_message_answer_leaves_no_task,
            send::a_message_to_a_task_that_has_ended_is_refused,
            send::a_message_to_a_task_that_waits_resumes_it,
            send::a_message_to_a_working_task_waits_for_its_turn,
            send::a_retry_under_the_same_key_joins_the_first_try,
            send::a_send_waits_for_the_end_of_the_task,
            send::an_agent_that_fails_leaves_a_failed_task_without_internals,
            send::an_immediate_send_returns_the_task_while_it_works,
            send::messages_with_the_same_id_are_separate_messages,
            stream::a_caller_that_leaves_does_not_cancel_its_task,
            stream::a_closed_stream_does_not_cancel_its_task,
            stream::a_message_stream_is_one_message,
            stream::a_stream_ends_where_input_is_required,
            stream::a_stream_is_the_task_and_then_its_updates_in_order,
            stream::a_subscription_is_the_task_as_it_is_and_everything_after,
            stream::an_agent_that_does_not_stream_says_so_before_the_stream_opens,
            stream::every_reader_gets_the_same_events_in_the_same_order,
            task::a_cancel_ends_the_streams_of_its_task,
            task::a_canceled_task_is_canceled_once,
            task::a_task_is_read_as_it_is_and_reading_changes_nothing,
            task::a_task_that_has_ended_or_is_not_there_is_not_canceled,
        }
    };
    // Over each binding.
    (draft: $name:ident $seat:ident) => {
        $crate::at_seat! {
            $name $seat:
            card::the_extended_card_is_there_when_it_is_promised,
            context::a_required_extension_has_to_be_asked_for,
            context::a_task_in_another_context_than_the_message_says_is_refused,
            context::an_offered_extension_is_activated_when_it_is_asked_for,
            context::tasks_of_one_context_share_it_and_nothing_else,
            context::what_comes_beside_a_request_reaches_the_agent,
            list::a_task_moves_in_the_list_when_its_status_changes,
            list::artifacts_and_history_are_listed_only_when_asked_for,
            list::lists_are_filtered_by_context_state_and_time,
            list::pages_show_every_task_once_newest_first,
            push::a_removed_webhook_gets_nothing_more,
            push::a_webhook_that_may_not_be_called_is_refused,
            push::an_agent_that_calls_no_webhooks_says_so,
            push::status_changes_reach_every_webhook_in_order_despite_failures,
            push::webhooks_are_kept_listed_and_removed,
            push::webhooks_of_an_unknown_task_are_refused,
            send::a_message_answer_leaves_no_task,
            send::a_message_to_a_task_that_has_ended_is_refused,
            send::a_message_to_a_task_that_waits_resumes_it,
            send::a_message_to_a_working_task_waits_for_its_turn,
            send::a_message_to_an_unknown_task_is_refused,
            send::a_retry_under_the_same_key_joins_the_first_try,
            send::a_send_waits_for_the_end_of_the_task,
            send::an_agent_that_fails_leaves_a_failed_task_without_internals,
            send::an_answer_has_as_much_history_as_was_asked_for,
            send::an_immediate_send_returns_the_task_while_it_works,
            send::messages_with_the_same_id_are_separate_messages,
            stream::a_caller_that_leaves_does_not_cancel_its_task,
            stream::a_closed_stream_does_not_cancel_its_task,
            stream::a_cut_reader_gets_exactly_what_it_missed,
            stream::a_message_stream_is_one_message,
            stream::a_stream_ends_where_input_is_required,
            stream::a_stream_is_the_task_and_then_its_updates_in_order,
            stream::a_stream_stays_open_while_an_authorization_is_awaited,
            stream::a_subscription_is_the_task_as_it_is_and_everything_after,
            stream::a_subscription_to_no_task_or_an_ended_one_is_refused,
            stream::an_agent_that_does_not_stream_says_so_before_the_stream_opens,
            stream::every_reader_gets_the_same_events_in_the_same_order,
            task::a_cancel_ends_the_streams_of_its_task,
            task::a_canceled_task_is_canceled_once,
            task::a_task_is_read_as_it_is_and_reading_changes_nothing,
            task::a_task_that_has_ended_or_is_not_there_is_not_canceled,
        }
    };
}
