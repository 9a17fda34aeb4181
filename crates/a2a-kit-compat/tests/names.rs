//! `docs/revisions.md` lists the method names of all revisions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use a2a_kit_compat::{AnyRequest, Dialect as _, v0_1::V0_1, v0_3::V0_3, v1_draft::V1Draft};

const PAGE: &str = include_str!("../../../docs/revisions.md");

/// One request for each operation.
fn requests() -> [AnyRequest; 11] {
    [
        AnyRequest::SendMessage(Default::default()),
        AnyRequest::SendStreamingMessage(Default::default()),
        AnyRequest::GetTask(Default::default()),
        AnyRequest::ListTasks(Default::default()),
        AnyRequest::CancelTask(Default::default()),
        AnyRequest::SubscribeToTask(Default::default()),
        AnyRequest::CreateTaskPushNotificationConfig(Default::default()),
        AnyRequest::GetTaskPushNotificationConfig(Default::default()),
        AnyRequest::ListTaskPushNotificationConfigs(Default::default()),
        AnyRequest::DeleteTaskPushNotificationConfig(Default::default()),
        AnyRequest::GetExtendedAgentCard(Default::default()),
    ]
}

//
#[test]
fn every_method_of_every_revision_is_documented() {
    let (_, table) = PAGE.split_once("## Old and new names").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    for request in requests() {
        let name = request.operation().name();
        let row = table.lines().find(|line| line.contains(&format!("`{name}`")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        let older = [V0_1.write_request(request.clone()), V0_3.write_request(request.clone())];
        for (method, _) in older.into_iter().flatten() {
            let same = method.starts_with("tasks/") && row.contains("the same");
            assert!(same || row.contains(&format!("`{method}`")), "{method} in {row}");
        }
        let (method, _) = V1Draft.write_request(request).unwrap();
        assert!(table.contains(&format!("`{method}`")), "{method}");
    }
}
