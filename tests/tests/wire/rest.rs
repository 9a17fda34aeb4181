//! HTTP+JSON (spec §11): routes, queries, media types, every operation and every error.

use crate::fixtures;

fixtures! {
    //
    #[test]
    fn a_send_answers_with_the_response_alone: "rest/send";

    //
    #[test]
    fn a_message_answer_is_in_a_wrapper: "rest/send-message";

    //
    #[test]
    fn a_stream_is_server_sent_events_of_responses_alone: "rest/stream";

    //
    #[test]
    fn a_stream_is_resumed_behind_the_last_event_that_was_seen: "rest/resume";

    //
    #[test]
    fn a_task_is_read_by_its_path_and_the_rest_is_query: "rest/get";

    //
    #[test]
    fn tasks_are_listed_by_filters_in_the_query: "rest/list";

    //
    #[test]
    fn a_page_leads_to_the_next: "rest/paging";

    //
    #[test]
    fn a_cancel_needs_no_body: "rest/cancel";

    //
    #[test]
    fn webhooks_are_created_read_listed_and_deleted: "rest/push";

    //
    #[test]
    fn the_extended_card_is_at_its_path_and_only_its_reader_may_keep_it: "rest/extended-card";

    //
    #[test]
    fn activated_extensions_are_named_in_the_answer: "rest/extensions";

    //
    #[test]
    fn the_type_of_an_answer_is_chosen_by_what_is_accepted: "rest/accept";

    //
    #[test]
    fn a_body_is_json_by_either_name: "rest/content-type";

    //
    #[test]
    fn segments_are_split_before_they_are_decoded: "rest/paths";

    //
    #[test]
    fn a_tenant_is_in_the_path_the_query_or_the_body: "rest/tenants";

    //
    #[test]
    fn what_the_path_says_the_body_may_only_repeat: "rest/path-and-body";

    //
    #[test]
    fn a_wrong_query_is_refused_with_the_name_of_the_member: "rest/query-errors";

    //
    #[test]
    fn an_unknown_route_has_the_error_body_of_the_binding: "rest/unknown-routes";

    //
    #[test]
    fn what_is_not_a_json_object_is_refused: "rest/malformed";

    //
    #[test]
    fn each_wrong_member_is_named_by_its_path: "rest/invalid-params";

    //
    #[test]
    fn an_unknown_task_is_not_found: "rest/unknown-task";

    //
    #[test]
    fn a_task_that_has_ended_takes_no_message_no_cancel_and_no_reader: "rest/ended-task";

    //
    #[test]
    fn webhooks_of_an_agent_that_calls_none_are_refused: "rest/push-not-supported";

    //
    #[test]
    fn streams_of_an_agent_that_has_none_are_refused: "rest/streaming-not-supported";

    //
    #[test]
    fn a_part_of_a_type_that_the_agent_does_not_take_is_refused: "rest/content-type-not-supported";

    //
    #[test]
    fn a_required_extension_has_to_be_named: "rest/extension-required";

    //
    #[test]
    fn an_agent_without_an_extended_card_says_that_it_has_none: "rest/extended-card-absent";

    //
    #[test]
    fn a_promised_extended_card_that_is_not_there_is_another_error: "rest/extended-card-not-configured";

    //
    #[test]
    fn only_version_1_0_is_served_and_a_missing_one_is_0_3: "rest/versions";

    //
    #[test]
    fn a_lenient_server_takes_a_missing_version_for_1_0: "rest/versions-lenient";

    //
    #[test]
    fn a_body_that_is_too_big_is_refused_and_the_connection_goes_on: "rest/body-too-big";

    #[test]
    fn a_prefix_is_in_front_of_every_route: "rest/mounted";
}
