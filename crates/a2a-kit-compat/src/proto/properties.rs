//! Property tests: conversions lose only what is documented, in protobuf and JSON.

use a2a_core::{ProtocolVersion, v1};
use proptest::prelude::{any, prop_assert_eq, proptest};
use prost::Message as _;

use super::{
    AgentCard, CreateConfig, CreateTaskPushNotificationConfigRequest, Files, GetTaskRequest,
    ListTasksRequest, SendMessageRequest, StreamResponse, Task, card_from_v1, card_into_v1,
    event_from_v1, json,
};
use crate::{
    AnyResponse,
    arbitrary::{self, through_metadata},
    common::parts::Parts as _,
};

/// Clears references to tasks, which the JSON format of 0.3 does not have.
fn without_references(message: &mut v1::Message) {
    message.reference_task_ids.clear();
}

/// Encodes files as most SDKs do.
fn text<T: Files + Clone>(sent: &T) -> T {
    let mut sent = sent.clone();
    sent.write_text();
    sent
}

/// Decodes such files.
fn read_files<T: Files>(mut read: T) -> T {
    read.read_text();
    read
}

proptest! {
    //
    #[test]
    fn events_round_trip(
        mut sent in arbitrary::event(), is_last in any::<bool>()
    ) {
        let written = event_from_v1(text(&sent), is_last);
        let read = StreamResponse::decode(written.encode_to_vec().as_slice()).unwrap();
        let read = read_files(v1::StreamResponse::from(read));
        sent.each_part(through_metadata);
        prop_assert_eq!(&read, &sent);
        prop_assert_eq!(event_from_v1(text(&read), is_last), written);

        let read = json::read_event(&json::write_event(text(&sent), is_last).unwrap()).unwrap();
        let read = read_files(read);
        sent.each_message(without_references);
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn tasks_round_trip(mut sent in arbitrary::task()) {
        let written = Task::from(text(&sent));
        let read = Task::decode(written.encode_to_vec().as_slice()).unwrap();
        let read = read_files(v1::Task::from(read));
        sent.each_part(through_metadata);
        prop_assert_eq!(&read, &sent);
        prop_assert_eq!(Task::from(text(&read)), written);

        let read = read_files(json::read_task(&json::write_response(AnyResponse::Task(text(&sent).into())).unwrap()).unwrap());
        sent.each_message(without_references);
        prop_assert_eq!(&read, &sent);

        let response = |task| {
            let payload = Some(v1::send_message_response::Payload::Task(task));
            v1::SendMessageResponse { payload }
        };
        let written = json::write_response(AnyResponse::Sent(response(text(&sent)))).unwrap();
        let sent = response(sent);
        let read = AnyResponse::Sent(json::read_send_response(&written).unwrap());
        prop_assert_eq!(read_files(read), AnyResponse::Sent(sent));
    }

    //
    #[test]
    fn send_requests_round_trip_with_defaults(mut sent in arbitrary::send_request()) {
        let written = SendMessageRequest::from(text(&sent));
        let read = SendMessageRequest::decode(written.encode_to_vec().as_slice()).unwrap();
        let read = read_files(v1::SendMessageRequest::from(read));
        sent.each_part(through_metadata);
        sent.configuration.get_or_insert_default();
        prop_assert_eq!(&read, &sent);
        prop_assert_eq!(SendMessageRequest::from(text(&read)), written);

        let written = json::write_send_request(text(&sent)).unwrap();
        sent.each_message(without_references);
        prop_assert_eq!(read_files(json::read_send_request(&written).unwrap()), sent);
    }

    #[test]
    fn webhooks_round_trip(mut sent in arbitrary::push_config()) {
        let written: CreateTaskPushNotificationConfigRequest =
            CreateConfig::from_v1(sent.clone()).into();
        let read = CreateConfig::from(written.clone()).into_v1().unwrap();
        // Servers of 0.3 require an id.
        if sent.id.is_empty() {
            sent.id.clone_from(&read.id);
        }
        prop_assert_eq!(&read, &sent);
        prop_assert_eq!(
            CreateTaskPushNotificationConfigRequest::from(CreateConfig::from_v1(read)), written
        );

        let written = json::write_create_config(sent.clone()).unwrap();
        prop_assert_eq!(&json::read_create_config(&written, &sent.task_id).unwrap(), &sent);
        let written = json::write_config(sent.clone()).unwrap();
        prop_assert_eq!(&json::read_config(&written).unwrap(), &sent);
        let page = v1::ListTaskPushNotificationConfigsResponse {
            configs: vec![sent],
            next_page_token: String::new(),
        };
        let written = json::write_response(AnyResponse::Configs(page.clone())).unwrap();
        prop_assert_eq!(json::read_configs(&written).unwrap(), page);
    }

    #[test]
    fn a_card_comes_back_whole(older in arbitrary::card("0.3"), draft in arbitrary::card("1.0")) {
        for (mut sent, revision) in
            [(older, ProtocolVersion::V0_3), (draft, ProtocolVersion::V1Draft)]
        {
            let written = card_from_v1(sent.clone(), revision);
            let read = AgentCard::decode(written.encode_to_vec().as_slice()).unwrap();
            let read = card_into_v1(read);
            // An unset flag means false.
            let capabilities = sent.capabilities.get_or_insert_default();
            for flag in [
                &mut capabilities.streaming,
                &mut capabilities.push_notifications,
                &mut capabilities.extended_agent_card,
            ] {
                flag.get_or_insert_default();
            }
            prop_assert_eq!(&read, &sent);
            prop_assert_eq!(card_from_v1(read, revision), written);
        }
    }

    #[test]
    fn task_requests_round_trip(
        id in arbitrary::id(),
        context_id in arbitrary::maybe_id(),
        number in proptest::option::of(0..100_i32),
        millis in 1..4_000_000_000_000_i64,
    ) {
        let sent = v1::GetTaskRequest { id, history_length: number, ..Default::default() };
        prop_assert_eq!(&v1::GetTaskRequest::from(GetTaskRequest::from(sent.clone())), &sent);
        let sent = v1::ListTasksRequest {
            context_id,
            page_size: number,
            status_timestamp_after: Some(a2a_core::well_known::Timestamp::from_millis(millis)),
            ..Default::default()
        };
        prop_assert_eq!(v1::ListTasksRequest::from(ListTasksRequest::from(sent.clone())), sent);
    }

    #[test]
    fn no_json_panics_a_reader(
        value in arbitrary::value(), key in "[a-z]{2,8}|task|status|message|config"
    ) {
        let value = serde_json::Value::from(value);
        for value in [value.clone(), serde_json::json!({ key: value })] {
            let text = serde_json::to_vec(&value).unwrap();
            let _ = json::read_send_request(&text);
            let _ = json::read_send_response(&text);
            let _ = json::read_event(&text);
            let _ = json::read_task(&text);
            let _ = json::read_create_config(&text, "t");
            let _ = json::read_config(&text);
            let _ = json::read_configs(&text);
        }
    }
}
