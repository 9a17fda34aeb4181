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
pub trait Request: Send + 'static {
    /// The tenant; empty if there is none.
    fn tenant(&self) -> &str;

    /// Sets the tenant.
    fn set_tenant(&mut self, tenant: String);

    /// The member for a variable of the operation's [routes](ROUTES), by proto name.
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
}
