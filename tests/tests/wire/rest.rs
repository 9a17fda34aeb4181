//! HTTP+JSON (spec §11): routes, queries, media types, every operation and every error.

use crate::fixtures;

fixtures! {
    //
    #[test]
    fn send_returns_the_bare_response: "rest/send";

    //
    #[test]
    fn message_response_is_wrapped: "rest/send-message";

    //
    #[test]
    fn stream_is_sse_of_bare_responses: "rest/stream";

    //
    #[test]
    fn stream_resumes_after_the_last_event_id: "rest/resume";

    //
    #[test]
    fn get_takes_the_id_from_the_path_and_options_from_the_query: "rest/get";

    //
    #[test]
    fn query_filters_the_list: "rest/list";

    //
    #[test]
    fn page_token_returns_the_next_page: "rest/paging";

    //
    #[test]
    fn cancel_needs_no_body: "rest/cancel";

    //
    #[test]
    fn webhooks_are_created_read_listed_and_deleted: "rest/push";

    //
    #[test]
    fn extended_card_is_privately_cacheable: "rest/extended-card";

    //
    #[test]
    fn activated_extensions_are_in_the_response: "rest/extensions";

    //
    #[test]
    fn accept_selects_the_response_type: "rest/accept";

    //
    #[test]
    fn both_json_media_types_are_accepted: "rest/content-type";

    //
    #[test]
    fn path_segments_are_split_before_decoding: "rest/paths";

    //
    #[test]
    fn tenant_is_in_the_path_the_query_or_the_body: "rest/tenants";

    //
    #[test]
    fn body_must_not_contradict_the_path: "rest/path-and-body";

    //
    #[test]
    fn invalid_query_names_the_member: "rest/query-errors";

    //
    #[test]
    fn unknown_route_has_the_error_body_of_the_binding: "rest/unknown-routes";

    //
    #[test]
    fn non_object_body_is_rejected: "rest/malformed";

    //
    #[test]
    fn violations_name_the_path_of_each_member: "rest/invalid-params";

    //
    #[test]
    fn unknown_task_is_not_found: "rest/unknown-task";

    //
    #[test]
    fn ended_task_rejects_messages_cancel_and_subscriptions: "rest/ended-task";

    //
    #[test]
    fn webhooks_are_rejected_without_push_support: "rest/push-not-supported";

    //
    #[test]
    fn streaming_is_rejected_without_support: "rest/streaming-not-supported";

    //
    #[test]
    fn unsupported_part_media_type_is_rejected: "rest/content-type-not-supported";

    //
    #[test]
    fn required_extension_must_be_requested: "rest/extension-required";

    //
    #[test]
    fn missing_extended_card_is_unsupported: "rest/extended-card-absent";

    //
    #[test]
    fn declared_but_missing_extended_card_has_its_own_error: "rest/extended-card-not-configured";

    //
    #[test]
    fn only_1_0_is_accepted_and_a_missing_version_is_0_3: "rest/versions";

    //
    #[test]
    fn lenient_server_interprets_a_missing_version_as_1_0: "rest/versions-lenient";

    //
    #[test]
    fn oversized_body_is_rejected_and_the_connection_stays_open: "rest/body-too-big";

    #[test]
    fn prefix_applies_to_every_route: "rest/mounted";
}
