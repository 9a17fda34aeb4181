//! Runs every behaviour in every topology.

use a2a_tests::in_topology;

macro_rules! in_every_topology {
    ($($module:ident::$behaviour:ident,)*) => {
        in_every_topology! { @topologies
            [engine ENGINE] [jsonrpc JSONRPC] [rest REST] [grpc GRPC]
            [jsonrpc_over_rest JSONRPC_OVER_REST] [jsonrpc_over_grpc JSONRPC_OVER_GRPC]
            [rest_over_jsonrpc REST_OVER_JSONRPC] [rest_over_grpc REST_OVER_GRPC]
            [grpc_over_jsonrpc GRPC_OVER_JSONRPC] [grpc_over_rest GRPC_OVER_REST]
            [jsonrpc_at_path JSONRPC_AT_PATH] [rest_at_path REST_AT_PATH]
            [grpc_at_path GRPC_AT_PATH] [grpc_at_host GRPC_AT_HOST]
            [gateway GATEWAY] [gateway_grpc_over_jsonrpc GATEWAY_GRPC_OVER_JSONRPC]
            [gateway_rest_over_grpc GATEWAY_REST_OVER_GRPC] [two_gateways TWO_GATEWAYS]
            [sqlite SQLITE] [postgres POSTGRES] [two_nodes TWO_NODES]
            [two_nodes_on_postgres TWO_NODES_ON_POSTGRES] [two_nodes_on_nats TWO_NODES_ON_NATS];
            { $($module::$behaviour,)* }
        }
    };
    (@topologies $([$name:ident $topology:ident])*; $behaviours:tt) => {
        $( in_every_topology! { @topology $name $topology $behaviours } )*
    };
    (@topology $name:ident $topology:ident { $($behaviours:tt)* }) => {
        in_topology! { $name $topology: $($behaviours)* }
    };
}

in_every_topology! {
    card::extended_card_is_returned_if_declared,
    context::required_extension_must_be_requested,
    context::context_mismatch_is_rejected,
    context::task_of_another_tenant_is_not_found,
    context::requested_extension_is_activated,
    context::tasks_of_a_context_share_only_the_context,
    context::request_context_reaches_the_executor,
    list::invalid_list_parameters_are_rejected,
    list::status_change_moves_a_task_in_the_list,
    list::artifacts_and_history_are_listed_only_on_request,
    list::lists_are_filtered_by_context_state_and_time,
    list::pages_list_every_task_once_newest_first,
    push::deleted_webhook_gets_no_more_deliveries,
    push::forbidden_webhook_address_is_rejected,
    push::webhooks_are_rejected_without_push_support,
    push::webhooks_get_status_changes_in_order_despite_failures,
    push::webhooks_are_created_read_listed_and_deleted,
    push::webhooks_of_an_unknown_task_are_rejected,
    send::message_response_creates_no_task,
    send::message_to_an_ended_task_is_rejected,
    send::message_to_a_waiting_task_continues_it,
    send::message_to_a_running_task_is_queued,
    send::message_to_an_unknown_task_is_rejected,
    send::unsupported_part_media_type_is_rejected,
    send::retry_with_the_same_key_joins_the_first_task,
    send::send_waits_for_the_end_of_the_task,
    send::executor_error_fails_the_task_without_internals,
    send::response_has_the_requested_history_length,
    send::immediate_send_returns_the_running_task,
    send::violations_name_the_path_of_each_member,
    send::all_kinds_of_parts_pass_unchanged,
    send::reused_message_ids_are_separate_messages,
    stream::disconnect_does_not_cancel_the_task,
    stream::closed_stream_does_not_cancel_the_task,
    stream::resumed_reader_gets_exactly_the_missed_events,
    stream::stream_of_a_direct_reply_is_one_message,
    stream::stream_ends_when_input_is_required,
    stream::stream_is_the_task_followed_by_updates_in_order,
    stream::stream_stays_open_in_auth_required,
    stream::subscription_is_the_task_followed_by_all_updates,
    stream::subscription_stays_open_when_input_is_required,
    stream::subscription_to_an_unknown_or_ended_task_is_rejected,
    stream::streaming_is_rejected_without_support,
    stream::readers_get_the_same_events_in_the_same_order,
    task::cancel_ends_the_streams_of_the_task,
    task::cancel_of_a_canceled_task_is_rejected,
    task::get_returns_the_task_without_side_effects,
    task::cancel_of_an_ended_or_unknown_task_is_rejected,
}
