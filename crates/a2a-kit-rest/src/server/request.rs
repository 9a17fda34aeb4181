//! Assembles a request from its body or query, and its path.

use std::borrow::Cow;

use a2a_core::{Error, Request, Result, json, value_limit::check_json};
use a2a_kit_http::dispatch::Source;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::query::Query;
use crate::name::camel_case;

/// The sources of a request's members.
#[derive(Default)]
pub(super) struct RequestSource {
    /// The body, if the route has one.
    pub(super) body: Option<Bytes>,
    /// Limit of JSON values in the body.
    pub(super) max_values: usize,
    pub(super) query: Query,
    /// The members of the path, by proto names.
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Source for RequestSource {
    fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }

    fn read<T: Request + DeserializeOwned>(self) -> Result<T> {
        let mut read = match &self.body {
            Some(body) => check_json(body, self.max_values).and_then(|()| read_body(body)),
            None => self.query.read(),
        };
        if let Ok(request) = &mut read
            && let Err(error) = self.place_members(request)
        {
            read = Err(error);
        }
        read
    }
}

impl RequestSource {
    /// Sets the members of the path, and the tenant of the query.
    fn place_members<T: Request>(self, request: &mut T) -> Result<()> {
        for (name, value) in self.variables {
            place(request, name, value)?;
        }
        match self.query.tenant()? {
            Some(tenant) => place(request, "tenant", tenant.to_owned()),
            None => Ok(()),
        }
    }
}

fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    json::from_slice(if body.trim_ascii().is_empty() { b"{}" } else { body })
}

/// Sets a member that the body or the query may also have. The path overrides an empty value; any
/// other must be equal.
fn place<T: Request>(request: &mut T, name: &str, value: String) -> Result<()> {
    match request.variable(name) {
        Some(member) if member.is_empty() => *member = value,
        Some(member) if *member != value => {
            return Err(Error::invalid_params(
                camel_case(Cow::Borrowed(name)),
                "has conflicting values",
            ));
        }
        Some(_) | None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        ErrorKind, ROUTES,
        v1::{CancelTaskRequest, TaskPushNotificationConfig},
    };

    use super::*;

    fn source(body: &'static str, query: &str, path: &[(&'static str, &str)]) -> RequestSource {
        RequestSource {
            body: Some(body.into()),
            max_values: 10,
            query: Query::parse(query).unwrap(),
            variables: path.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn equal_values_in_path_and_body_are_accepted() {
        let path = [("tenant", "x"), ("task_id", "t")];
        for (body, query) in [
            (r#"{"url":"u"}"#, ""),
            (r#"{"url":"u","taskId":"t","tenant":"x"}"#, "tenant=x"),
            (r#"{"url":"u","taskId":"","tenant":null}"#, "tenant=x"),
        ] {
            let config: TaskPushNotificationConfig = source(body, query, &path).read().unwrap();
            let members = (&*config.url, &*config.task_id, &*config.tenant);
            assert_eq!(members, ("u", "t", "x"), "{body} {query}");
        }
        for (body, query, field) in [
            (r#"{"taskId":"other"}"#, "", "taskId"),
            (r#"{"task_id":"other"}"#, "", "taskId"),
            (r#"{"tenant":"y"}"#, "", "tenant"),
            ("{}", "tenant=y", "tenant"),
        ] {
            let error =
                source(body, query, &path).read::<TaskPushNotificationConfig>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            assert_eq!(error.violations()[0].field, field, "{body} {query}");
        }
    }

    #[test]
    fn only_an_empty_body_is_an_empty_object() {
        let read = |body| source(body, "", &[("id", "t")]).read::<CancelTaskRequest>();
        for body in ["", " \n", "{}"] {
            assert_eq!(read(body).unwrap().id, "t", "{body:?}");
        }
        for (body, kind) in [
            ("[]", ErrorKind::InvalidParams),
            ("[", ErrorKind::ParseError),
            ("7", ErrorKind::InvalidParams),
            ("{", ErrorKind::ParseError),
            (r#"{"metadata":[]}"#, ErrorKind::InvalidParams),
            (r#"{"metadata":{"x":[0,0,0,0,0,0,0,0]}}"#, ErrorKind::InvalidParams),
        ] {
            assert_eq!(read(body).unwrap_err().kind(), kind, "{body:?}");
        }
    }

    #[test]
    fn route_variables_are_members() {
        use a2a_core::{Operation, v1};
        fn has<T: Request + Default>(name: &str) -> bool {
            T::default().variable(name).is_some()
        }
        for route in ROUTES {
            for name in route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
                let known = match route.operation {
                    Operation::SendMessage | Operation::SendStreamingMessage => {
                        has::<v1::SendMessageRequest>(name)
                    }
                    Operation::GetTask => has::<v1::GetTaskRequest>(name),
                    Operation::ListTasks => has::<v1::ListTasksRequest>(name),
                    Operation::CancelTask => has::<CancelTaskRequest>(name),
                    Operation::SubscribeToTask => has::<v1::SubscribeToTaskRequest>(name),
                    Operation::CreateTaskPushNotificationConfig => {
                        has::<TaskPushNotificationConfig>(name)
                    }
                    Operation::GetTaskPushNotificationConfig => {
                        has::<v1::GetTaskPushNotificationConfigRequest>(name)
                    }
                    Operation::ListTaskPushNotificationConfigs => {
                        has::<v1::ListTaskPushNotificationConfigsRequest>(name)
                    }
                    Operation::DeleteTaskPushNotificationConfig => {
                        has::<v1::DeleteTaskPushNotificationConfigRequest>(name)
                    }
                    Operation::GetExtendedAgentCard => has::<v1::GetExtendedAgentCardRequest>(name),
                };
                assert!(known, "{} {name}", route.path);
            }
        }
    }
}
