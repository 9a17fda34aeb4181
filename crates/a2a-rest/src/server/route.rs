//! Finding the operation that a method and a path stand for (spec §11.3).

use std::{cmp::Reverse, sync::LazyLock};

use a2a_core::{Error, ErrorKind, Operation, ROUTES, Result};
use http::Method;
use percent_encoding::percent_decode_str;

use crate::name::camel_case;

/// The operation of a request, with what its path says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) has_body: bool,
    /// Members of the request by their proto names, decoded.
    pub(super) variables: Vec<(&'static str, String)>,
}

/// Why a request has no operation.
#[derive(Debug)]
pub(super) enum Miss {
    /// The path is not one of the binding's.
    NoRoute,
    /// The path is, but not with this method.
    WrongMethod(Vec<&'static str>),
    /// A segment is not percent-encoded text.
    Malformed(Error),
}

/// A path that has routes.
struct Shape {
    segments: Vec<Segment>,
    /// What stands behind the last segment, after a `:`.
    verb: Option<&'static str>,
    methods: Vec<(&'static str, Operation, bool)>,
}

enum Segment {
    Literal(&'static str),
    Variable(&'static str),
}

/// Every shape, those that are to be tried first in front.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(shapes);

/// Finds the operation of a request. `path` is still percent-encoded.
///
/// The first shape that fits the path decides, whatever the method: literals win over variables,
/// so a route without a tenant over one with, and a verb wins over an id that ends like one.
pub(super) fn resolve(method: &Method, path: &str) -> Result<Target, Miss> {
    let segments: Vec<&str> = path.strip_prefix('/').ok_or(Miss::NoRoute)?.split('/').collect();
    let (shape, values) = SHAPES
        .iter()
        .find_map(|shape| Some((shape, shape.fit(&segments)?)))
        .ok_or(Miss::NoRoute)?;
    let route = shape.methods.iter().find(|(verb, ..)| *verb == method.as_str());
    let Some((_, operation, has_body)) = route else {
        return Err(Miss::WrongMethod(shape.methods.iter().map(|(verb, ..)| *verb).collect()));
    };
    let decode = |(name, value): (&'static str, &str)| {
        let text = percent_decode_str(value).decode_utf8().map_err(|error| {
            let why = format!("must be percent-encoded UTF-8: {error}");
            Miss::Malformed(Error::invalid_params(camel_case(name.into()), why))
        })?;
        Ok((name, text.into_owned()))
    };
    let variables = values.into_iter().map(decode).collect::<Result<_, Miss>>()?;
    Ok(Target { operation: *operation, has_body: *has_body, variables })
}

/// The patterns under which a router has to hand paths to [`resolve`].
///
/// A router can't tell `/tasks/{id}:cancel` from `/tasks/{id}`, so the two are one pattern.
pub(super) fn patterns() -> Vec<String> {
    let mut patterns: Vec<_> = SHAPES.iter().map(Shape::pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

impl Shape {
    fn new(path: &'static str) -> Self {
        let (path, verb) = match path.rsplit_once("}:") {
            Some((_, verb)) => (&path[..path.len() - verb.len() - 1], Some(verb)),
            None => (path, None),
        };
        let segment = |text: &'static str| {
            let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            name.map_or(Segment::Literal(text), Segment::Variable)
        };
        let segments = path.trim_start_matches('/').split('/').map(segment).collect();
        Self { segments, verb, methods: Vec::new() }
    }

    /// Returns the variables, still encoded, if the path is of this shape.
    fn fit<'a>(&self, path: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
        if path.len() != self.segments.len() {
            return None;
        }
        let mut values = Vec::new();
        for (index, (segment, &text)) in self.segments.iter().zip(path).enumerate() {
            let text = match self.verb {
                Some(verb) if index + 1 == path.len() => {
                    text.strip_suffix(verb)?.strip_suffix(':')?
                }
                _ => text,
            };
            match segment {
                Segment::Literal(literal) if *literal == text => {}
                Segment::Variable(name) if !text.is_empty() => values.push((*name, text)),
                Segment::Literal(_) | Segment::Variable(_) => return None,
            }
        }
        Some(values)
    }

    fn pattern(&self) -> String {
        // A position has one name in a router, whatever the operations call it.
        let mut pattern = String::new();
        for (index, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Literal(literal) => pattern.push_str(&format!("/{literal}")),
                Segment::Variable(_) => pattern.push_str(&format!("/{{segment{index}}}")),
            }
        }
        pattern
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes: Vec<(&str, Shape)> = Vec::new();
    for route in ROUTES {
        let shape = match shapes.iter_mut().find(|(path, _)| *path == route.path) {
            Some((_, shape)) => shape,
            None => {
                shapes.push((route.path, Shape::new(route.path)));
                let Some((_, shape)) = shapes.last_mut() else { continue };
                shape
            }
        };
        shape.methods.push((route.method, route.operation, route.has_body));
        if route.operation == Operation::SubscribeToTask {
            // The proto says GET, the text of the specification and every deployed client say
            // POST (spec §11.3.2).
            shape.methods.push(("POST", route.operation, true));
        }
    }
    let mut shapes: Vec<_> = shapes.into_iter().map(|(_, shape)| shape).collect();
    shapes.sort_by_cached_key(|shape| {
        let variables: Vec<_> =
            shape.segments.iter().map(|segment| matches!(segment, Segment::Variable(_))).collect();
        (variables, Reverse(shape.verb))
    });
    shapes
}

impl From<Miss> for Error {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::NoRoute => Self::new(ErrorKind::MethodNotFound, "there is nothing at this path"),
            Miss::WrongMethod(allowed) => Self::new(
                ErrorKind::MethodNotAllowed,
                format!("this path is for {} only", allowed.join(" and ")),
            ),
            Miss::Malformed(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> (Operation, Vec<(&'static str, String)>) {
        let method = method.parse().unwrap();
        let target = resolve(&method, path).unwrap_or_else(|miss| panic!("{path}: {miss:?}"));
        (target.operation, target.variables)
    }

    #[test]
    fn every_route_of_the_descriptor_leads_to_its_operation() {
        for route in ROUTES {
            let path = route.path.replace('{', "a-").replace('}', "-z");
            let (operation, variables) = found(route.method, &path);
            assert_eq!(operation, route.operation, "{}", route.path);
            assert_eq!(variables.len(), route.path.matches('{').count());
            for (name, value) in variables {
                assert_eq!(value, format!("a-{name}-z"), "{}", route.path);
            }
        }
    }

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        use Operation::{
            CancelTask, GetTask, GetTaskPushNotificationConfig, ListTasks, SubscribeToTask,
        };
        for (method, path, operation, variables) in [
            ("GET", "/tasks/a%2Fb", GetTask, vec![("id", "a/b")]),
            ("GET", "/tasks/a:b", GetTask, vec![("id", "a:b")]),
            ("GET", "/tasks/a:b:subscribe", SubscribeToTask, vec![("id", "a:b")]),
            ("POST", "/tasks/a:subscribe", SubscribeToTask, vec![("id", "a")]),
            ("POST", "/tasks/a:cancel", CancelTask, vec![("id", "a")]),
            ("GET", "/tasks/a%3Acancel", GetTask, vec![("id", "a:cancel")]),
            ("GET", "/tasks/tasks", GetTask, vec![("id", "tasks")]),
            ("GET", "/tasks/extendedAgentCard", GetTask, vec![("id", "extendedAgentCard")]),
            ("GET", "/t%C3%A9/tasks", ListTasks, vec![("tenant", "té")]),
            ("GET", "/a%2Fb/tasks/c", GetTask, vec![("tenant", "a/b"), ("id", "c")]),
            (
                "GET",
                "/tasks/a:cancel/pushNotificationConfigs/b:cancel",
                GetTaskPushNotificationConfig,
                vec![("task_id", "a:cancel"), ("id", "b:cancel")],
            ),
            ("GET", "/tasks/+%20", GetTask, vec![("id", "+ ")]),
        ] {
            let variables: Vec<_> =
                variables.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
            assert_eq!(found(method, path), (operation, variables), "{method} {path}");
        }
    }

    #[test]
    fn what_is_no_route_is_told_from_a_wrong_method() {
        for (method, path, allowed) in [
            ("GET", "/", None),
            ("GET", "", None),
            ("GET", "/tasks/", None),
            ("GET", "//tasks", None),
            ("POST", "/tasks/:cancel", Some("GET")),
            ("GET", "/tasks/a/b", None),
            ("POST", "/message:sent", None),
            ("POST", "/Message:send", None),
            ("GET", "/message:send", Some("POST")),
            ("PUT", "/tasks", Some("GET")),
            ("HEAD", "/tasks", Some("GET")),
            ("POST", "/tasks/a", Some("GET")),
            ("POST", "/tasks/a:pause", Some("GET")),
            ("GET", "/tasks/a:cancel", Some("POST")),
            ("DELETE", "/tasks/a:subscribe", Some("GET,POST")),
            ("PATCH", "/t/tasks/a/pushNotificationConfigs", Some("POST,GET")),
            ("POST", "/tasks/message:send", Some("GET")),
        ] {
            let miss = resolve(&method.parse().unwrap(), path).unwrap_err();
            match (&miss, allowed) {
                (Miss::NoRoute, None) => {}
                (Miss::WrongMethod(methods), Some(allowed)) => {
                    assert_eq!(methods.join(","), allowed, "{method} {path}");
                }
                _ => panic!("{method} {path}: {miss:?}"),
            }
        }
        assert!(matches!(resolve(&Method::GET, "/tasks/%FF"), Err(Miss::Malformed(_))));
    }
}
