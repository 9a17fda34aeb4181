//! JSON-RPC (spec §9): the envelope, every operation, every error, and the forms of JSON (spec §5).

use crate::fixtures;

fixtures! {
    //
    #[test]
    fn send_returns_a_wrapped_task: "jsonrpc/send";

    //
    #[test]
    fn message_response_is_wrapped: "jsonrpc/send-message";

    //
    #[test]
    fn stream_is_sse_of_responses_with_the_request_id: "jsonrpc/stream";

    //
    #[test]
    fn message_stream_has_one_event: "jsonrpc/stream-message";

    //
    #[test]
    fn stream_ends_when_input_is_required: "jsonrpc/stream-input-required";

    //
    #[test]
    fn stream_resumes_after_the_last_event_id: "jsonrpc/resume";

    //
    #[test]
    fn get_returns_the_requested_history_length: "jsonrpc/get";

    //
    #[test]
    fn empty_page_has_all_required_members: "jsonrpc/list-empty";

    //
    #[test]
    fn list_omits_artifacts_and_history_by_default: "jsonrpc/list";

    //
    #[test]
    fn cancel_returns_the_canceled_task: "jsonrpc/cancel";

    //
    #[test]
    fn webhooks_are_created_read_listed_and_deleted: "jsonrpc/push";

    //
    #[test]
    fn extended_card_needs_no_params: "jsonrpc/extended-card";

    //
    #[test]
    fn activated_extensions_are_in_the_response: "jsonrpc/extensions";

    //
    #[test]
    fn invalid_json_is_a_parse_error: "jsonrpc/parse-error";

    //
    #[test]
    fn non_object_request_is_rejected: "jsonrpc/not-a-request";

    //
    #[test]
    fn request_id_is_returned_verbatim: "jsonrpc/ids";

    //
    #[test]
    fn unknown_method_is_rejected: "jsonrpc/unknown-method";

    //
    #[test]
    fn violations_name_the_path_of_each_member: "jsonrpc/invalid-params";

    //
    #[test]
    fn type_error_names_the_path_of_the_member: "jsonrpc/wrong-types";

    //
    #[test]
    fn deep_nesting_is_a_parse_error: "jsonrpc/nesting";

    //
    #[test]
    fn unknown_task_is_not_found: "jsonrpc/unknown-task";

    //
    #[test]
    fn ended_task_rejects_messages_cancel_and_subscriptions: "jsonrpc/ended-task";

    //
    #[test]
    fn webhooks_are_rejected_without_push_support: "jsonrpc/push-not-supported";

    //
    #[test]
    fn streaming_is_rejected_without_support: "jsonrpc/streaming-not-supported";

    //
    #[test]
    fn unsupported_part_media_type_is_rejected: "jsonrpc/content-type-not-supported";

    //
    #[test]
    fn required_extension_must_be_requested: "jsonrpc/extension-required";

    //
    #[test]
    fn missing_extended_card_is_unsupported: "jsonrpc/extended-card-absent";

    //
    #[test]
    fn declared_but_missing_extended_card_has_its_own_error: "jsonrpc/extended-card-not-configured";

    //
    #[test]
    fn only_1_0_is_accepted_and_a_missing_version_is_0_3: "jsonrpc/versions";

    //
    #[test]
    fn version_header_takes_precedence_over_the_query: "jsonrpc/versions-query";

    //
    #[test]
    fn lenient_server_interprets_a_missing_version_as_1_0: "jsonrpc/versions-lenient";

    //
    #[test]
    fn non_json_body_is_an_unsupported_media_type: "jsonrpc/media-type";

    //
    #[test]
    fn oversized_body_is_rejected_and_the_connection_stays_open: "jsonrpc/body-too-big";

    //
    #[test]
    fn json_rpc_requires_post: "jsonrpc/method-not-allowed";

    //
    #[test]
    fn part_content_survives_all_accepted_forms: "jsonrpc/parts";

    //
    #[test]
    fn snake_case_enum_numbers_and_null_are_accepted: "jsonrpc/input-forms";

    #[test]
    fn executor_error_fails_the_task_without_internals: "jsonrpc/fault";

    //
    #[test]
    fn given_context_is_used_and_a_task_implies_its_context: "jsonrpc/contexts";

    #[test]
    fn reused_message_id_is_accepted: "jsonrpc/repeated-message-id";

    #[test]
    fn retry_with_the_same_key_joins_the_first_task: "jsonrpc/idempotency";

    //
    #[test]
    fn auth_required_task_accepts_messages: "jsonrpc/auth-required";

    //
    #[test]
    fn request_context_reaches_the_executor_unchanged: "jsonrpc/parameters";

    #[test]
    fn custom_path_accepts_a_trailing_slash: "jsonrpc/mounted";

    //
    #[test]
    fn exceeded_limits_are_resource_exhausted: "jsonrpc/too-many";

    #[test]
    fn unexpected_body_is_ignored: "jsonrpc/unread-body";

    #[test]
    fn expect_continue_gets_100_continue: "jsonrpc/expect-continue";
}
