//! Runs every behaviour at every seat.

use a2a_tests::at_seat;

macro_rules! at_every_seat {
    ($($module:ident::$behaviour:ident,)*) => {
        at_every_seat! { @seats
            [engine ENGINE] [jsonrpc JSONRPC] [rest REST] [grpc GRPC]
            [jsonrpc_over_rest JSONRPC_OVER_REST] [jsonrpc_over_grpc JSONRPC_OVER_GRPC]
            [rest_over_jsonrpc REST_OVER_JSONRPC] [rest_over_grpc REST_OVER_GRPC]
            [grpc_over_jsonrpc GRPC_OVER_JSONRPC] [grpc_over_rest GRPC_OVER_REST]
            [gateway GATEWAY] [gateway_grpc_over_jsonrpc GATEWAY_GRPC_OVER_JSONRPC]
            [gateway_rest_over_grpc GATEWAY_REST_OVER_GRPC] [two_gateways TWO_GATEWAYS]
            [sqlite SQLITE] [postgres POSTGRES] [two_nodes TWO_NODES]
            [two_nodes_on_postgres TWO_NODES_ON_POSTGRES] [two_nodes_on_nats TWO_NODES_ON_NATS];
            { $($module::$behaviour,)* }
        }
    };
    (@seats $([$name:ident $seat:ident])*; $behaviours:tt) => {
        $( at_every_seat! { @seat $name $seat $behaviours } )*
    };
    (@seat $name:ident $seat:ident { $($behaviours:tt)* }) => {
        at_seat! { $name $seat: $($behaviours)* }
    };
}

at_every_seat! {
    card::the_extended_card_is_there_when_it_is_promised,
    context::a_required_extension_has_to_be_asked_for,
    context::a_task_in_another_context_than_the_message_says_is_refused,
    context::a_task_of_another_tenant_is_like_none_at_all,
    context::an_offered_extension_is_activated_when_it_is_asked_for,
    context::tasks_of_one_context_share_it_and_nothing_else,
    context::what_comes_beside_a_request_reaches_the_agent,
    list::a_page_that_can_not_be_is_refused,
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
    send::a_part_of_a_foreign_media_type_is_refused,
    send::a_retry_under_the_same_key_joins_the_first_try,
    send::a_send_waits_for_the_end_of_the_task,
    send::an_agent_that_fails_leaves_a_failed_task_without_internals,
    send::an_answer_has_as_much_history_as_was_asked_for,
    send::an_immediate_send_returns_the_task_while_it_works,
    send::every_broken_rule_of_a_request_is_named_with_its_path,
    send::every_kind_of_part_passes_unchanged,
    send::messages_with_the_same_id_are_separate_messages,
    stream::a_caller_that_leaves_does_not_cancel_its_task,
    stream::a_closed_stream_does_not_cancel_its_task,
    stream::a_cut_reader_gets_exactly_what_it_missed,
    stream::a_message_stream_is_one_message,
    stream::a_stream_ends_where_input_is_required,
    stream::a_stream_is_the_task_and_then_its_updates_in_order,
    stream::a_stream_stays_open_while_an_authorization_is_awaited,
    stream::a_subscription_is_the_task_as_it_is_and_everything_after,
    stream::a_subscription_stays_open_where_input_is_required,
    stream::a_subscription_to_no_task_or_an_ended_one_is_refused,
    stream::an_agent_that_does_not_stream_says_so_before_the_stream_opens,
    stream::every_reader_gets_the_same_events_in_the_same_order,
    task::a_cancel_ends_the_streams_of_its_task,
    task::a_canceled_task_is_canceled_once,
    task::a_task_is_read_as_it_is_and_reading_changes_nothing,
    task::a_task_that_has_ended_or_is_not_there_is_not_canceled,
}
