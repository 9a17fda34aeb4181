//! Property tests: conversions lose only what is documented.

use a2a_core::{
    Message, Operation, Task,
    v1::{self, ListTasksRequest, SendMessageRequest, SendMessageResponse, send_message_response},
    well_known::Timestamp,
};
use proptest::prelude::{any, prop_assert_eq, proptest};

use crate::{
    AnyRequest, AnyResponse, Dialect as _,
    arbitrary::{self, through_metadata},
    common::parts::Parts,
    v1_draft::{V1Draft, read_rest, write_rest},
};

/// A value after a round trip.
fn returned<T: Parts>(mut sent: T) -> T {
    sent.each_part(through_metadata);
    sent
}

/// Round-trips a request through the methods and the routes.
pub(super) fn through(request: &AnyRequest) -> AnyRequest {
    let (method, params) = V1Draft.write_request(request.clone()).unwrap();
    let read = V1Draft.read_request(method, params).unwrap();
    assert_eq!(through_rest(request), read);
    read
}

/// Adds path variables to the query, as a server does.
fn through_rest(request: &AnyRequest) -> AnyRequest {
    let written = write_rest(request).unwrap();
    let mut members: Vec<_> =
        written.query.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let mut segments = written.path.split(['/', ':']).skip(3);
    if written.path.starts_with("/v1/tasks/") {
        let id = segments.next().unwrap().to_owned();
        match segments.next() {
            Some("pushNotificationConfigs") => {
                members.push(("taskId".into(), id));
                let config_id = segments.next().map(str::to_owned);
                members.extend(config_id.map(|id| ("configId".into(), id)));
            }
            _ => members.push(("id".into(), id)),
        }
    }
    read_rest(request.operation(), written.body.unwrap_or_default(), members).unwrap()
}

proptest! {
    #[test]
    fn events_round_trip(
        sent in arbitrary::event(),
        is_last in any::<bool>(),
    ) {
        let written = V1Draft.write_event(&sent, is_last);
        let read = V1Draft.read_event(written.clone()).unwrap();
        prop_assert_eq!(V1Draft.write_event(&read, is_last), written.clone());
        prop_assert_eq!(&read, &returned(sent));
        // Some implementations omit the wrapper.
        let bare = written.as_object().unwrap().values().next().unwrap().clone();
        prop_assert_eq!(V1Draft.read_event(bare).unwrap(), read);
    }

    #[test]
    fn responses_round_trip(
        sent in arbitrary::task(),
        reply in arbitrary::message(),
        page_size in 0..100_i32,
    ) {
        let write = |operation, response| {
            let written = V1Draft.write_response(operation, response);
            V1Draft.read_response(operation, written).unwrap()
        };
        let read = write(Operation::GetTask, AnyResponse::Task(sent.clone().into()));
        prop_assert_eq!(read, AnyResponse::Task(returned(sent.clone()).into()));
        let list = |tasks: Vec<Task>| AnyResponse::Tasks(v1::ListTasksResponse {
            tasks,
            next_page_token: "next".into(),
            page_size,
            total_size: 7,
        });
        prop_assert_eq!(write(Operation::ListTasks, list(vec![sent.clone()])), list(vec![returned(sent)]));
        let sent = |message: Message| AnyResponse::Sent(SendMessageResponse {
            payload: Some(send_message_response::Payload::Message(message)),
        });
        prop_assert_eq!(write(Operation::SendMessage, sent(reply.clone())), sent(returned(reply)));
    }

    #[test]
    fn send_requests_round_trip(sent in arbitrary::send_request()) {
        let expected = SendMessageRequest {
            message: returned(sent.message.clone()),
            // The default of `blocking` differs.
            configuration: Some(sent.configuration.clone().unwrap_or_default()),
            ..sent.clone()
        };
        let read = through(&AnyRequest::SendMessage(sent.clone()));
        prop_assert_eq!(read, AnyRequest::SendMessage(expected.clone()));
        let read = through(&AnyRequest::SendStreamingMessage(sent));
        prop_assert_eq!(read, AnyRequest::SendStreamingMessage(expected));
    }

    #[test]
    fn a_push_config_keeps_all(sent in arbitrary::push_config()) {
        let request = AnyRequest::CreateTaskPushNotificationConfig(sent.clone());
        prop_assert_eq!(through(&request), request);
        let response = AnyResponse::Config(sent.clone());
        let operation = Operation::GetTaskPushNotificationConfig;
        let written = V1Draft.write_response(operation, response.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), response);
        let response = AnyResponse::Configs(v1::ListTaskPushNotificationConfigsResponse {
            configs: vec![sent],
            next_page_token: String::new(),
        });
        let operation = Operation::ListTaskPushNotificationConfigs;
        let written = V1Draft.write_response(operation, response.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), response);
    }

    #[test]
    fn list_requests_round_trip_in_milliseconds(
        context_id in arbitrary::maybe_id(),
        state in arbitrary::state(),
        millis in 0_i64..4_000_000_000_000,
        length in 0..10_i32,
        include_artifacts in proptest::option::of(any::<bool>()),
    ) {
        let request = AnyRequest::ListTasks(ListTasksRequest {
            context_id,
            status: state.into(),
            page_size: Some(5),
            page_token: "token".into(),
            history_length: Some(length),
            status_timestamp_after: Some(Timestamp::from_millis(millis)),
            include_artifacts,
            ..ListTasksRequest::default()
        });
        prop_assert_eq!(through(&request), request);
    }

    #[test]
    fn task_and_config_requests_keep_their_ids(
        task_id in arbitrary::id(),
        id in arbitrary::id(),
        length in proptest::option::of(0..10_i32),
        metadata in arbitrary::metadata(),
    ) {
        for request in [
            AnyRequest::GetTask(v1::GetTaskRequest {
                id: task_id.clone(),
                history_length: length,
                ..Default::default()
            }),
            AnyRequest::CancelTask(v1::CancelTaskRequest {
                id: task_id.clone(),
                metadata,
                ..Default::default()
            }),
            AnyRequest::SubscribeToTask(v1::SubscribeToTaskRequest {
                id: task_id.clone(),
                ..Default::default()
            }),
            AnyRequest::GetTaskPushNotificationConfig(v1::GetTaskPushNotificationConfigRequest {
                task_id: task_id.clone(),
                id: id.clone(),
                ..Default::default()
            }),
            AnyRequest::DeleteTaskPushNotificationConfig(
                v1::DeleteTaskPushNotificationConfigRequest {
                    task_id: task_id.clone(),
                    id,
                    ..Default::default()
                },
            ),
            AnyRequest::ListTaskPushNotificationConfigs(
                v1::ListTaskPushNotificationConfigsRequest {
                    task_id,
                    page_size: 3,
                    page_token: "token".into(),
                    ..Default::default()
                },
            ),
            AnyRequest::GetExtendedAgentCard(Default::default()),
        ] {
            prop_assert_eq!(through(&request), request);
        }
    }

    #[test]
    fn cards_round_trip(sent in arbitrary::card("1.0")) {
        let response = AnyResponse::Card(sent);
        let operation = Operation::GetExtendedAgentCard;
        let written = V1Draft.write_response(operation, response.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), response);
    }
}
