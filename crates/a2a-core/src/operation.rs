//! The operations of the protocol and their HTTP routes, from the descriptor.

use crate::v1::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig,
};

/// One route of the HTTP+JSON binding (spec §11.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The operation.
    pub operation: Operation,
    /// The HTTP method, in upper case.
    pub method: &'static str,
    /// The path below the interface's URL. `{name}` stands for a segment, or the part of one before
    /// a `:`, and contains the member with this proto name.
    pub path: &'static str,
    /// Whether members that are not in the path are in the body; otherwise they are in the query.
    pub has_body: bool,
}

/// The request of an operation, which has a tenant (spec §4.1).
pub trait Request: Clone + Send + Sync + 'static {
    /// The tenant; empty if there is none.
    fn tenant(&self) -> &str;

    /// Sets the tenant.
    fn set_tenant(&mut self, tenant: String);

    /// The id of the task; empty if the request has none.
    fn task_id(&self) -> &str;

    /// The id of the context; empty if the request has none.
    fn context_id(&self) -> &str;

    /// The member for a variable of the operation's [routes](ROUTES), by proto name.
    fn variable(&mut self, name: &str) -> Option<&mut String>;
}

macro_rules! request {
    ($request:ty, $($variable:literal => $member:ident),+; $task_id:expr, $context_id:expr) => {
        impl Request for $request {
            fn tenant(&self) -> &str {
                &self.tenant
            }

            fn set_tenant(&mut self, tenant: String) {
                self.tenant = tenant;
            }

            fn task_id(&self) -> &str {
                let id: fn(&Self) -> &str = $task_id;
                id(self)
            }

            fn context_id(&self) -> &str {
                let id: fn(&Self) -> &str = $context_id;
                id(self)
            }

            fn variable(&mut self, name: &str) -> Option<&mut String> {
                match name {
                    $($variable => Some(&mut self.$member),)+
                    _ => None,
                }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/operations.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn operations_have_a_route_with_and_without_tenant() {
        for operation in Operation::ALL {
            let of_operation = || ROUTES.iter().filter(|route| route.operation == operation);
            let plain = of_operation().find(|route| !route.path.starts_with("/{tenant}"));
            let path = plain.expect("a plain route").path;
            assert!(
                of_operation().any(|route| route.path == format!("/{{tenant}}{path}")),
                "{operation:?}"
            );
            assert_eq!(of_operation().count(), 2, "{operation:?}");
        }
    }

    #[test]
    fn requests_name_their_task_and_context() {
        fn ids<R: Request>(request: R) -> (String, String) {
            (request.task_id().to_owned(), request.context_id().to_owned())
        }
        let named = |task: &str, context: &str| (task.to_owned(), context.to_owned());
        let message = Message::user("hello").with_task_id("t").with_context_id("c");
        let send = SendMessageRequest { message: Some(message), ..Default::default() };
        assert_eq!(ids(send), named("t", "c"));
        assert_eq!(ids(SendMessageRequest::default()), named("", ""));
        let get = GetTaskRequest { id: "t".into(), ..Default::default() };
        assert_eq!(ids(get), named("t", ""));
        let list = ListTasksRequest { context_id: "c".into(), ..Default::default() };
        assert_eq!(ids(list), named("", "c"));
        let config = DeleteTaskPushNotificationConfigRequest {
            id: "webhook".into(),
            task_id: "t".into(),
            ..Default::default()
        };
        assert_eq!(ids(config), named("t", ""));
        assert_eq!(ids(GetExtendedAgentCardRequest::default()), named("", ""));
    }
}
