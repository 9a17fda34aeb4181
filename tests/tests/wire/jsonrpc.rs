//! JSON-RPC (spec §9): the envelope, every operation, every error, and the forms of JSON (spec §5).

use crate::fixtures;

fixtures! {
    //
    #[test]
    fn a_send_answers_with_a_task_in_a_wrapper: "jsonrpc/send";

    //
    #[test]
    fn a_message_answer_is_in_a_wrapper_too: "jsonrpc/send-message";

    //
    #[test]
    fn a_stream_is_server_sent_events_of_responses_with_the_id_of_the_request: "jsonrpc/stream";

    //
    #[test]
    fn a_stream_of_a_message_has_one_event: "jsonrpc/stream-message";

    //
    #[test]
    fn a_stream_ends_where_the_agent_asks: "jsonrpc/stream-input-required";

    //
    #[test]
    fn a_stream_is_resumed_behind_the_last_event_that_was_seen: "jsonrpc/resume";

    //
    #[test]
    fn a_task_is_read_with_as_much_history_as_is_asked_for: "jsonrpc/get";

    //
    #[test]
    fn an_empty_page_prints_all_of_its_members: "jsonrpc/list-empty";

    //
    #[test]
    fn a_page_leaves_out_artifacts_and_history_unless_asked: "jsonrpc/list";

    //
    #[test]
    fn a_cancel_answers_with_the_canceled_task: "jsonrpc/cancel";

    //
    #[test]
    fn webhooks_are_created_read_listed_and_deleted: "jsonrpc/push";

    //
    #[test]
    fn the_extended_card_is_given_without_params: "jsonrpc/extended-card";

    //
    #[test]
    fn activated_extensions_are_named_in_the_answer: "jsonrpc/extensions";

    //
    #[test]
    fn what_is_not_json_is_a_parse_error: "jsonrpc/parse-error";

    //
    #[test]
    fn what_is_not_one_request_object_is_refused: "jsonrpc/not-a-request";

    //
    #[test]
    fn an_id_comes_back_as_it_was_written: "jsonrpc/ids";

    //
    #[test]
    fn an_unknown_method_is_refused: "jsonrpc/unknown-method";

    //
    #[test]
    fn each_wrong_member_is_named_by_its_path: "jsonrpc/invalid-params";

    //
    #[test]
    fn a_member_of_a_wrong_type_is_named_by_its_path: "jsonrpc/wrong-types";

    //
    #[test]
    fn deep_nesting_is_a_parse_error: "jsonrpc/nesting";

    //
    #[test]
    fn an_unknown_task_is_not_found: "jsonrpc/unknown-task";

    //
    #[test]
    fn a_task_that_has_ended_takes_no_message_no_cancel_and_no_reader: "jsonrpc/ended-task";

    //
    #[test]
    fn webhooks_of_an_agent_that_calls_none_are_refused: "jsonrpc/push-not-supported";

    //
    #[test]
    fn streams_of_an_agent_that_has_none_are_refused: "jsonrpc/streaming-not-supported";

    //
    #[test]
    fn a_part_of_a_type_that_the_agent_does_not_take_is_refused: "jsonrpc/content-type-not-supported";

    //
    #[test]
    fn a_required_extension_has_to_be_named: "jsonrpc/extension-required";

    //
    #[test]
    fn an_agent_without_an_extended_card_says_that_it_has_none: "jsonrpc/extended-card-absent";

    //
    #[test]
    fn a_promised_extended_card_that_is_not_there_is_another_error: "jsonrpc/extended-card-not-configured";

    //
    #[test]
    fn only_version_1_0_is_served_and_a_missing_one_is_0_3: "jsonrpc/versions";

    //
    #[test]
    fn the_version_may_be_in_the_query_and_the_header_wins: "jsonrpc/versions-query";

    //
    #[test]
    fn a_lenient_server_takes_a_missing_version_for_1_0: "jsonrpc/versions-lenient";

    //
    #[test]
    fn a_body_that_is_not_json_is_an_unsupported_media_type: "jsonrpc/media-type";

    //
    #[test]
    fn a_body_that_is_too_big_is_refused_and_the_connection_goes_on: "jsonrpc/body-too-big";

    //
    #[test]
    fn json_rpc_is_spoken_with_post: "jsonrpc/method-not-allowed";

    //
    #[test]
    fn parts_keep_their_content_in_every_form_that_is_read: "jsonrpc/parts";

    //
    #[test]
    fn members_are_read_by_either_name_enums_by_number_and_null_as_unset: "jsonrpc/input-forms";

    #[test]
    fn an_agent_that_breaks_leaves_a_failed_task_and_says_nothing_of_its_inside: "jsonrpc/fault";

    //
    #[test]
    fn a_context_that_is_given_is_kept_and_one_of_a_task_is_inferred: "jsonrpc/contexts";

    #[test]
    fn a_message_id_that_was_used_before_is_a_message_like_any_other: "jsonrpc/repeated-message-id";

    #[test]
    fn retry_with_the_same_key_joins_the_first_task: "jsonrpc/idempotency";

    //
    #[test]
    fn a_task_that_waits_for_credentials_takes_messages: "jsonrpc/auth-required";

    //
    #[test]
    fn what_comes_beside_a_request_reaches_the_agent_as_it_was: "jsonrpc/parameters";

    #[test]
    fn a_path_of_its_own_answers_with_and_without_a_slash_behind_it: "jsonrpc/mounted";

    //
    #[test]
    fn what_is_beyond_a_bound_is_refused_for_now: "jsonrpc/too-many";

    #[test]
    fn a_body_that_nobody_asked_for_does_no_harm: "jsonrpc/unread-body";

    #[test]
    fn a_client_that_asks_before_it_sends_is_told_to: "jsonrpc/expect-continue";
}
