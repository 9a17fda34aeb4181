//! Resolves a method and path to an operation (spec §11.3).

use std::{cmp::Reverse, sync::LazyLock};

use a2a_core::{Error, ErrorKind, Operation, ROUTES, Result};
use http::Method;
use percent_encoding::percent_decode_str;

use crate::name::camel_case;

/// The operation of a request, and the members of its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) has_body: bool,
    /// Members of the request by proto name, decoded.
    pub(super) variables: Vec<(&'static str, String)>,
}

/// Why a request did not match a route.
#[derive(Debug)]
pub(super) enum NoMatch {
    /// Unknown path.
    UnknownPath,
    /// Known path, but not with this method.
    WrongMethod(Vec<&'static str>),
    /// A segment is not valid percent-encoded text.
    Malformed(Error),
}

/// A path with its methods.
struct PathTemplate {
    path: &'static str,
    segments: Vec<Segment>,
    /// The verb after the last segment, which follows a `:`.
    verb: Option<&'static str>,
    methods: Vec<(&'static str, Operation, bool)>,
}

enum Segment {
    Literal(&'static str),
    Variable(&'static str),
}

/// The encoded forms of a colon, which some HTTP libraries send.
const ENCODED_COLONS: [&str; 2] = ["%3A", "%3a"];

/// Returns whether a segment is a literal, such as `message:send`, whose colon may be encoded. An id
/// could contain an encoded colon, so the verb behind one may not be encoded.
fn is_literal(literal: &str, text: &str) -> bool {
    literal == text
        || literal.split_once(':').is_some_and(|(noun, verb)| {
            let rest = text.strip_prefix(noun).and_then(|rest| rest.strip_suffix(verb));
            rest.is_some_and(|colon| ENCODED_COLONS.contains(&colon))
        })
}

/// Returns whether a path ends in the verb of a task behind an encoded colon.
fn has_encoded_verb(path: &str) -> bool {
    TEMPLATES.iter().filter_map(|template| template.verb).any(|verb| {
        let before = path.strip_suffix(verb);
        before.is_some_and(|path| ENCODED_COLONS.iter().any(|colon| path.ends_with(colon)))
    })
}

/// Maximum length of a path in an error message, in characters.
const MAX_ECHOED_CHARS: usize = 200;

/// All paths, in matching order.
static TEMPLATES: LazyLock<Vec<PathTemplate>> = LazyLock::new(templates);

/// Finds the operation of a request. `path` is still percent-encoded.
///
/// The first matching path is used, regardless of the method: literals take precedence over
/// variables, so a route without a tenant over one with a tenant, and a verb over an id with the
/// same ending.
pub(super) fn resolve(method: &Method, path: &str) -> Result<Target, NoMatch> {
    let (template, values) = find(path).ok_or(NoMatch::UnknownPath)?;
    let route = template.methods.iter().find(|(verb, ..)| *verb == method.as_str());
    let Some((_, operation, has_body)) = route else {
        return Err(NoMatch::WrongMethod(template.allowed_methods()));
    };
    let decode = |(name, value): (&'static str, &str)| {
        let text = percent_decode_str(value).decode_utf8().map_err(|error| {
            let why = format!("must be percent-encoded UTF-8: {error}");
            NoMatch::Malformed(Error::invalid_params(camel_case(name.into()), why))
        })?;
        Ok((name, text.into_owned()))
    };
    let variables = values.into_iter().map(decode).collect::<Result<_, NoMatch>>()?;
    Ok(Target { operation: *operation, has_body: *has_body, variables })
}

/// Finds the template of a path, and its variables, still encoded.
fn find(path: &str) -> Option<(&'static PathTemplate, Vec<(&'static str, &str)>)> {
    // Most requests send a message.
    if let Some(template) = TEMPLATES.iter().find(|template| template.path == path)
        && !path.contains('{')
    {
        return Some((template, Vec::new()));
    }
    let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    TEMPLATES.iter().find_map(|template| Some((template, template.matches(&segments)?)))
}

/// The path patterns for [`resolve`].
///
/// A router can't distinguish `/tasks/{id}:cancel` from `/tasks/{id}`, so both are one pattern. It
/// compares literals as they are sent, so those with a colon have a pattern for each way to write it.
pub(super) fn patterns() -> Vec<String> {
    let patterns = TEMPLATES.iter().map(PathTemplate::pattern);
    let mut patterns: Vec<_> = patterns
        .flat_map(|pattern| {
            let encoded = ENCODED_COLONS.map(|colon| pattern.replace(':', colon));
            [pattern].into_iter().chain(encoded)
        })
        .collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

impl PathTemplate {
    fn new(template: &'static str) -> Self {
        let (path, verb) = match template.rsplit_once("}:") {
            Some((_, verb)) => (&template[..template.len() - verb.len() - 1], Some(verb)),
            None => (template, None),
        };
        let segment = |text: &'static str| {
            let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            name.map_or(Segment::Literal(text), Segment::Variable)
        };
        let segments = path.trim_start_matches('/').split('/').map(segment).collect();
        Self { path: template, segments, verb, methods: Vec::new() }
    }

    /// Returns the variables, still encoded, if the path matches.
    fn matches<'a>(&self, path: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
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
                Segment::Literal(literal) if is_literal(literal, text) => {}
                Segment::Variable(name) if !text.is_empty() => values.push((*name, text)),
                Segment::Literal(_) | Segment::Variable(_) => return None,
            }
        }
        Some(values)
    }

    /// The methods, with HEAD wherever GET is one.
    fn allowed_methods(&self) -> Vec<&'static str> {
        let verbs = self.methods.iter().map(|(verb, ..)| *verb);
        verbs.flat_map(|verb| [verb].into_iter().chain((verb == "GET").then_some("HEAD"))).collect()
    }

    fn pattern(&self) -> String {
        // Routers require the same variable name at a position.
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

fn templates() -> Vec<PathTemplate> {
    let mut templates: Vec<(&str, PathTemplate)> = Vec::new();
    for route in ROUTES {
        let template = match templates.iter_mut().find(|(path, _)| *path == route.path) {
            Some((_, template)) => template,
            None => {
                templates.push((route.path, PathTemplate::new(route.path)));
                let Some((_, template)) = templates.last_mut() else { continue };
                template
            }
        };
        template.methods.push((route.method, route.operation, route.has_body));
        if route.operation == Operation::SubscribeToTask {
            // The proto specifies GET; the text of the specification and deployed clients use POST
            // (spec §11.3.2).
            template.methods.push(("POST", route.operation, true));
        }
    }
    let mut templates: Vec<_> = templates.into_iter().map(|(_, template)| template).collect();
    templates.sort_by_cached_key(|template| {
        let variables: Vec<_> = template
            .segments
            .iter()
            .map(|segment| matches!(segment, Segment::Variable(_)))
            .collect();
        (variables, Reverse(template.verb))
    });
    templates
}

impl NoMatch {
    /// Returns the error for a request to `path`.
    pub(super) fn into_error(self, path: &str) -> Error {
        match self {
            Self::UnknownPath => {
                let path: String = path.chars().take(MAX_ECHOED_CHARS).collect();
                Error::new(ErrorKind::MethodNotFound, format!("unknown path {path:?}"))
            }
            Self::WrongMethod(allowed) => {
                let verbs: Vec<_> = allowed.into_iter().filter(|verb| *verb != "HEAD").collect();
                let mut message = format!("method not allowed: use {}", verbs.join(" or "));
                if has_encoded_verb(path) {
                    message.push_str("; an encoded colon is part of the id: send \":\"");
                }
                Error::new(ErrorKind::MethodNotAllowed, message)
            }
            Self::Malformed(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> (Operation, Vec<(&'static str, String)>) {
        let method = method.parse().unwrap();
        let target =
            resolve(&method, path).unwrap_or_else(|no_match| panic!("{path}: {no_match:?}"));
        (target.operation, target.variables)
    }

    #[test]
    fn routes_of_the_descriptor_resolve_to_operations() {
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
            CancelTask, GetTask, GetTaskPushNotificationConfig, ListTasks, SendMessage,
            SendStreamingMessage, SubscribeToTask,
        };
        for (method, path, operation, variables) in [
            ("GET", "/tasks/a%2Fb", GetTask, vec![("id", "a/b")]),
            ("GET", "/tasks/a:b", GetTask, vec![("id", "a:b")]),
            ("GET", "/tasks/a:b:subscribe", SubscribeToTask, vec![("id", "a:b")]),
            ("POST", "/tasks/a:subscribe", SubscribeToTask, vec![("id", "a")]),
            ("POST", "/tasks/a:cancel", CancelTask, vec![("id", "a")]),
            ("GET", "/tasks/a%3Acancel", GetTask, vec![("id", "a:cancel")]),
            ("POST", "/message%3Asend", SendMessage, vec![]),
            ("POST", "/t/message%3astream", SendStreamingMessage, vec![("tenant", "t")]),
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
    fn unknown_path_differs_from_wrong_method() {
        for (method, path, allowed) in [
            ("GET", "/", None),
            ("GET", "", None),
            ("GET", "/tasks/", None),
            ("GET", "//tasks", None),
            ("POST", "/tasks/:cancel", Some("GET,HEAD")),
            ("GET", "/tasks/a/b", None),
            ("POST", "/message:sent", None),
            ("POST", "/Message:send", None),
            ("GET", "/message:send", Some("POST")),
            ("PUT", "/tasks", Some("GET,HEAD")),
            ("POST", "/tasks/a", Some("GET,HEAD")),
            ("POST", "/tasks/a:pause", Some("GET,HEAD")),
            ("POST", "/tasks/a%3Acancel", Some("GET,HEAD")),
            ("GET", "/message%3Asend", Some("POST")),
            ("POST", "/message%3asent", None),
            ("POST", "/message%253Asend", None),
            ("GET", "/tasks/a:cancel", Some("POST")),
            ("DELETE", "/tasks/a:subscribe", Some("GET,HEAD,POST")),
            ("PATCH", "/t/tasks/a/pushNotificationConfigs", Some("POST,GET,HEAD")),
            ("POST", "/tasks/message:send", Some("GET,HEAD")),
        ] {
            let no_match = resolve(&method.parse().unwrap(), path).unwrap_err();
            match (&no_match, allowed) {
                (NoMatch::UnknownPath, None) => {}
                (NoMatch::WrongMethod(methods), Some(allowed)) => {
                    assert_eq!(methods.join(","), allowed, "{method} {path}");
                }
                _ => panic!("{method} {path}: {no_match:?}"),
            }
        }
        assert!(matches!(resolve(&Method::GET, "/tasks/%FF"), Err(NoMatch::Malformed(_))));
    }
}
