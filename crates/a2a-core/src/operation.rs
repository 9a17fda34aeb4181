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
    /// The operation that answers.
    pub operation: Operation,
    /// The HTTP method, in upper case.
    pub method: &'static str,
    /// The path below the interface's URL. `{name}` stands for one segment, or the part of one
    /// before a `:`, and holds the member of that proto name.
    pub path: &'static str,
    /// Whether a body carries the members that are not in the path; otherwise the query does.
    pub has_body: bool,
}

/// The request of an operation: it says which tenant it is for (spec §4.1).
pub trait Request: Send + 'static {
    /// The tenant; empty without one.
    fn tenant(&self) -> &str;

    /// Sets the tenant.
    fn set_tenant(&mut self, tenant: String);

    /// The member that a variable of the operation's [routes](ROUTES) holds, by its proto name.
    fn variable(&mut self, name: &str) -> Option<&mut String>;
}

macro_rules! request {
    ($request:ty, $($variable:literal => $member:ident),+) => {
        impl Request for $request {
            fn tenant(&self) -> &str {
                &self.tenant
            }

            fn set_tenant(&mut self, tenant: String) {
                self.tenant = tenant;
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

    #[test]
    fn every_operation_has_a_route_and_the_same_with_a_tenant_in_front() {
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
}
