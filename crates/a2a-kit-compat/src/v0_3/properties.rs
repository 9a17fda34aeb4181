//! Property tests: conversions lose only what is documented.

use a2a_core::v1::{self, send_message_response};
use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{V0_3, read_card, write_card, write_task};
use crate::{
    AnyRequest, AnyResponse, Dialect,
    arbitrary::{self, through_metadata},
    common::parts::Parts as _,
};

proptest! {
    //
    #[test]
    fn events_round_trip(
        mut sent in arbitrary::event(), is_last in any::<bool>()
    ) {
        let written = V0_3.write_event(&sent, is_last);
        let read = V0_3.read_event(written.clone()).unwrap();
        sent.each_part(through_metadata);
        prop_assert_eq!(&read, &sent);
        prop_assert_eq!(V0_3.write_event(&read, is_last), written);
    }

    #[test]
    fn responses_round_trip(mut sent in arbitrary::task()) {
        let operation = a2a_core::Operation::GetTask;
        let response = AnyResponse::Task(sent.clone().into());
        let written = V0_3.write_response(operation, response);
        prop_assert_eq!(&written, &write_task(&sent));
        let read = V0_3.read_response(operation, written.clone()).unwrap();
        sent.each_part(through_metadata);
        prop_assert_eq!(&read, &AnyResponse::Task(sent.clone().into()));
        prop_assert_eq!(V0_3.write_response(operation, read), written.clone());

        let payload = Some(send_message_response::Payload::Task(sent));
        let answered = AnyResponse::Sent(v1::SendMessageResponse { payload });
        let read = V0_3.read_response(a2a_core::Operation::SendMessage, written).unwrap();
        prop_assert_eq!(read, answered);
    }

    //
    #[test]
    fn send_requests_round_trip_with_defaults(mut sent in arbitrary::send_request()) {
        let (method, written) =
            V0_3.write_request(AnyRequest::SendStreamingMessage(sent.clone())).unwrap();
        let read = V0_3.read_request(method, written.clone()).unwrap();
        sent.each_part(through_metadata);
        sent.configuration.get_or_insert_default();
        prop_assert_eq!(&read, &AnyRequest::SendStreamingMessage(sent));
        prop_assert_eq!(V0_3.write_request(read).unwrap(), (method, written));
    }

    #[test]
    fn webhooks_round_trip(sent in arbitrary::push_config()) {
        let request = AnyRequest::CreateTaskPushNotificationConfig(sent);
        let (method, written) = V0_3.write_request(request.clone()).unwrap();
        prop_assert_eq!(V0_3.read_request(method, written).unwrap(), request);
    }

    #[test]
    fn a_card_comes_back_whole(
        card in arbitrary::card("0.3"), older in arbitrary::card("0.2")
    ) {
        for card in [card, older] {
            let written = write_card(&card);
            let read = read_card(written.clone()).unwrap();
            prop_assert_eq!(&read, &card);
            prop_assert_eq!(write_card(&read), written);
        }
    }

    #[test]
    fn no_json_panics_a_reader(json in arbitrary::value(), key in "[a-z]{2,8}|kind|status|parts") {
        let json = serde_json::Value::from(json);
        let nested = serde_json::json!({ key: json.clone() });
        for json in [json, nested] {
            let _ = V0_3.read_event(json.clone());
            let _ = read_card(json.clone());
            for operation in a2a_core::Operation::ALL {
                let _ = V0_3.read_response(operation, json.clone());
            }
            for method in ["message/send", "tasks/get", "tasks/pushNotificationConfig/set"] {
                let _ = V0_3.read_request(method, json.clone());
            }
        }
    }
}
