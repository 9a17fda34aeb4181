//! Reads requests from query strings (spec §11.5).

use std::borrow::Cow;

use a2a_core::{Error, Result, well_known::Timestamp};
use a2a_kit_http::{query, service_parameters};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor,
    value::{Error as ValueError, MapDeserializer, SeqDeserializer},
};

use crate::name::camel_case;

/// The members of a query: their names in lowerCamelCase, as in JSON, and their values under any of
/// their names. The request type determines the types of values.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, Vec<String>)>);

impl Query {
    /// Parses a query string.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for the name of a nested member, and for
    /// text that is not UTF-8.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut query = Self::default();
        if text.is_empty() {
            return Ok(query);
        }
        for (name, value) in query::parse(text)? {
            if name.eq_ignore_ascii_case(service_parameters::VERSION.as_str()) {
                continue;
            }
            if name.contains('.') {
                return Err(Error::invalid_params(
                    name,
                    "must be a top-level member of the request",
                ));
            }
            let (name, value) = spell(name, value);
            match query.0.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value.into_owned()),
                None => query.0.push((name.into_owned(), vec![value.into_owned()])),
            }
        }
        Ok(query)
    }

    /// Reads a request. Unknown names are ignored.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the member that is invalid or
    /// repeated.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let members = self.0.iter().map(|(name, values)| (name.as_str(), Values(values)));
        let members = MapDeserializer::<_, ValueError>::new(members);
        serde_path_to_error::deserialize(members).map_err(|error| {
            Error::invalid_params(error.path().to_string(), error.into_inner().to_string())
        })
    }

    /// The tenant, which is allowed in the query of any operation.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if it is repeated.
    pub(super) fn tenant(&self) -> Result<Option<&str>> {
        let tenant = self.0.iter().find(|(name, _)| name == "tenant");
        let tenant = tenant.map(|(_, values)| Values(values).single()).transpose();
        tenant.map_err(|error| Error::invalid_params("tenant", error.to_string()))
    }
}

/// Converts names to JSON names, and values of the draft to those of the current revision.
fn spell<'a>(name: Cow<'a, str>, value: Cow<'a, str>) -> (Cow<'a, str>, Cow<'a, str>) {
    match &*name {
        "lastUpdatedAfter" | "last_updated_after" => {}
        "status" => return (name, state(value)),
        _ => return (camel_case(name), value),
    }
    // The name of the filter in the draft, whose value may be in milliseconds.
    let value = match value.parse() {
        Ok(millis) => Timestamp::from_millis(millis).to_string().into(),
        Err(_) => value,
    };
    ("statusTimestampAfter".into(), value)
}

/// Converts the name of a state as older revisions and the example of the specification (spec §11.5)
/// write it, such as `input-required`.
fn state(value: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_');
    if value.is_empty() || !value.bytes().all(is_lower) {
        return value;
    }
    let name = if value == "cancelled" { "canceled" } else { &*value };
    let name = name.replace('-', "_").to_ascii_uppercase();
    format!("TASK_STATE_{name}").into()
}

/// The values of a member. The expected type is determined by the deserializer.
struct Values<'a>(&'a [String]);

impl<'a> Values<'a> {
    fn single(&self) -> Result<&'a str, ValueError> {
        match self.0 {
            [value] => Ok(value),
            _ => Err(ValueError::custom("must not be repeated")),
        }
    }
}

impl IntoDeserializer<'_, ValueError> for Values<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Values<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_str(self.single()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.single()?.parse() {
            Ok(boolean) => visitor.visit_bool(boolean),
            Err(_) => Err(ValueError::custom("must be true or false")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    // A repeated member: a repeated name, a comma-separated list, or both.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let values = self.0.iter().flat_map(|value| value.split(','));
        visitor.visit_seq(SeqDeserializer::new(values))
    }

    fn deserialize_map<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom("is not allowed in a query"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct tuple tuple_struct enum identifier
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        TaskState, Validate as _,
        v1::{GetTaskRequest, ListTasksRequest, SendMessageConfiguration},
    };

    use super::*;

    const UNKNOWN_STATE: &str = "is not a known value: must be TASK_STATE_SUBMITTED, \
        TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, \
        TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED or TASK_STATE_AUTH_REQUIRED";
    const INVALID_UTF8: &str =
        "must be percent-encoded UTF-8: invalid utf-8 sequence of 1 bytes from index 0";
    const INVALID_UTF8_END: &str =
        "must be percent-encoded UTF-8: incomplete utf-8 byte sequence from index 0";

    fn list(query: &str) -> Result<ListTasksRequest> {
        let request: ListTasksRequest = Query::parse(query)?.read()?;
        request.validate()?;
        Ok(request)
    }

    //
    #[test]
    fn members_of_every_type_are_read() {
        let after = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let request = ListTasksRequest {
            tenant: "t/1".into(),
            context_id: "a b+c".into(),
            status: TaskState::Working.into(),
            page_size: Some(7),
            page_token: "x=y&z".into(),
            history_length: Some(0),
            status_timestamp_after: after("2026-01-02T03:04:05.678Z"),
            include_artifacts: Some(false),
        };
        for query in [
            "tenant=t%2F1&contextId=a+b%2Bc&status=TASK_STATE_WORKING&pageSize=7&\
             pageToken=x%3Dy%26z&historyLength=0&statusTimestampAfter=2026-01-02T03:04:05.678Z&\
             includeArtifacts=false&A2A-Version=1.0&unknown=1&unknown=2",
            "tenant=t/1&context_id=a%20b%2Bc&status=TASK_STATE_WORKING&page_size=7&\
             page_token=x%3Dy%26z&history_length=0&\
             status_timestamp_after=2026-01-02T04:04:05.678%2B01:00&include_artifacts=false",
        ] {
            assert_eq!(list(query).unwrap(), request, "{query}");
        }
        assert_eq!(list("").unwrap(), ListTasksRequest::default());
        for query in [
            "lastUpdatedAfter=2026-01-02T03:04:05.678Z",
            "lastUpdatedAfter=1767323045678",
            "last_updated_after=1767323045678",
        ] {
            let request = list(query).unwrap();
            assert_eq!(
                request.status_timestamp_after,
                after("2026-01-02T03:04:05.678Z"),
                "{query}"
            );
        }
    }

    #[test]
    fn states_are_read_in_lower_case_too() {
        for (name, state) in [
            ("TASK_STATE_WORKING", TaskState::Working),
            ("working", TaskState::Working),
            ("input-required", TaskState::InputRequired),
            ("auth_required", TaskState::AuthRequired),
            ("canceled", TaskState::Canceled),
            ("cancelled", TaskState::Canceled),
        ] {
            assert_eq!(list(&format!("status={name}")).unwrap().status, state as i32, "{name}");
        }
    }

    #[test]
    fn invalid_values_are_rejected_with_the_member_name() {
        for (query, field, description) in [
            ("pageSize=7&pageSize=7", "pageSize", "must not be repeated"),
            ("contextId=a&context_id=a", "contextId", "must not be repeated"),
            ("tenant=a&tenant=b", "tenant", "must not be repeated"),
            ("includeArtifacts=yes", "includeArtifacts", "must be true or false"),
            ("includeArtifacts=", "includeArtifacts", "must be true or false"),
            ("status=WORKING", "status", UNKNOWN_STATE),
            ("status=paused", "status", UNKNOWN_STATE),
            ("contextId=%ff", "contextId", INVALID_UTF8),
            ("tenant=a&%C3=b", "\u{fffd}", INVALID_UTF8_END),
            ("page_size=ten", "pageSize", "invalid digit found in string"),
            ("pageSize=1.5", "pageSize", "1.5 is not a 32-bit integer"),
            ("a.b=1", "a.b", "must be a top-level member of the request"),
        ] {
            let error = list(query).unwrap_err();
            let [violation] = error.violations() else { panic!("{query}: {error:?}") };
            assert_eq!(
                (&*violation.field, &*violation.description),
                (field, description),
                "{query}"
            );
        }
        let error = list("statusTimestampAfter=yesterday").unwrap_err();
        assert_eq!(error.violations()[0].field, "statusTimestampAfter");
        let error = Query::parse("tenant=a&tenant=b").unwrap().tenant().unwrap_err();
        assert_eq!(error.violations()[0].field, "tenant");
    }

    //
    #[test]
    fn lists_are_repeated_names_or_comma_separated() {
        let query = Query::parse("acceptedOutputModes=a,b&accepted_output_modes=c").unwrap();
        let read: SendMessageConfiguration = query.read().unwrap();
        assert_eq!(read.accepted_output_modes, ["a", "b", "c"]);
        let query = Query::parse("taskPushNotificationConfig=x").unwrap();
        let error = query.read::<SendMessageConfiguration>().unwrap_err();
        assert_eq!(error.violations()[0].field, "taskPushNotificationConfig");
    }

    #[test]
    fn path_member_is_allowed_in_the_query() {
        let request: GetTaskRequest = Query::parse("id=t&historyLength=3").unwrap().read().unwrap();
        assert_eq!((&*request.id, request.history_length), ("t", Some(3)));
    }
}
