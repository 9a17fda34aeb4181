//! Putting a request together: from its body or its query, and from its path.

use std::borrow::Cow;

use a2a_core::{Error, Request, Result, json, value_limit::check_json};
use a2a_http::dispatch::Source;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::query::Query;
use crate::name::camel_case;

/// The places where the members of a request may be.
pub(super) struct Places {
    /// The body, for a route that has one.
    pub(super) body: Option<Bytes>,
    /// Most JSON values in it.
    pub(super) max_values: usize,
    pub(super) query: Query<'static>,
    /// What the path says, by proto names.
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Source for Places {
    fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }

    fn read<T: Request + DeserializeOwned>(self) -> Result<T> {
        let mut request: T = match &self.body {
            Some(body) => {
                check_json(body, self.max_values)?;
                read_body(body)?
            }
            None => self.query.read()?,
        };
        for (name, value) in self.variables {
            place(&mut request, name, value)?;
        }
        if let Some(tenant) = self.query.tenant()? {
            place(&mut request, "tenant", tenant.to_owned())?;
        }
        Ok(request)
    }
}

fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    json::from_slice(if body.trim_ascii().is_empty() { b"{}" } else { body })
}

/// Sets a member that the body or the query may have named too. The path wins over an empty
/// value; any other has to be the same.
fn place<T: Request>(request: &mut T, name: &str, value: String) -> Result<()> {
    match request.variable(name) {
        Some(member) if member.is_empty() => *member = value,
        Some(member) if *member != value => {
            return Err(Error::invalid_params(
                camel_case(Cow::Borrowed(name)),
                "is given twice, with different values",
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

    fn places(body: &'static str, query: &str, path: &[(&'static str, &str)]) -> Places {
        Places {
            body: Some(body.into()),
            max_values: 10,
            query: Query::parse(query).unwrap().into_owned(),
            variables: path.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn the_same_member_may_be_in_two_places_with_one_value() {
        let path = [("tenant", "x"), ("task_id", "t")];
        for (body, query) in [
            (r#"{"url":"u"}"#, ""),
            (r#"{"url":"u","taskId":"t","tenant":"x"}"#, "tenant=x"),
            (r#"{"url":"u","taskId":"","tenant":null}"#, "tenant=x"),
        ] {
            let config: TaskPushNotificationConfig = places(body, query, &path).read().unwrap();
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
                places(body, query, &path).read::<TaskPushNotificationConfig>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            assert_eq!(error.violations()[0].field, field, "{body} {query}");
        }
    }

    #[test]
    fn an_empty_body_is_an_empty_object_and_nothing_else_is() {
        let read = |body| places(body, "", &[("id", "t")]).read::<CancelTaskRequest>();
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
    fn every_variable_of_every_route_is_a_member() {
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
